"""Read any Kafka log directory, without a broker or beside a running one.

    directory = LogDirectory("/var/lib/kafka")
    for partition in directory.partitions("orders"):
        for record in partition.records(start_offset=100, end_offset=200):
            print(record.offset, record.key, record.value)
    table = directory.partition("orders", 0).to_arrow(start_time=yesterday_ms)

Nothing is locked or changed, so it works on a directory in use; what it sees is then a moment's view: whole batches
only, and segments that retention removes meanwhile are simply gone; what compaction replaces is read in one form or the
other. Ranges are [start, end): offsets as in Kafka, times in milliseconds since the epoch.

Beside a running broker this reads what is on disk, which may be more than consumers get: records above the high
watermark, and those of transactions that are still open, are among them (`committed` leaves out aborted ones only).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.common.errors import UsageError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.types import TopicPartition
from tidelog.log import checkpoint, partition_metadata
from tidelog.log.directory import meta_properties
from tidelog.log.directory.log_dir import LogDir, Offsets
from tidelog.log.directory.meta_properties import MetaProperties
from tidelog.log.names import LEADER_EPOCH_FILE, SNAPSHOT, parse_dir, split_name
from tidelog.log.reading.segment_listing import SegmentFile, list_segments
from tidelog.log.reading.segment_reader import SegmentReader
from tidelog.log.reading.segment_walk import SegmentWalk
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.batch import Record, RecordBatch

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of batches that are turned into one Arrow batch.
ARROW_CHUNK = 8 << 20


class PartitionReader:
    """One partition's directory, opened read-only.

    Nothing is kept between two calls: each looks at the directory anew, so that a long-lived reader follows a log that
    is written to. `log_start_offset` comes from the checkpoint of the directory above, which knows what DeleteRecords
    has cut off within a segment.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, fs: FileSystem = LOCAL_FS, log_start_offset: int | None = None
    ) -> None:
        self.path = Path(path).resolve()
        self._fs = fs
        parsed = parse_dir(self.path.name)
        if parsed is None:
            raise UsageError(f"{self.path} is no partition's directory: its name is not topic-partition")
        self.topic_partition: TopicPartition = parsed.topic_partition
        #: "", "delete", "future" or "stray": the directory's state.
        self.kind = parsed.kind
        self._log_start_offset = log_start_offset

    def __repr__(self) -> str:
        return f"PartitionReader({self.path})"

    @property
    def topic(self) -> str:
        return self.topic_partition.topic

    @property
    def partition(self) -> int:
        return self.topic_partition.partition

    @property
    def topic_id(self) -> bytes | None:
        """What `partition.metadata` says; None in a directory of a broker before 2.8, which had no topic ids."""
        return partition_metadata.read(self._fs, self.path)

    @property
    def segments(self) -> list[SegmentReader]:
        """The segments that are there now, in order. One that is being swapped in counts, those it replaces do not."""
        found = list_segments(self._fs, self.path, lambda name: self._segment(name).end_offset)
        return [self._segment(name) for name in found]

    def _segment(self, name: SegmentFile) -> SegmentReader:
        """Opens nothing yet: the file may be gone by the time somebody reads it."""
        return SegmentReader(self._fs, self.path, name.base_offset, name.suffix)

    @property
    def snapshots(self) -> list[int]:
        """The offsets of the producer state snapshots."""
        parsed = (split_name(name) for name in self._fs.listdir(self.path))
        return sorted(name[0] for name in parsed if name is not None and name[1:] == (SNAPSHOT, ""))

    @property
    def leader_epochs(self) -> list[tuple[int, int]]:
        """(epoch, first offset) of every leader epoch that the log knows."""
        path = self.path / LEADER_EPOCH_FILE
        rows = [checkpoint.parse_fields(line, 2, str(path)) for line in checkpoint.read_lines(self._fs, path)]
        return [(int(epoch), int(offset)) for epoch, offset in rows]

    @property
    def log_start_offset(self) -> int:
        """The checkpoint's, or the first segment's base offset."""
        segments = self.segments
        base = segments[0].base_offset if segments else 0
        return base if self._log_start_offset is None else max(base, self._log_start_offset)

    @property
    def end_offset(self) -> int:
        """The offset after the last whole batch."""
        segments = self.segments
        return segments[-1].end_offset if segments else self.log_start_offset

    @property
    def size(self) -> int:
        """Bytes of the `.log` files, including what a preallocated one has not used yet."""
        return sum(segment.size for segment in self.segments)

    def aborted_transactions(self, start: int = 0, end: int | None = None) -> list[AbortedTxn]:
        """The aborted transactions that overlap a range of offsets."""
        return [
            transaction
            for segment in self.segments
            for transaction in segment.aborted
            if transaction.last_offset >= start and (end is None or transaction.first_offset < end)
        ]

    # --- batches and records --------------------------------------------------------------------------------------

    def batches(
        self,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        start_time: int | None = None,
        end_time: int | None = None,
    ) -> Iterator[RecordBatch]:
        """The batches that hold offsets, and may hold timestamps, of the ranges; control batches included.

        Whole batches: the first and the last may hold records outside the ranges. Times are judged by a batch's largest
        timestamp, and `end_time` not at all, since later batches may hold earlier records.
        """
        placed = self.placed_batches(
            start_offset=start_offset, end_offset=end_offset, start_time=start_time, end_time=end_time
        )
        for _, _, batch in placed:
            yield batch

    def placed_batches(
        self,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        start_time: int | None = None,
        end_time: int | None = None,
    ) -> Iterator[tuple[SegmentReader, int, RecordBatch]]:
        """The same with their places: (segment, position in its file, batch)."""
        start = self.log_start_offset if start_offset is None else max(start_offset, self.log_start_offset)

        def read(segment: SegmentReader, offset: int) -> Iterator[tuple[int, _Placed | None]]:
            return _batches_of(segment, offset, end_offset, start_time)

        yield from SegmentWalk(lambda: self.segments, read, start=start, end=end_offset)

    def records(
        self,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        start_time: int | None = None,
        end_time: int | None = None,
        committed: bool = False,
        control: bool = False,
    ) -> Iterator[Record]:
        """The records of the ranges. `committed` leaves out aborted ones, `control` shows markers as well."""
        start = self.log_start_offset if start_offset is None else max(start_offset, self.log_start_offset)
        batches = self.batches(
            start_offset=start_offset, end_offset=end_offset, start_time=start_time, end_time=end_time
        )
        aborted = _AbortedFilter(self.aborted_transactions(start, end_offset)) if committed else None
        for batch in batches:
            if (batch.is_control and not control) or (aborted is not None and aborted.hides(batch)):
                continue
            for record in batch.records():
                if record.offset < start or (end_offset is not None and record.offset >= end_offset):
                    continue
                if start_time is not None and record.timestamp < start_time:
                    continue
                if end_time is not None and record.timestamp >= end_time:
                    continue
                yield record

    # --- Arrow ----------------------------------------------------------------------------------------------------

    def arrow_batches(
        self,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        start_time: int | None = None,
        end_time: int | None = None,
        columns: Sequence[str] = ("offset", "timestamp", "timestamp_type", "key", "value"),
    ) -> Iterator[pa.RecordBatch]:
        """The records as Arrow batches of a few MB each, without per-record Python. Needs `tidelog[arrow]`.

        Markers are left out, aborted records are not (`records` can leave them out).
        """
        from tidelog.records.arrow import batches_in_parts

        start = self.log_start_offset if start_offset is None else max(start_offset, self.log_start_offset)
        timed = start_time is not None or end_time is not None
        decoded = (*columns, "timestamp") if timed and "timestamp" not in columns else tuple(columns)
        found = self.batches(start_offset=start_offset, end_offset=end_offset, start_time=start_time, end_time=end_time)
        for chunk in _chunks(found):
            last = None if end_offset is None else end_offset - 1
            for _, rows in batches_in_parts(chunk, columns=decoded, first_offset=start, last_offset=last):
                yield _between(rows, start_time, end_time).select(list(columns)) if timed else rows

    def to_arrow(self, **options: Any) -> pa.Table:
        """One Arrow table of everything in the ranges (the options of `arrow_batches`)."""
        from tidelog.records.arrow import batches_to_arrow
        from tidelog.records.arrow.module import require_pyarrow

        table = require_pyarrow().Table
        parts = list(self.arrow_batches(**options))
        if not parts:
            options = {name: options[name] for name in ("columns",) if name in options}
            parts = [batches_to_arrow([b""], **options)]
        return table.from_batches(parts)


def _chunks(batches: Iterator[RecordBatch]) -> Iterator[list[memoryview]]:
    """So many batches together that turning them into Arrow is worth it: 8 MB, whether they are large or small."""
    pending: list[memoryview] = []
    size = 0
    for batch in batches:
        pending.append(batch.raw)
        size += batch.size
        if size >= ARROW_CHUNK:
            yield pending
            pending, size = [], 0
    if pending:
        yield pending


def _between(rows: pa.RecordBatch, start_time: int | None, end_time: int | None) -> pa.RecordBatch:
    """The rows of those times; a record without one counts as one before all times, as `records` has it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times = pc.fill_null(rows.column("timestamp").cast(pa.int64()), -1)
    if start_time is not None:
        wanted = pc.greater_equal(times, start_time)
        rows, times = rows.filter(wanted), times.filter(wanted)
    return rows if end_time is None else rows.filter(pc.less(times, end_time))


_Placed = tuple[SegmentReader, int, RecordBatch]


def _batches_of(
    segment: SegmentReader, start: int, end: int | None, start_time: int | None
) -> Iterator[tuple[int, _Placed | None]]:
    """(offset behind, place and batch, or None for one that is of no interest).

    Where a batch begins is asked only of one that reaches the end: a packed one of magic 0 or 1 is unpacked for it.
    """
    first = start if start_time is None else max(start, segment.offset_before_time(start_time))
    for position, batch in segment.placed_batches(first):
        header = batch.header
        if header.last_offset < first:
            continue
        if end is not None and header.last_offset >= end and batch.base_offset >= end:
            return
        early = start_time is not None and header.magic > 0 and header.max_timestamp < start_time
        yield header.last_offset + 1, None if early else (segment, position, batch)


class _AbortedFilter:
    """Tells aborted batches in a walk from front to back."""

    def __init__(self, transactions: list[AbortedTxn]) -> None:
        self._by_producer: dict[int, list[AbortedTxn]] = {}
        for transaction in transactions:
            self._by_producer.setdefault(transaction.producer_id, []).append(transaction)

    def hides(self, batch: RecordBatch) -> bool:
        """Whether a batch belongs to an aborted transaction: one of its producer, begun before it and ended behind it.
        Markers are never hidden; who does not want them says so."""
        if not batch.is_transactional or batch.is_control:
            return False
        known = self._by_producer.get(batch.producer_id, ())
        return any(entry.first_offset <= batch.base_offset <= entry.last_offset for entry in known)


class LogDirectory:
    """A directory as `log.dirs` names it: partitions' directories and the checkpoints beside them."""

    def __init__(self, path: str | os.PathLike[str], *, fs: FileSystem = LOCAL_FS) -> None:
        self.path = Path(path)
        self._fs = fs
        self._dir = LogDir(self.path, fs)
        if not fs.exists(self.path):
            raise UsageError(f"{self.path} does not exist")

    def __repr__(self) -> str:
        return f"LogDirectory({self.path})"

    @cached_property
    def meta(self) -> MetaProperties | None:
        """What `meta.properties` says."""
        return meta_properties.read(self._fs, self.path)

    @property
    def recovery_points(self) -> Offsets:
        return self._dir.recovery_points()

    @property
    def log_start_offsets(self) -> Offsets:
        return self._dir.log_start_offsets()

    @property
    def high_watermarks(self) -> Offsets:
        return self._dir.high_watermarks()

    @property
    def cleaner_offsets(self) -> Offsets:
        return self._dir.cleaner_offsets()

    def topics(self) -> list[str]:
        """Those with a partition here; others of the cluster may lie in other directories or on other brokers."""
        return sorted({partition.topic for partition in self.partitions()})

    def partitions(self, topic: str | None = None, *, all_kinds: bool = False) -> list[PartitionReader]:
        """The partitions, of one topic or of all, in order; `all_kinds` adds `-delete`, `-future`, `-stray` ones."""
        starts = self.log_start_offsets
        found = [
            PartitionReader(path, fs=self._fs, log_start_offset=starts.get(name.topic_partition))
            for path, name in self._dir.partitions()
            if (topic is None or name.topic_partition.topic == topic) and (all_kinds or not name.kind)
        ]
        return sorted(found, key=lambda partition: (partition.topic_partition, partition.kind))

    def partition(self, topic: str, partition: int) -> PartitionReader:
        """One partition that is in service; raises UsageError when it is not here."""
        wanted = TopicPartition(topic, partition)
        path = self.path / str(wanted)
        if not self._fs.exists(path):
            raise UsageError(f"{self.path} holds no partition {wanted}")
        return PartitionReader(path, fs=self._fs, log_start_offset=self.log_start_offsets.get(wanted))
