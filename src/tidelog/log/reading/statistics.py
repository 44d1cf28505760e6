"""What a partition's log is made of: sizes, counts, times, codecs, and how many different keys there are.

Keys are counted by the cleaner's own offset map, so the number is exact while the map has room; then it is scaled up
by how much of the log was seen. That is what decides whether compacting a topic would pay: a log of 10 million records
and 9 million keys would lose a tenth, one of a thousand keys nearly everything.

Everything is counted off the batches' headers but two: the smallest timestamp (records of a batch need not be in the
order of time) and the compression ratio, which need the batches unpacked. Without them (`ratio=False`) a log is read as
fast as its headers can be.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.log.cleaner import legacy
from tidelog.log.cleaner._cleaner import FULL, CleanerKernel
from tidelog.log.cleaner._offset_map import OffsetMap
from tidelog.log.cleaner.cleaned_transactions import CleanedTransactions
from tidelog.log.reading.reader import PartitionReader
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress
from tidelog.records.format.attributes import BatchHeader, TimestampType
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
    min_time: int | None = None
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
        if self._ratio and header.is_compressed and header.magic >= 2:
            payload = batch.raw[RECORD_BATCH_OVERHEAD:]
            result.packed_bytes += len(payload)
            result.plain_bytes += len(decompress(header.codec, payload))

    def _earliest(self, run: BatchRun) -> None:
        """The smallest timestamp. Records need not be in its order: without them, the first of each batch stands in."""
        if self._ratio:
            reader = ColumnReader(BatchFilter(skip_control=False), up_convert, limit=DEFAULT_LIMIT)
            reader.add(memoryview(run.buffer)[: run.size])  # type: ignore[arg-type]  # a scanned run has its buffer
            times = array("q", bytes(8 * reader.rows_bound))
            rows = reader.fill(timestamp=times.buffer_info()[0])[0]
            found = (time for time in times[:rows] if time >= 0)
        else:
            found = (time for time in map(_first_time, map(run.header, range(len(run)))) if time >= 0)
        earliest = min(found, default=None)
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


def _first_time(header: BatchHeader) -> int:
    """The timestamp of a batch's first record, as far as the header tells: else the largest one."""
    plain = header.magic >= 2 and header.delete_horizon is None and header.timestamp_type == TimestampType.CREATE_TIME
    return header.base_timestamp if plain else header.max_timestamp
