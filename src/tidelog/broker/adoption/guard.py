"""The guard over topics whose configs nobody knows: which they are (written in the store), and what it holds back."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.broker import config as keys
from tidelog.broker.adoption.note import note_operations, read_note
from tidelog.broker.store.api import Operation, Store

if TYPE_CHECKING:
    from tidelog.broker.server import Broker

logger = logging.getLogger(__name__)

#: Held over such a topic: nothing is deleted, nothing compacted.
GUARD = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


async def guard_unknown(broker: Broker) -> None:
    """Hold back retention and compaction from those topics, unless the operator accepts the broker's defaults."""
    note = await read_note(broker.store)
    if note is None or not note.unknown:
        return
    if broker.config[keys.TIDELOG_ADOPT_ACCEPT_DEFAULTS]:
        await broker.store.multi(await note_operations(broker.store, note._replace(unknown=())))
        logger.info("What is set here, and the broker's defaults, now hold for %s", few(note.unknown))
        return
    for topic in note.unknown:
        broker.configs.guard(topic, GUARD)
    logger.warning(
        "How an Apache Kafka configured these topics is unknown: %s. They are served, but nothing is deleted from them "
        "and they are not compacted, until their configs are set, or the broker is started with --accept-defaults.",
        few(note.unknown),
    )


def guard_unreadable(broker: Broker, topics: Sequence[str]) -> None:
    """The same for topics whose config node cannot be read, until it is written anew."""
    for topic in topics:
        broker.configs.guard(topic, GUARD)
    if topics:
        logger.warning(
            "The stored configs of %s cannot be read. Nothing is deleted from these topics and they are not compacted, "
            "until their configs are set.",
            few(topics),
        )


async def forget_guard(store: Store, topic: str) -> list[Operation]:
    """What a change of a topic's configs writes along: they are known from now on."""
    note = await read_note(store)
    if note is None or topic not in note.unknown:
        return []
    return await note_operations(store, note._replace(unknown=[name for name in note.unknown if name != topic]))


def few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:10])
    return shown if len(names) <= 10 else f"{shown}, … ({len(names)} in all)"
