"""Whether there is anything to adopt: asked at every start, so it only lists names and looks into the store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tidelog.broker.store import paths
from tidelog.broker.store.api import Store
from tidelog.common.types import TopicPartition
from tidelog.log.log_dir import LogDir


def partition_dirs(directories: Iterable[LogDir]) -> dict[TopicPartition, Path]:
    """Every partition that lies in the directories (those on their way in, out or aside are none)."""
    return {
        name.topic_partition: path
        for directory in directories
        for path, name in directory.partitions()
        if not name.kind
    }


async def foreign_partitions(store: Store, directories: Iterable[LogDir]) -> dict[TopicPartition, Path]:
    """All partitions on disk, if the store does not know every one of them; else nothing."""
    found = partition_dirs(directories)
    highest: dict[str, int] = {}
    for tp in found:
        highest[tp.topic] = max(highest.get(tp.topic, 0), tp.partition)
    states = await store.get_many([paths.partition_state(name, index) for name, index in highest.items()])
    return found if any(state is None for state in states) else {}
