"""Whether there is anything to adopt: asked at every start, so it only lists names and looks into the store."""

from __future__ import annotations

from pathlib import Path

from tidelog.broker.store import paths
from tidelog.broker.store.api import Store
from tidelog.common.types import TopicPartition
from tidelog.log.manager import LogManager


async def foreign_partitions(store: Store, manager: LogManager) -> dict[TopicPartition, Path]:
    """All partitions on disk, if the store does not know every one of them; else nothing."""
    found = manager.partition_dirs()
    highest: dict[str, int] = {}
    for tp in found:
        highest[tp.topic] = max(highest.get(tp.topic, 0), tp.partition)
    states = await store.get_many([paths.partition_state(name, index) for name, index in highest.items()])
    return found if any(state is None for state in states) else {}
