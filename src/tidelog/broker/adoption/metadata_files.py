"""The files of KRaft's metadata log, by their names alone.

    __cluster_metadata-0/<offset>-<epoch>.checkpoint      snapshots: all records up to, not including, that offset
    __cluster_metadata-0/<offset>.log                      segments

Offsets have twenty digits and epochs ten, so names in their order are offsets in theirs. Whether a Kafka has run since
a directory was adopted shows in these names and sizes: every start asks, and none has to read a record for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tidelog.common.fs import FileSystem

OFFSET_DIGITS, EPOCH_DIGITS = 20, 10


def snapshots(names: Iterable[str]) -> list[str]:
    """The names of snapshots, oldest first."""
    return sorted(name for name in names if _spelt(name, ".checkpoint", OFFSET_DIGITS, EPOCH_DIGITS))


def segments(names: Iterable[str]) -> list[str]:
    """The names of the log's segments, oldest first."""
    return sorted(name for name in names if _spelt(name, ".log", OFFSET_DIGITS))


def first_offset(name: str) -> int:
    """Of a segment the offset of its first record, of a snapshot that of the first record which it leaves out."""
    return int(name[:OFFSET_DIGITS])


def log_files(fs: FileSystem, directory: Path) -> str:
    """The log's files and their sizes in one line: a Kafka that runs writes to it, so that another run shows."""
    names = fs.listdir(directory)
    ours = sorted(snapshots(names) + segments(names))
    return " ".join(f"{name}:{fs.stat(directory / name).size}" for name in ours)


def _spelt(name: str, suffix: str, *digits: int) -> bool:
    """Whether a name is numbers of so many digits each, with dashes between them, and the suffix."""
    numbers = name.removesuffix(suffix).split("-")
    return name.endswith(suffix) and all(map(str.isdecimal, numbers)) and tuple(map(len, numbers)) == digits
