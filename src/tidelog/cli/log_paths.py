"""What the PATHs of `tidelog log` commands name: log directories, partitions' directories, single files.

A directory is taken for what it holds, not for its name alone: `/mnt/backup-2` has the form of a partition's name
(topic `backup`, partition 2) and is none, and a command that took it for one would call it an empty partition, or
worse, repair it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tidelog.common.errors import UsageError
from tidelog.log.directory.log_dir import CHECKPOINTS
from tidelog.log.names import (
    LEADER_EPOCH_FILE,
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    parse_dir,
    split_name,
)
from tidelog.log.reading.reader import LogDirectory, PartitionReader

#: What lies in a partition's directory besides files that are named after offsets.
PARTITION_FILES = (LEADER_EPOCH_FILE, PARTITION_METADATA_FILE)


def partitions_of(paths: Sequence[Path], topics: Sequence[str] = ()) -> Iterator[PartitionReader]:
    """The partitions that the paths name, of these topics only (all when none is given)."""
    found = False
    for path in paths:
        for partition in _partitions(path):
            if not topics or partition.topic in topics:
                found = True
                yield partition
    if not found:
        names = ", ".join(map(str, paths))
        wanted = f" of {', '.join(topics)}" if topics else ""
        raise UsageError(f"no partitions{wanted} in {names}: name a log directory or a topic-partition directory in it")


def _partitions(path: Path) -> list[PartitionReader]:
    """The partitions below one path. The log start offset of a single partition is looked up in its log directory:
    records in front of it are deleted, though they lie in the file.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    if not path.is_dir():
        raise UsageError(f"{path} is a file; this command works on directories")
    if is_partition(path):
        start = LogDirectory(path.resolve().parent).log_start_offsets.get(parse_dir(path.resolve().name)[0])  # type: ignore[index]  # is_partition checked it
        return [PartitionReader(path, log_start_offset=start)]
    if not _is_log_directory(path):
        raise UsageError(f"{path} is no log directory: it has no {META_PROPERTIES_FILE}, no checkpoint and no log")
    return LogDirectory(path).partitions()


def is_partition(path: Path) -> bool:
    """Whether a directory is a partition's: by its name, and by what lies in it."""
    resolved = path.resolve()
    return parse_dir(resolved.name) is not None and _holds_log(resolved)


def _holds_log(path: Path) -> bool:
    """Whether there is any file that a partition has."""
    return any(split_name(child.name) is not None or child.name in PARTITION_FILES for child in path.iterdir())


def _is_log_directory(path: Path) -> bool:
    """By the files that only a log directory has; a broker that never stopped cleanly has at least partitions in it."""
    children = list(path.iterdir())
    if any(child.name == META_PROPERTIES_FILE or child.name in CHECKPOINTS for child in children):
        return True
    return any(child.is_dir() and is_partition(child) for child in children)


def by_directory(partitions: Iterable[PartitionReader]) -> Iterator[tuple[Path, list[PartitionReader]]]:
    """The partitions, gathered by the log directory that they lie in."""
    ordered = sorted(partitions, key=lambda partition: (partition.path.parent, partition.topic_partition))
    for root, members in groupby(ordered, key=lambda partition: partition.path.parent):
        yield root, list(members)
