"""Partitions of ours that Apache Kafka has set aside.

A Kafka that serves the directories in between knows nothing of topics that were made here: it renames their directories
to `-stray`, and leaves their records alone. When the directories come back, such a partition takes its place again: the
store knows the topic by the id in the directory, and nothing else lies in that place. Kafka does not close these logs
properly, so their indexes go and are built anew by recovery.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidelog.broker.metadata.images import TopicImage
from tidelog.common.types import TopicPartition
from tidelog.log import partition_metadata
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import INDEX_KINDS, split_name


def bring_back(manager: LogManager, known: Mapping[str, TopicImage], found: Mapping[TopicPartition, Path]) -> list[str]:
    """Rename them back; returns the partitions. One that lies there twice is left to the operator.

    The id decides, not the name: Kafka may have set aside an older topic that was deleted here since.
    """
    strays: dict[TopicPartition, list[Path]] = {}
    for directory in manager.live_dirs:
        for path, name in directory.partitions():
            tp = name.topic_partition
            image = known.get(tp.topic)
            if name.kind != "stray" or image is None or tp in found or tp.partition >= len(image.partitions):
                continue
            if partition_metadata.read(manager.fs, path) == image.topic_id:
                strays.setdefault(tp, []).append(path)
    back = {tp: paths[0] for tp, paths in sorted(strays.items()) if len(paths) == 1}
    for tp, path in back.items():
        _restore(manager, tp, path)
    return [str(tp) for tp in back]


def _restore(manager: LogManager, tp: TopicPartition, path: Path) -> None:
    """Indexes go before the name comes back: a crash in between leaves a stray as before, with fewer files."""
    fs = manager.fs
    for file in fs.listdir(path):
        parts = split_name(file)
        if parts is not None and parts[1] in INDEX_KINDS and not parts[2]:
            fs.unlink(path / file)
    fs.rename(path, path.parent / str(tp))
    fs.sync_dir(path.parent)
