"""The guard over topics whose configs nobody knows: which they are (written in the store), and what it holds back.

A topic that was compacted, or kept for ever, would lose records under the broker's defaults (delete after a week), and
nobody could bring them back. So nothing is removed from it until somebody has said what it is to be. Everything else
about it works: it is served, written to and listed, and a change of any of its configs lifts the guard.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.broker.store.adopted import note_operations, read_note
from tidelog.broker.store.api import Store

logger = logging.getLogger(__name__)

#: Held over such a topic: nothing is deleted, nothing compacted.
GUARD = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


async def guard_unknown(store: Store, configs: TopicConfigs, *, accept_defaults: bool) -> None:
    """Hold back retention and compaction from those topics, unless the operator accepts the broker's defaults."""
    note = await read_note(store)
    if note is None or not note.unknown:
        return
    if accept_defaults:
        await store.multi(await note_operations(store, note._replace(unknown=())))
        logger.info("What is set here, and the broker's defaults, now hold for %s", few(note.unknown))
        return
    for topic in note.unknown:
        configs.guard(topic, GUARD)
    logger.warning(
        "How an Apache Kafka configured these topics is unknown: %s. They are served, but nothing is deleted from them "
        "and they are not compacted, until their configs are set, or the broker is started with --accept-defaults.",
        few(note.unknown),
    )


def guard_unreadable(configs: TopicConfigs, topics: Sequence[str]) -> None:
    """The same for topics whose config node cannot be read, until it is written anew. Nothing is noted in the store:
    the node itself says so again at the next start."""
    for topic in topics:
        configs.guard(topic, GUARD)
    if topics:
        logger.warning(
            "The stored configs of %s cannot be read. Nothing is deleted from these topics and they are not compacted, "
            "until their configs are set.",
            few(topics),
        )


def few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:10])
    return shown if len(names) <= 10 else f"{shown}, … ({len(names)} in all)"
