"""Columns: whole Arrow tables on their way out, encoded by the kernel, without Python per record.

    producer.send_arrow("orders", table, key="customer", value="payload").result(30)

The rows are placed (by the `partition` column, by the key's hash, else all together in one partition, another one with
each call), encoded partition by partition, and enter the same deques as single records, as ready-made batches: so they
keep their order among the others, share requests, retries, sequence numbers and transactions. Interceptors, serializers
and a partitioner of one's own see single records, not columns.

Why so: encoding a row costs tens of nanoseconds in the kernel, and a Python call per record ten times that. A table of
a million rows is a few thousand batches at most, and only these are Python objects.

A batch holds `batch.size` bytes if that was set, else about a megabyte: a table fills large batches at no delay.
"""

from __future__ import annotations

import asyncio
from _thread import allocate_lock
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tidelog.client.durations import lock_wait
from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer._batch import ProducerBatch
from tidelog.client.producer._partition_batches import PartitionBatches, TopicBatches
from tidelog.common.clock import Clock
from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.net.large_buffers import LargeBuffers
from tidelog.records.format.attributes import Codec

if TYPE_CHECKING:
    import pyarrow as pa

Column: TypeAlias = "str | pa.Array | pa.ChunkedArray | None"
#: Batches from this size on are built in memory that is kept, instead of Arrow's, which gives its own back each time.
_WORTH_KEEPING = 256 << 10
_NAMES = ("key", "value", "headers", "partition", "timestamp")


class WrittenRows(NamedTuple):
    """Rows that lie together: so many of a partition from `offset` on."""

    topic_partition: TopicPartition
    offset: int
    rows: int


class ColumnsFuture:
    """The outcome of one `send_arrow`: where the rows are, by batch, or the first error."""

    def __init__(self, batches: Sequence[ProducerBatch]) -> None:
        self._batches = batches

    def done(self) -> bool:
        """Whether the outcome of every batch is known."""
        return all(batch.done for batch in self._batches)

    def result(self, timeout: float | None = None) -> list[WrittenRows]:
        """Wait in a thread, up to `timeout` seconds for each batch."""
        for batch in self._batches:
            lock = allocate_lock()
            lock.acquire()
            batch.when_done(lock.release)
            if not lock.acquire(timeout=lock_wait(timeout)):
                raise TimeoutError(f"the rows are not acknowledged within {timeout:g} s")
        return self._outcome()

    def __await__(self) -> Generator[Any, None, list[WrittenRows]]:
        return self._wait().__await__()

    async def _wait(self) -> list[WrittenRows]:
        await asyncio.gather(*(batch.finished() for batch in self._batches))
        return self._outcome()

    def _outcome(self) -> list[WrittenRows]:
        """Rows of other batches may have been written when one has failed: its error says which partition it was."""
        written = [leaf for batch in self._batches for leaf in batch.leaves()]
        for batch in written:
            if batch.error is not None:
                raise batch.error
        return [WrittenRows(batch.topic_partition, batch.base_offset, batch.count) for batch in written]


class ColumnEncoder:
    """Places and encodes the rows of tables for one producer."""

    def __init__(
        self,
        accumulator: Accumulator,
        clock: Clock,
        *,
        has_leader: Callable[[TopicPartition], bool],
        batch_bytes: int,
        codec: Codec,
        level: int | None,
    ) -> None:
        self._accumulator = accumulator
        self._clock = clock
        self._batch_bytes = batch_bytes
        self._has_leader = has_leader
        self._turns: dict[str, int] = {}
        self._codec = codec
        self._level = level
        self._buffers = LargeBuffers(kept=8 + 2 * accumulator.pool.total // batch_bytes)

    def batches(
        self, topic: TopicBatches, table: Any, **wanted: Column
    ) -> Iterator[tuple[PartitionBatches, memoryview]]:
        """The rows as encoded batches, with the deque that each belongs to, in their order."""
        from tidelog.records.arrow.module import require_pyarrow

        require_pyarrow()  # says how to get it, as `poll_arrow` does
        from tidelog.records.arrow import ArrowRows, rows_by_partition

        # First where every row goes, as numbers; then each partition's rows are encoded, in their order, from where
        # they lie in the table: nothing is sorted or copied before.
        columns = _columns(table, wanted)
        rows = len(columns["value"] if columns["value"] is not None else columns["key"])
        if not rows:
            return
        count = len(topic.partitions)
        placed = rows_by_partition(self._places(topic, rows, columns["key"], columns["partition"]), count)
        source = ArrowRows(
            columns["key"],
            columns["value"],
            columns["timestamp"],
            columns["headers"],
            default_timestamp=self._clock.time_ms(),
        )
        for number, order in placed:
            for data in source.batches(
                order, codec=self._codec, level=self._level, max_batch_bytes=self._batch_bytes, allocate=self._allocate
            ):
                yield topic.partitions[number], data

    def add(self, queue: PartitionBatches, data: memoryview) -> ProducerBatch:
        """Put a batch behind those of its partition."""
        pool, now = self._accumulator.pool, self._clock.monotonic()
        batch = ProducerBatch.ready_made(pool, queue, queue.topic_partition, data, now)
        self._accumulator.add_ready_made(queue, batch)
        return batch

    def _allocate(self, size: int) -> Any:
        """Memory for a batch, which is held until it is acknowledged."""
        import pyarrow as pa

        return self._buffers.take(size) if size >= _WORTH_KEEPING else pa.allocate_buffer(size)

    def _places(self, topic: TopicBatches, rows: int, key: Any, partition: Any) -> Any:
        """The partition of every row; those without key and partition stay together (KIP-480)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from tidelog.records.arrow import partition_keys

        count = len(topic.partitions)
        if partition is not None:
            partition = partition.cast(pa.int32())
            bad = pc.or_kleene(pc.less(partition, 0), pc.greater_equal(partition, count))
            if pc.any(bad).as_py():
                raise UsageError(f"a row names a partition that {topic.name} does not have: it has 0 to {count - 1}")
            if partition.null_count == 0:
                return partition
        sticky = self._next_turn(topic)
        if key is None or key.null_count == rows:
            placed = pa.repeat(pa.scalar(sticky, pa.int32()), rows)
        else:
            placed = partition_keys(key, count)
            if key.null_count:
                placed = pc.if_else(key.is_valid(), placed, pa.scalar(sticky, pa.int32()))
        return placed if partition is None else pc.coalesce(partition, placed)

    def _next_turn(self, topic: TopicBatches) -> int:
        """Where rows without a key go: another partition with each call, in turn, past those that have no leader. (A
        call is many rows: left to chance, as records are, a few calls would make very unequal shares.)
        """
        count = len(topic.partitions)
        last = self._turns.get(topic.name)
        if last is None:
            chosen = self._accumulator.next_sticky(topic)
        else:
            following = [(last + step) % count for step in range(1, count + 1)]
            known = (number for number in following if self._has_leader(topic.partitions[number].topic_partition))
            chosen = next(known, following[0])
        self._turns[topic.name] = chosen
        return chosen


def _columns(table: Any, wanted: dict[str, Column]) -> dict[str, Any]:
    """The five columns: arrays as given, names looked up in the table; unnamed ones by their usual names."""
    import pyarrow as pa

    if isinstance(table, (pa.Array, pa.ChunkedArray)):
        table = pa.table({"value": table})
    elif not isinstance(table, (pa.Table, pa.RecordBatch)):
        table = pa.table(table)  # anything with the Arrow interface: a frame of polars, a relation, a dict of columns
    found: dict[str, Any] = {}
    for name in _NAMES:
        column = wanted.get(name)
        if isinstance(column, str):
            if column not in table.schema.names:
                raise UsageError(f"the table has no column {column}: it has {', '.join(table.schema.names)}")
            column = table.column(column)
        elif column is None and name in table.schema.names and name not in wanted:
            column = table.column(name)
        found[name] = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if found["value"] is None and found["key"] is None:
        raise UsageError("neither a column for values nor one for keys: name one with value= or key=")
    return found
