"""A segment: one `.log` file of record batches, and the indexes that find offsets, times and aborted transactions.

The file is the truth; the indexes are derived from it and can be rebuilt by `recovery`. Only the last segment of a
partition (the active one) grows. A segment's name is the offset at or below its first batch; every offset in it lies
within 2^31-1 of that, because the indexes hold differences.

Nothing of a segment is open until somebody asks for it: an idle segment is a few hundred bytes of Python objects.

A look-up by offset goes through three steps: the offset index gives a batch at or before it (entries are about
`index.interval.bytes` = 4096 bytes apart), the headers are walked from there, and the bytes from the batch on are
handed out as a slice. No record is unpacked: who reads gets whole batches, and skips what lies before the offset it
asked for.

Two things are derived lazily after a start: the largest timestamp (the last time index entry, and the batches behind
it) and the first batch's. A broker with thousands of idle segments would spend its start on reading them otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidelog.common.errors import CorruptRecordError
from tidelog.common.fs import Buffer
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT64
from tidelog.log.config import LogConfig
from tidelog.log.names import DELETED, LOG, SEGMENT_KINDS, TXN_INDEX, file_name
from tidelog.log.segment._index import IndexWriter, OffsetIndex, TimeIndex
from tidelog.log.segment._seek import seek
from tidelog.log.segment.data_file import DataFile
from tidelog.log.segment.file_slice import FileSlice
from tidelog.log.segment.home import Home
from tidelog.log.segment.scanning import scanned, size_of_first
from tidelog.log.segment.txn_index import TxnIndex
from tidelog.records.kernel._batches import BatchRun

#: How much is read at once to walk batch headers: what lies between two index entries, as a rule.
_SEEK_CHUNK = 8192
_HEADER_CHUNK = 64
#: How much is read at once to walk whole batches.
SCAN_CHUNK = 1 << 20


class BatchPosition(NamedTuple):
    """Where a batch lies in its segment's file. The base offset is the header's, which for an entry of magic 0 or 1 is
    that of its last message."""

    position: int
    size: int
    base_offset: int


class SegmentSlice(NamedTuple):
    """What a read found. `slice` is None when not even a part of a batch may be returned."""

    slice: FileSlice | None
    base_offset: int
    first_batch_incomplete: bool


class Segment:
    """See the module's text. One thread appends, truncates and closes; `data` may be read by any thread."""

    __slots__ = (
        "_first_timestamp", "_timestamps_known", "_txn_index", "base_offset", "config", "created_ms", "data", "home",
        "indexes", "jitter_ms", "offset_index", "removed", "time_index",
    )  # fmt: skip

    def __init__(
        self,
        home: Home,
        base_offset: int,
        config: LogConfig,
        *,
        suffix: str = "",
        jitter_ms: int = 0,
        size: int = 0,
        txn_index_size: int = 0,
    ) -> None:
        self.home = home
        self.base_offset = base_offset
        self.config = config
        self.jitter_ms = jitter_ms
        self.data = DataFile(home, base_offset, LOG, suffix, size)
        self.offset_index = OffsetIndex(home, base_offset, config.segment_index_bytes, suffix)
        self.time_index = TimeIndex(home, base_offset, config.segment_index_bytes, suffix)
        #: Made when somebody asks for it: few segments hold the end of an aborted transaction.
        self._txn_index = TxnIndex(home, base_offset, suffix, txn_index_size) if txn_index_size else None
        self.indexes = IndexWriter(self.offset_index, self.time_index, config.index_interval_bytes)
        self.created_ms = home.clock.time_ms()
        #: The largest timestamp of the first batch, from which the age of the segment is counted; None: not read yet.
        self._first_timestamp: int | None = None
        self._timestamps_known = False
        #: The segment is no longer part of the log; its files may go at any time.
        self.removed = False

    @classmethod
    def create(
        cls,
        home: Home,
        base_offset: int,
        config: LogConfig,
        *,
        suffix: str = "",
        jitter_ms: int = 0,
        fresh: bool = False,
    ) -> Segment:
        """Make the files of a new segment; what a crash left under these names goes (`fresh`: there is nothing)."""
        segment = cls(home, base_offset, config, suffix=suffix, jitter_ms=jitter_ms)
        segment.data.create(config.segment_size if config.preallocate else 0, fresh=fresh)
        segment.offset_index.create(fresh)
        segment.time_index.create(fresh)
        if not fresh:
            home.fs.unlink(home.file(file_name(base_offset, TXN_INDEX, suffix)), missing_ok=True)
        segment._timestamps_known = True
        if not suffix:
            home.unsynced.add_name()
        return segment

    @classmethod
    def load(
        cls,
        home: Home,
        base_offset: int,
        config: LogConfig,
        *,
        suffix: str = "",
        jitter_ms: int = 0,
        size: int | None = None,
        txn_index_size: int | None = None,
    ) -> Segment:
        """A segment that lies on disk. The sizes are looked up unless the caller knows them."""
        if size is None:
            size = home.fs.stat(home.file(file_name(base_offset, LOG, suffix))).size
        if txn_index_size is None:
            path = home.file(file_name(base_offset, TXN_INDEX, suffix))
            txn_index_size = home.fs.stat(path).size if home.fs.exists(path) else 0
        return cls(
            home, base_offset, config, suffix=suffix, jitter_ms=jitter_ms, size=size, txn_index_size=txn_index_size
        )

    def __repr__(self) -> str:
        return f"Segment({self.data.path.name}, size={self.size})"

    @property
    def size(self) -> int:
        """Bytes of batches: not the file's length, which may be preallocated."""
        return self.data.size

    @property
    def suffix(self) -> str:
        """The state that the files' names tell: none while the segment serves (`names.py`)."""
        return self.data.suffix

    @property
    def txn_index(self) -> TxnIndex:
        """The aborted transactions whose markers lie here; its file is made with the first of them."""
        if self._txn_index is None:
            self._txn_index = TxnIndex(self.home, self.base_offset, self.suffix)
        return self._txn_index

    @property
    def has_aborted(self) -> bool:
        """Whether the transaction index holds anything, without reading it."""
        return self._txn_index is not None and self._txn_index.data.size > 0

    @property
    def mtime_ms(self) -> int:
        """When the data was last written: what retention goes by where no record has a timestamp."""
        return self.home.fs.stat(self.data.path).mtime_ms

    def set_mtime(self, mtime_ms: int) -> None:
        """A segment that was made of others is as old as they are: else compaction would keep old data young."""
        self.home.fs.set_mtime(self.data.path, mtime_ms)

    # ---- appending

    def append(
        self, run: BatchRun, buffers: Sequence[Buffer], first: int = 0, stop: int | None = None, size: int | None = None
    ) -> None:
        """Write the batches [first, stop) of a run, whose bytes (`size` of them) `buffers` are, and index them."""
        if not self._timestamps_known:
            self._load_timestamps()
        data = self.data
        position = data.size
        data.append(buffers, sum(map(len, buffers)) if size is None else size)
        self.indexes.append(run, first, run.count if stop is None else stop, position)

    def append_bytes(self, batches: Buffer) -> None:
        """Append whole batches that already carry their offsets (what the cleaner writes)."""
        run = BatchRun(batches)
        if run.scan() != len(memoryview(batches)):
            raise CorruptRecordError("the bytes do not end with a whole batch", run.size)
        self.append(run, run.buffers())
        run.release()

    def should_roll(self, size: int, max_timestamp: int, last_offset: int, now_ms: int) -> bool:
        """Whether `size` more bytes, up to `last_offset`, belong into a new segment.

        Four reasons, as in Kafka: the file would be larger than `segment.bytes`; an index is full; the offset is more
        than 2^31-1 above the base; or the segment is older than `segment.ms` (less a jitter, so that partitions made
        together do not all roll together). An empty segment is never too old.
        """
        present = self.data.size
        if present > self.config.segment_size - size or self.indexes.no_room_for(last_offset):
            return True
        return present > 0 and self.age_ms(now_ms, max_timestamp) > self.config.max_segment_ms - self.jitter_ms

    def age_ms(self, now_ms: int, max_timestamp: int) -> int:
        """Record time since the first batch, or wall-clock time since creation when that batch has no timestamp."""
        first = self._first_timestamp
        if first is None:
            first = self.first_batch_timestamp()
        return max_timestamp - first if first is not None and first >= 0 else now_ms - self.created_ms

    def first_batch_timestamp(self) -> int | None:
        """The first batch's largest timestamp; None while the segment is empty."""
        if self._first_timestamp is None and self.data.size > 0:
            for _, run in self.batches(chunk=_SEEK_CHUNK):
                self._first_timestamp = run.header(0).max_timestamp
                break
        return self._first_timestamp

    def become_inactive(self) -> None:
        """The segment is full: force its last time index entry and cut its files to size."""
        self._changed()
        self._finish_time_index()
        self.offset_index.trim()
        self.time_index.trim()
        if self.config.preallocate:
            self.data.trim()

    def _changed(self) -> None:
        """Files of the log are not durable any more. A `.cleaned` segment is no part of it: who makes it syncs it."""
        if not self.suffix:
            self.home.unsynced.add_segment(self)

    def _finish_time_index(self) -> bool:
        """The entry that a closed segment must end with, so that its largest timestamp can be told without a walk."""
        if not self._timestamps_known:
            self._load_timestamps()
        return self.indexes.force_time_entry()

    # ---- timestamps

    @property
    def largest_timestamp(self) -> int:
        """The largest record timestamp; the file's time when no record has one."""
        timestamp = self.max_timestamp
        return timestamp if timestamp >= 0 else self.mtime_ms

    @property
    def max_timestamp(self) -> int:
        """The largest record timestamp, or -1."""
        if not self._timestamps_known:
            self._load_timestamps()
        return self.indexes.max_timestamp

    @property
    def offset_of_max_timestamp(self) -> int:
        """The last offset of the batch that brought the largest timestamp."""
        if not self._timestamps_known:
            self._load_timestamps()
        return self.indexes.offset_of_max_timestamp

    def _load_timestamps(self) -> None:
        """The last time index entry, or what the batches behind it say."""
        timestamp, offset = self.time_index.last_entry
        position = self.offset_index.lookup(offset)[1]
        for _, run in self.batches(position):
            for header in run.headers():
                if header.max_timestamp > timestamp:
                    timestamp, offset = header.max_timestamp, header.base_offset + header.last_offset_delta
        self.set_max_timestamp(timestamp, offset)

    def set_max_timestamp(self, timestamp: int, offset: int) -> None:
        """What a walk over the batches has found; from now on appends keep it right."""
        self.indexes.max_timestamp = timestamp
        self.indexes.offset_of_max_timestamp = offset
        self._timestamps_known = True

    # ---- reading

    def translate(self, offset: int, from_position: int = 0) -> BatchPosition | None:
        """Where the first batch lies that ends at `offset` or above; None when all end below it."""
        position, length = self.offset_index.span(offset)
        # Entries further apart than the chunk mean batches of that size: their headers are all that is needed.
        chunk_size = _HEADER_CHUNK if length > _SEEK_CHUNK else _SEEK_CHUNK
        position = max(position, from_position)
        data = self.data
        while position < data.size:
            chunk = data.read_at(position, chunk_size)
            if not chunk:
                return None
            found, distance, batch_size, base_offset, _ = self._seek(chunk, offset, position)
            position += distance
            if found:
                return BatchPosition(position, batch_size, base_offset)
        return None

    def _seek(self, chunk: bytes, target: int, position: int) -> tuple[bool, int, int, int, int]:
        """Walk the headers in a chunk; an error names the file and the place in it."""
        try:
            return seek(chunk, target, self.data.size - position)
        except CorruptRecordError as error:
            raise CorruptRecordError(f"{self.data.path}: {error.message}", position + error.position) from error

    def read(
        self, offset: int, max_size: int, max_position: int | None = None, min_one_message: bool = False
    ) -> SegmentSlice | None:
        """The bytes from the batch that holds `offset` on, up to `max_size` and `max_position`; None: none here."""
        start = self.translate(offset)
        if start is None:
            return None
        incomplete = start.size > max_size
        if min_one_message and incomplete:
            max_size = start.size
            incomplete = False
        end = self.data.size if max_position is None else min(max_position, self.data.size)
        size = min(end - start.position, max_size)
        piece = self.data.slice(start.position, size) if size > 0 else None
        return SegmentSlice(piece, start.base_offset, incomplete)

    def offset_behind(self, position: int) -> int | None:
        """An offset above all batches that begin below `position`, by the index alone; None: it has no such entry."""
        index = self.offset_index
        low, high = 0, index.entries
        while low < high:
            middle = (low + high) // 2
            if index.entry(middle)[1] < position:
                low = middle + 1
            else:
                high = middle
        return index.entry(low)[0] if low < index.entries else None

    def next_offset(self) -> int:
        """The offset after the last batch; the base offset when there is none.

        Found by walking from the last index entry on: some 4 KB of headers, however large the segment is.
        """
        last = self.base_offset
        size = self.data.size
        position = self.offset_index.lookup(MAX_INT64)[1] if size else 0
        while position < size and (chunk := self.data.read_at(position, _SEEK_CHUNK)):
            _, distance, _, _, passed = self._seek(chunk, MAX_INT64, position)
            last = passed if passed >= 0 else last
            position += distance
        return last

    def batches(
        self, position: int = 0, end: int | None = None, *, chunk: int = SCAN_CHUNK
    ) -> Iterator[tuple[int, BatchRun]]:
        """(file position, run) of all whole batches from `position` (a batch's start) up to `end`.

        A run and its buffer are valid until the next step. Raises CorruptRecordError, with the position in the file, at
        bytes that are no batch; batches before them have been yielded. A batch that the end cuts off is not there.
        """
        end = self.data.size if end is None else min(end, self.data.size)
        buffer = bytearray(max(0, min(chunk, end - position)))
        while position < end:
            view = memoryview(buffer)[: end - position]
            have = self.data.read_into(position, view)
            run = BatchRun(view[:have])
            done, broken = scanned(run)
            if done:
                yield position, run
            run.release()
            if broken is not None:
                raise CorruptRecordError(f"{self.data.path}: {broken.message}", position + done) from broken
            if done == 0:  # the batch is larger than the buffer, or cut off by the end
                needed = size_of_first(view[:have])
                if needed <= have or needed > end - position:
                    return
                buffer = bytearray(needed)
            position += done

    # ---- cutting, closing, moving

    def truncate_to(self, offset: int) -> int:
        """Drop the batches that hold `offset` or more; return how many bytes went. The indexes get their full size.

        A batch is never taken apart: one that begins below the offset and reaches it goes as a whole. The indexes are
        cut first, so that an error on the way leaves them pointing at what is there.
        """
        start = self.translate(offset)
        self._changed()
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        if self._txn_index is not None:
            self._txn_index.truncate_to(offset)
        self.offset_index.resize(self.offset_index.max_size)
        self.time_index.resize(self.time_index.max_size)
        cut = self.data.truncate(start.position) if start is not None else 0
        if self.data.size == 0:
            self.created_ms = self.home.clock.time_ms()
            self._first_timestamp = None
        self.indexes.since_last_entry = 0
        self._timestamps_known = False
        return cut

    def flush(self) -> None:
        """Make everything durable but the names. Any thread.

        Indexes are synced too, although they could be rebuilt: after a clean stop they are believed unread.
        """
        self.data.sync()
        self.offset_index.sync()
        self.time_index.sync()
        if self._txn_index is not None:
            self._txn_index.sync()

    def empty_indexes(self, sizes: Mapping[str, int]) -> None:
        """The segment holds no batch, so that there is nothing to find in it. `sizes`: of the files that are there."""
        for index in (self.offset_index, self.time_index):
            index.empty(sizes.get(file_name(self.base_offset, index.kind, self.suffix), -1))
        if self.has_aborted:
            self.txn_index.reset()
        self.set_max_timestamp(-1, -1)

    def finish(self, *, active: bool = False) -> None:
        """The log is about to close: force the last time index entry and cut the files to size, where need be.

        A segment that was not touched since the start is as it should be, and is not opened for this: a broker with
        thousands of idle segments stops without reading one.
        """
        changed = (self._timestamps_known or self.time_index.opened) and self._finish_time_index()
        for index in (self.offset_index, self.time_index):
            changed = index.finish() or changed
        if active and self.config.preallocate:
            self.data.trim()
            changed = True
        if changed:
            self._changed()

    def close(self) -> None:
        """Finish and close the files; nothing is synced (a segment that is not part of a log)."""
        self.finish(active=True)
        self.release()

    def release(self) -> None:
        """Close the files and change nothing."""
        self.offset_index.close()
        self.time_index.close()
        if self._txn_index is not None:
            self._txn_index.close()
        self.data.close()

    def change_suffix(self, old: str, new: str) -> None:
        """Rename the files from one state to another: the data first, then the indexes.

        A crash in between leaves some of them behind; the loader tells by the data's name what was meant, and rebuilds
        an index that is missing. Open files and maps stay what they are.
        """
        fs = self.home.fs
        self.home.unsynced.add_name()
        for kind in SEGMENT_KINDS:
            source = self.home.file(file_name(self.base_offset, kind, old))
            if fs.exists(source):
                fs.rename(source, self.home.file(file_name(self.base_offset, kind, new)))
        self.data.suffix = new
        if self._txn_index is not None:
            self._txn_index.data.suffix = new
        self.offset_index.set_suffix(new)
        self.time_index.set_suffix(new)

    def mark_deleted(self) -> None:
        """The segment is out of the log: let go of its files and mark them, to be removed later."""
        self.removed = True
        self.home.unsynced.forget(self)
        self.release()
        self.change_suffix(self.suffix, DELETED)

    def delete(self) -> None:
        """Remove the files. Slices of the data stay readable until they are released."""
        self.release()
        for kind in SEGMENT_KINDS:
            self.home.fs.unlink(self.home.file(file_name(self.base_offset, kind, self.suffix)), missing_ok=True)
