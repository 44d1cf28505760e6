"""The guard over topics whose configs nobody knows: which they are (written in the store), and what it holds back."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tidelog.broker import config as keys
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Create, Operation, SetData, Store

if TYPE_CHECKING:
    from tidelog.broker.server import Broker

logger = logging.getLogger(__name__)

#: Held over such a topic: nothing is deleted, nothing compacted.
GUARD = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


async def guard_unknown(broker: Broker) -> None:
    """Hold back retention and compaction from those topics, unless the operator accepts the broker's defaults."""
    unknown = await guarded_topics(broker.store)
    if not unknown:
        return
    if broker.config[keys.TIDELOG_ADOPT_ACCEPT_DEFAULTS]:
        await broker.store.multi(await note_operations(broker.store, []))
        logger.info("The broker's defaults now hold for %s", few(unknown))
        return
    for topic in unknown:
        broker.configs.guard(topic, GUARD)
    logger.warning(
        "The configs of %d adopted topics are unknown (%s). They are served, but nothing is deleted from them and they "
        "are not compacted, until their configs are set, or the broker is started with --accept-defaults.",
        len(unknown),
        few(unknown),
    )


async def forget_guard(store: Store, topic: str) -> list[Operation]:
    """What a change of a topic's configs writes along: they are known from now on."""
    unknown = await guarded_topics(store)
    return await note_operations(store, [name for name in unknown if name != topic]) if topic in unknown else []


async def guarded_topics(store: Store) -> list[str]:
    found = (await store.get_many([paths.ADOPTED]))[0]
    return [] if found is None else list(znodes.decode_json(paths.ADOPTED, found[0])["unknown_configs"])


async def note_operations(store: Store, topics: list[str]) -> list[Operation]:
    """Write down which topics' configs are unknown."""
    data = znodes.encode_json({"version": 1, "unknown_configs": sorted(topics)})
    if await store.exists(paths.ADOPTED) is not None:
        return [SetData(paths.ADOPTED, data)]
    parent = paths.ADOPTED.rpartition("/")[0]
    parents = [] if await store.exists(parent) is not None else [Create(parent)]
    return [*parents, Create(paths.ADOPTED, data)]


def few(names: list[str]) -> str:
    shown = ", ".join(names[:10])
    return shown if len(names) <= 10 else f"{shown}, … ({len(names)} in all)"
