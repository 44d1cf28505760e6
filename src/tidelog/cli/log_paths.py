"""What the PATHs of `tidelog log` commands name: log directories, partitions' directories, single files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tidelog.common.errors import UsageError
from tidelog.log.names import parse_dir
from tidelog.log.reader import LogDirectory, PartitionReader


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
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    if not path.is_dir():
        raise UsageError(f"{path} is a file; this command works on directories")
    if is_partition(path):
        start = LogDirectory(path.resolve().parent).log_start_offsets.get(parse_dir(path.resolve().name)[0])  # type: ignore[index]  # is_partition checked it
        return [PartitionReader(path, log_start_offset=start)]
    return LogDirectory(path).partitions()


def is_partition(path: Path) -> bool:
    """Whether a directory is a partition's: so its name says, and a log directory does not look like that inside."""
    resolved = path.resolve()
    if parse_dir(resolved.name) is None:
        return False
    return not any(child.is_dir() and parse_dir(child.name) is not None for child in resolved.iterdir())


def by_directory(partitions: Iterable[PartitionReader]) -> Iterator[tuple[Path, list[PartitionReader]]]:
    """The partitions, gathered by the log directory that they lie in."""
    ordered = sorted(partitions, key=lambda partition: (partition.path.parent, partition.topic_partition))
    for root, members in groupby(ordered, key=lambda partition: partition.path.parent):
        yield root, list(members)
