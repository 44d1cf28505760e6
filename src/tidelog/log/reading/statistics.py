"""What a partition's log is made of: sizes, counts, times, codecs, and how many different keys there are.

Keys are counted by the cleaner's own offset map, so the number is exact while the map has room; then it is scaled up
by how much of the log was seen. That is what decides whether compacting a topic would pay: a log of 10 million records
and 9 million keys would lose a tenth, one of a thousand keys nearly everything.

Everything is counted off the batches' headers but two: the smallest timestamp (records of a batch need not be in the
order of time) and the compression ratio, which need the batches unpacked. Without them (`ratio=False`) a log is read as
fast as its headers can be, and the smallest timestamp is a bound from above, unless the headers happen to tell it: of
one record, or of those that the broker has stamped. A batch that waits for its delete horizon has that where others
have their first time, so only its largest is left. The bound is near, as the first batch of the log is looked into. (A
packed entry of magic 0 or 1 tells neither its first time nor how many records it has: it is unpacked in any case.)
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tidelog.log.cleaner import legacy
from tidelog.log.cleaner._cleaner import FULL, CleanerKernel
from tidelog.log.cleaner._offset_map import OffsetMap
from tidelog.log.cleaner.cleaned_transactions import CleanedTransactions
from tidelog.log.reading.reader import PartitionReader
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress
from tidelog.records.format.attributes import MAGIC_V2, BatchHeader, TimestampType
from tidelog.records.format.batch import RecordBatch
from tidelog.records.format.convert import up_convert
from tidelog.records.format.layout import RECORD_BATCH_OVERHEAD, entry_size
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel._columns import ColumnReader
from tidelog.records.kernel._filter import BatchFilter

#: Memory of the map that counts keys: about 1.4 million exactly.
KEY_MEMORY = 32 << 20


@dataclass
class PartitionStatistics:
    """What was found. None where the log has nothing to tell: no batch, or none with a timestamp."""

    segments: int = 0
    bytes: int = 0
    batches: int = 0
    control_batches: int = 0
    transactional_batches: int = 0
    records: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    #: The smallest timestamp, or (`min_time_exact` is false) one that it is not above.
    min_time: int | None = None
    min_time_exact: bool = True
    max_time: int | None = None
    #: Bytes of compressed record payloads, and what they unpack to.
    packed_bytes: int = 0
    plain_bytes: int = 0
    #: Batches by codec and by format: a log may hold several of each, as its topic and its producers changed.
    codecs: Counter[str] = field(default_factory=Counter)
    magics: Counter[int] = field(default_factory=Counter)
    #: Exact until the map was full, an estimate from then on (`keys_exact` says which).
    distinct_keys: int = 0
    keys_exact: bool = True

    @property
    def compression_ratio(self) -> float | None:
        return self.plain_bytes / self.packed_bytes if self.packed_bytes else None


class StatisticsReader:
    """Reads one partition. `keys=False` leaves out the count of keys, `ratio=False` the unpacking of batches.

    Aborted transactions are counted like any others: they take their room on disk until compaction or retention.
    """

    def __init__(
        self,
        partition: PartitionReader,
        *,
        keys: bool = True,
        ratio: bool = True,
        progress: Callable[[int], None] = lambda count: None,
    ) -> None:
        self._partition = partition
        self._offsets = OffsetMap(KEY_MEMORY) if keys else None
        self._kernel = CleanerKernel()
        self._transactions = CleanedTransactions()
        self._ratio = ratio
        self._progress = progress
        self._counted_bytes = 0
        self.result = PartitionStatistics()

    def read(self) -> PartitionStatistics:
        """Walk all segments once. Markers count as batches and, as Kafka counts them, as records."""
        result = self.result
        if self._offsets is not None:
            self._offsets.clear()
        for segment in self._partition.segments:
            result.segments += 1
            for _, run in segment.runs():
                result.bytes += run.size
                for index in range(len(run)):
                    self._batch(RecordBatch(run, index))
                if self._ratio:
                    self._earliest(run)
                self._count_keys(run)
                self._progress(run.size)
        if self._offsets is not None:
            result.distinct_keys = len(self._offsets)
            if not result.keys_exact and self._counted_bytes:
                result.distinct_keys = round(result.distinct_keys * result.bytes / self._counted_bytes)
        return result

    def _batch(self, batch: RecordBatch) -> None:
        """Count one batch. Only magic 2 has control and transactional bits; in older formats they mean nothing."""
        result, header = self.result, batch.header
        result.batches += 1
        result.magics[header.magic] += 1
        result.codecs[header.codec.label] += 1
        result.control_batches += header.is_control and header.magic >= 2
        result.transactional_batches += header.is_transactional and header.magic >= 2
        result.records += batch.record_count
        if result.first_offset is None:
            result.first_offset = batch.base_offset
        result.last_offset = header.last_offset
        if header.max_timestamp >= 0:
            result.max_time = max(header.max_timestamp, result.max_time or 0)
        if not self._ratio:
            self._bound_earliest(batch)
        elif header.is_compressed and header.magic >= 2:
            payload = batch.raw[RECORD_BATCH_OVERHEAD:]
            result.packed_bytes += len(payload)
            result.plain_bytes += len(decompress(header.codec, payload))

    def _earliest(self, run: BatchRun) -> None:
        """The smallest timestamp of a run, from all of its records."""
        reader = ColumnReader(BatchFilter(skip_control=False), up_convert, limit=DEFAULT_LIMIT)
        reader.add(memoryview(run.buffer)[: run.size])  # type: ignore[arg-type]  # a scanned run has its buffer
        times = array("q", bytes(8 * reader.rows_bound))
        rows = reader.fill(timestamp=times.buffer_info()[0])[0]
        self._note_times(times[:rows])

    def _bound_earliest(self, batch: RecordBatch) -> None:
        """What a batch tells of it without being unpacked; the log's first is, and an old one was, to be counted."""
        header = batch.header
        if header.record_count == 0:  # all that compaction has left is the header: its times are nobody's
            return
        if _tells_its_times(header):
            self._note_times([header.max_timestamp])
        elif header.magic < MAGIC_V2 or self.result.min_time is None:
            self._note_times(record.timestamp for record in batch.records())
        else:
            self._note_times([_bound(header)])
            self.result.min_time_exact = False

    def _note_times(self, times: Iterable[int]) -> None:
        """Timestamps pass; negative ones stand for none."""
        earliest = min((time for time in times if time >= 0), default=None)
        if earliest is not None:
            known = self.result.min_time
            self.result.min_time = earliest if known is None else min(known, earliest)

    def _count_keys(self, run: BatchRun) -> None:
        """Note the keys of a run in the map. It is left one tenth empty: probing gets slow in a map that is full."""
        offsets = self._offsets
        if offsets is None or not self.result.keys_exact:
            return
        data = memoryview(run.buffer)[: run.size]  # type: ignore[arg-type]  # a scanned run has its buffer
        most = offsets.slots * 9 // 10
        while data:
            status, done = self._kernel.index(offsets, data, len(data), 0, most, self._transactions)
            self._counted_bytes += done
            data = data[done:]
            full = status == FULL
            if data and not full:  # a magic 0 or 1 entry
                size = entry_size(data)
                full = legacy.index_entry(offsets, data[:size], 0, most)
                self._counted_bytes += size
                data = data[size:]
            if full:
                self.result.keys_exact = False
                return


def _tells_its_times(header: BatchHeader) -> bool:
    """Whether the largest timestamp is every record's: there is one, or the broker has stamped all of them."""
    return header.record_count == 1 or (header.magic > 0 and header.timestamp_type == TimestampType.LOG_APPEND_TIME)


def _bound(header: BatchHeader) -> int:
    """A timestamp that some record of the batch is not above: its first one's, where the header has that."""
    return header.base_timestamp if header.delete_horizon is None else header.max_timestamp
