"""Checkpoint files: small text files that are replaced as a whole.

    0                  version
    2                  number of entries
    orders 0 4711      one entry per line, fields separated by one blank
    orders 1 4800

The root of a log directory holds four that map a partition to an offset (recovery points, log start offsets, high
watermarks, the cleaner's progress); a partition's own `leader-epoch-checkpoint` maps an epoch to its first offset. The
file is written beside its target, synced and renamed, so that a crash leaves the old or the new one. An empty file
means no entries. Anything else that does not parse is a `CheckpointError`: the caller decides what ignorance costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tidelog.common.errors import StorageError
from tidelog.common.fs import FileSystem
from tidelog.common.types import TopicPartition

VERSION = 0


class CheckpointError(StorageError):
    """A checkpoint file that is not one; the text names the file, the line and what was expected."""


def encode_rows(rows: Sequence[str]) -> bytes:
    """The file's bytes. The number of entries is what tells a file that was cut off at a line's end."""
    return "".join(f"{line}\n" for line in (VERSION, len(rows), *rows)).encode()


def decode_rows(data: bytes, origin: str) -> list[str]:
    """The entry lines of a checkpoint file's bytes."""
    if not data:
        return []
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{origin}: not text ({error})") from error
    if lines[-1] == "":
        lines.pop()
    if lines[0] != str(VERSION):
        raise CheckpointError(f"{origin}, line 1: expected version {VERSION}, found {lines[0]!r}")
    if len(lines) < 2 or not lines[1].isdecimal():
        raise CheckpointError(f"{origin}, line 2: expected the number of entries")
    if int(lines[1]) != len(lines) - 2:
        raise CheckpointError(f"{origin}: expected {lines[1]} entries, found {len(lines) - 2}")
    return lines[2:]


def parse_fields(line: str, fields: int, origin: str) -> list[str]:
    parts = line.split()
    if len(parts) != fields:
        raise CheckpointError(f"{origin}: expected {fields} fields, found {line!r}")
    return parts


def parse_int(text: str, origin: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CheckpointError(f"{origin}: expected a number, found {text!r}") from None


def read_lines(fs: FileSystem, path: Path) -> list[str]:
    """The entries of a file; a missing file has none."""
    try:
        data = fs.read_bytes(path)
    except FileNotFoundError:
        return []
    return decode_rows(data, str(path))


def write_lines(fs: FileSystem, path: Path, rows: Iterable[str]) -> None:
    fs.write_atomic(path, encode_rows(list(rows)))


def stage(fs: FileSystem, path: Path, data: bytes) -> None:
    """The first half of `write_atomic`, for many files at once: the caller syncs them all before any `publish`."""
    file = fs.open(_temporary(path), create=True)
    try:
        file.truncate(0)
        file.write_at(0, [data])
    finally:
        file.close()


def publish(fs: FileSystem, path: Path) -> None:
    """The second half: the file that was staged, and synced, takes its name. The caller syncs the names."""
    fs.rename(_temporary(path), path)


def _temporary(path: Path) -> Path:
    """Kafka's name for it, so that each finds and overwrites what the other left."""
    return path.with_name(path.name + ".tmp")


def read_offsets(fs: FileSystem, path: Path) -> dict[TopicPartition, int]:
    """`topic partition offset` lines; a missing file has none."""
    offsets = {}
    for line in read_lines(fs, path):
        topic, partition, offset = parse_fields(line, 3, str(path))
        offsets[TopicPartition(topic, parse_int(partition, str(path)))] = parse_int(offset, str(path))
    return offsets


def write_offsets(fs: FileSystem, path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    write_lines(fs, path, (f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items()))
