"""`.snapshot`: the producers' state at the offset that names the file, so that a start need not replay the log.

    version int16 (1) | crc uint32 (CRC-32C of what follows) | number of entries int32, then per producer 46 bytes:
    producer id int64 | epoch int16 | last sequence int32 | last offset int64 | offset delta int32 | timestamp int64 |
    coordinator epoch int32 | first offset of the open transaction int64 (-1: none)

Only the last batch of a producer's five is kept: after a restart a retry of an older one is told from its sequence
number that it comes out of order. A snapshot that does not check is deleted and the one before it is tried.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from tidelog.common.errors import StorageError
from tidelog.log.producers._producers import ProducerStateEntry
from tidelog.records.kernel.crc32c import crc32c

_HEADER = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_VERSION = 1
_CHECKED_FROM = 6


class CorruptSnapshotError(StorageError):
    """A snapshot file that is not one."""


def encode(entries: Iterable[ProducerStateEntry]) -> bytes:
    """The file's bytes. A producer that only has a marker here is written with sequence and offset -1."""
    rows = [_ENTRY.pack(*fields_of(entry)) for entry in entries]
    body = len(rows).to_bytes(4, "big") + b"".join(rows)
    return struct.pack(">hI", _VERSION, crc32c(body)) + body


def fields_of(entry: ProducerStateEntry) -> tuple[int, int, int, int, int, int, int, int]:
    """An entry's numbers, in the order in which they are written."""
    return (
        entry.producer_id,
        entry.epoch,
        entry.last_sequence,
        entry.last_offset,
        entry.last_offset_delta,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.txn_first_offset,
    )


def decode(data: bytes, origin: str) -> list[ProducerStateEntry]:
    """The entries of a snapshot's bytes; raises CorruptSnapshotError."""
    if len(data) < _HEADER.size:
        raise CorruptSnapshotError(f"{origin}: {len(data)} bytes, expected at least {_HEADER.size}")
    version, crc, count = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshotError(f"{origin}: version {version}, expected {_VERSION}")
    if crc != crc32c(memoryview(data)[_CHECKED_FROM:]):
        raise CorruptSnapshotError(f"{origin}: the checksum does not match")
    if count < 0 or len(data) != _HEADER.size + count * _ENTRY.size:
        raise CorruptSnapshotError(f"{origin}: {len(data)} bytes do not hold {count} entries")
    entries = []
    for pid, epoch, sequence, offset, delta, timestamp, coordinator, txn_first in _ENTRY.iter_unpack(
        memoryview(data)[_HEADER.size :]
    ):
        entry = ProducerStateEntry(pid, epoch, coordinator, timestamp, txn_first)
        entries.append(entry.with_batch(sequence, offset, delta, timestamp) if offset >= 0 else entry)
    return entries
