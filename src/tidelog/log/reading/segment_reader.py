"""A segment seen from outside: read-only, for directories that belong to somebody else (a running broker, Kafka).

Nothing is mapped, locked or changed. The files may grow, be replaced and vanish meanwhile: a reader sees whole batches
only, and what it opened stays. The indexes are other files, perhaps of the segment that was there before or comes next:
where they point to is looked at in the open file before it is believed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tidelog.common.errors import CorruptRecordError
from tidelog.common.fs import File, FileSystem
from tidelog.common.named_tuple import NamedTuple
from tidelog.log.names import INDEX, LOG, TIME_INDEX, TXN_INDEX, file_name
from tidelog.log.segment import txn_index
from tidelog.log.segment.scanning import scanned, size_of_first
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.batch import RecordBatch
from tidelog.records.kernel._batches import BatchRun

#: How much is read at once.
CHUNK = 1 << 20
#: How much of an index is read at once: whole entries of either kind.
_INDEX_CHUNK = 24 * 4096
_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_ENTRY_HEAD = struct.Struct(">qi")  # offset and size, in front of every batch of any magic


class OffsetEntry(NamedTuple):
    """The last offset of a batch, and the batch's first byte in the file."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """The largest timestamp so far, and the last offset of the batch that brought it."""

    timestamp: int
    offset: int


def decode_offset_index(data: bytes, base_offset: int) -> list[OffsetEntry]:
    """The entries in use. A growing index is preallocated: zeros follow its last entry (no entry has position 0)."""
    entries: list[OffsetEntry] = []
    for relative, position in _OFFSET_ENTRY.iter_unpack(data[: len(data) // 8 * 8]):
        if position == 0 and relative == 0:
            break
        entries.append(OffsetEntry(base_offset + relative, position))
    return entries


def decode_time_index(data: bytes, base_offset: int) -> list[TimeEntry]:
    """The entries in use; zeros after the last one are room for more."""
    entries: list[TimeEntry] = []
    for timestamp, relative in _TIME_ENTRY.iter_unpack(data[: len(data) // 12 * 12]):
        if timestamp == 0 and relative == 0:
            break
        entries.append(TimeEntry(timestamp, base_offset + relative))
    return entries


class SegmentReader:
    """One segment of a partition's directory."""

    def __init__(self, fs: FileSystem, directory: Path, base_offset: int, suffix: str = "") -> None:
        self._fs = fs
        self._directory = directory
        self._suffix = suffix
        self.base_offset = base_offset

    def __repr__(self) -> str:
        return f"SegmentReader({self.path})"

    @property
    def path(self) -> Path:
        return self.file(LOG)

    def file(self, kind: str) -> Path:
        return self._directory / file_name(self.base_offset, kind, self._suffix)

    def open(self) -> File:
        """The file of its batches, to read from."""
        return self._fs.open(self.path, write=False)

    @property
    def size(self) -> int:
        """The file's length at this moment; behind the last whole batch it may be zeros."""
        return self._fs.stat(self.path).size

    @property
    def mtime_ms(self) -> int:
        return self._fs.stat(self.path).mtime_ms

    @property
    def offset_index_data(self) -> bytes:
        """The raw entries, and perhaps some of the zeros that follow them."""
        return self._read_index(INDEX, _OFFSET_ENTRY.size)

    @property
    def offset_index(self) -> list[OffsetEntry]:
        return decode_offset_index(self.offset_index_data, self.base_offset)

    @property
    def time_index(self) -> list[TimeEntry]:
        return decode_time_index(self._read_index(TIME_INDEX, _TIME_ENTRY.size), self.base_offset)

    @property
    def aborted(self) -> list[AbortedTxn]:
        """The aborted transactions whose markers are here; most segments have no such file, and none."""
        return txn_index.decode(self._read(TXN_INDEX), self.base_offset, str(self.file(TXN_INDEX)))

    def _read(self, kind: str) -> bytes:
        try:
            return self._fs.read_bytes(self.file(kind))
        except FileNotFoundError:
            return b""

    def _read_index(self, kind: str, entry_size: int) -> bytes:
        """An index up to its first unused entry, about: one that still grows has 10 MB, nearly all of it zeros.

        Each read is a whole number of entries of either kind, so that the last one in it says whether more follow.
        """
        try:
            file = self._fs.open(self.file(kind), write=False)
        except FileNotFoundError:
            return b""
        try:
            data = b""
            while piece := file.read_at(len(data), _INDEX_CHUNK):
                data += piece
                if not any(piece[-entry_size:]):
                    break
            return data
        finally:
            file.close()

    def position_of(self, offset: int, file: File) -> int:
        """Where to begin to look for an offset in the open file: the index's floor, or the start if that is no help."""
        best = 0
        for entry in self.offset_index:
            if entry.offset > offset:
                break
            best = entry.position
        return self.believed(best, offset, file)

    def believed(self, position: int, offset: int, file: File) -> int:
        """The place that an index gives for the offset, if a whole batch that begins no later than that is there; else
        the file's start. (Indexes can be damaged, or belong to another file that had or gets this name.)"""
        if not 0 < position < file.size():
            return 0
        head = file.read_at(position, _ENTRY_HEAD.size)
        if len(head) < _ENTRY_HEAD.size:
            return 0
        base: int
        size: int
        base, size = _ENTRY_HEAD.unpack(head)
        if not self.base_offset <= base <= offset or not 0 < size <= file.size() - position - _ENTRY_HEAD.size:
            return 0
        run = BatchRun(file.read_at(position, _ENTRY_HEAD.size + size))
        try:
            if run.scan():
                run.check(crc=True, records=False)
                return position
        except CorruptRecordError:
            return 0
        finally:
            run.release()
        return 0

    @property
    def end_offset(self) -> int:
        """The offset after its last whole batch."""
        end = self.base_offset
        for _, batch in self.placed_batches(1 << 62):
            end = batch.next_offset
        return end

    def offset_before_time(self, timestamp: int) -> int:
        """An offset before which every record is older than `timestamp`.

        By the time index alone, so the walk from there on may meet older records: timestamps need not rise.
        """
        offset = self.base_offset
        for entry in self.time_index:
            if entry.timestamp >= timestamp:
                break
            offset = entry.offset
        return offset

    def runs(self, offset: int = 0, *, chunk: int = CHUNK) -> Iterator[tuple[int, BatchRun]]:
        """(file position, run of whole batches), chunk by chunk, from some batch at or before the offset on. The run's
        buffer stays valid.

        What a cut-off batch or preallocated zeros leave at the end is not there; anything else that is no batch is a
        CorruptRecordError with its position in the file, after all batches before it were yielded.
        """
        file = self.open()
        try:
            position = self.position_of(offset, file) if offset > self.base_offset else 0
            yield from self.runs_in(file, position, chunk=chunk)
        finally:
            file.close()

    def runs_in(self, file: File, position: int, *, chunk: int) -> Iterator[tuple[int, BatchRun]]:
        """The same, from a place in the open file on."""
        usual = chunk
        while True:
            data = file.read_at(position, chunk)
            run = BatchRun(data)
            done, broken = scanned(run)
            if done:
                yield position, run
            position += done
            if broken is not None:
                if not any(data[done : done + 64]):  # preallocated, not written yet
                    return
                raise CorruptRecordError(f"{self.path}: {broken.message}", position) from broken
            if done == 0:
                needed = size_of_first(data)
                if needed <= len(data) or position + needed > file.size():
                    return
                chunk = needed
            else:
                chunk = usual

    def placed_batches(self, offset: int = 0) -> Iterator[tuple[int, RecordBatch]]:
        """(position in the file, batch) from some batch at or before the offset on."""
        for start, run in self.runs(offset):
            for index in range(len(run)):
                batch = RecordBatch(run, index)
                yield start + batch.position, batch
