"""Columns: whole Arrow tables on their way out, encoded by the kernel, without Python per record.

    producer.send_arrow("orders", table, key="customer", value="payload").result(30)

The rows are placed (by the `partition` column, by the key's hash, else all together in one partition, another one with
each call), encoded partition by partition, and enter the same deques as single records, as ready-made batches: so they
keep their order among the others, share requests, retries, sequence numbers and transactions. Interceptors, serializers
and a partitioner of one's own see single records, not columns.

Why so: encoding a row costs tens of nanoseconds in the kernel, and a Python call per record ten times that. A table of
a million rows is a few thousand batches at most, and only these are Python objects.

A batch holds `batch.size` bytes if that was set, else about a megabyte: a table fills large batches at no delay.

What is wrong with a row (larger than `max.request.size`, a time before 1970, a partition that is not there) is found
before anything is queued. Memory is not: a table may be larger than `buffer.memory`, and its first batches leave while
the later ones wait for room, each up to `max.block.ms`. So a table can get stuck half-way, and "all or nothing" is what
only a transaction can promise. Without one the error says what is on its way and what is not (`PartlyQueuedError`).
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
from tidelog.common.errors import KafkaError, UsageError
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
            try:
                if not lock.acquire(timeout=lock_wait(timeout)):
                    raise TimeoutError(f"the rows are not acknowledged within {timeout:g} s")
            except BaseException:
                batch.forget(lock.release)
                raise
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


class PartlyQueuedError(KafkaError):
    """Some rows of a table are on their way, the others are not: there was no room for them within `max.block.ms`, or
    the producer was closed or failed meanwhile. (In a transaction: abort it, and nothing of the table counts.)

        except PartlyQueuedError as error:
            written = error.queued.result()             # where the first ones are, once they are written
            rest = table.take(error.left)               # what to send again

    `left` has the numbers of the rows that were not queued, those of each partition in their order.
    """

    def __init__(self, cause: KafkaError, queued: ColumnsFuture, left: pa.UInt64Array, rows: int) -> None:
        self.queued = queued
        self.left = left
        super().__init__(
            cause.code, f"{rows - len(left)} of {rows} rows are queued, the others are not: {cause.message}"
        )


class TableEntry:
    """One table's way into the deques: a batch is encoded (`next`), finds room, and is added, then the next one.

    Batches come partition by partition, and the rows of each in their order. So how many rows were added tells which
    they were.
    """

    def __init__(
        self,
        encoder: ColumnEncoder,
        topic: TopicBatches,
        table: Any,
        wanted: dict[str, Column],
        admit: Callable[[], None],
    ) -> None:
        self._encoder = encoder
        self._topic = topic
        self._table = table
        self._wanted = wanted
        self._admit = admit
        self._placed: list[tuple[int, Any]] = []
        self._rows = 0
        self._added: list[ProducerBatch] = []
        self._batches = self._encode()

    def _encode(self) -> Iterator[tuple[PartitionBatches, memoryview]]:
        """The table is looked at with the first step: whoever takes it on a thread has all of the work done there."""
        source, self._placed = self._encoder.source(self._topic, self._table, self._wanted)
        self._rows = len(source) if source is not None else 0
        for number, order in self._placed:
            for data in self._encoder.encoded(source, order):
                yield self._topic.partitions[number], data

    @property
    def is_worth_a_thread(self) -> bool:
        """Whether a loop should not wait for it: encoding a megabyte takes one millisecond, and gzip forty."""
        return bool(getattr(self._table, "nbytes", _WORTH_KEEPING) >= _WORTH_KEEPING)

    def next(self) -> tuple[PartitionBatches, memoryview] | None:
        """The next batch, encoded, with the deque that it belongs to; None after the last."""
        return next(self._batches, None)

    def add(self, queue: PartitionBatches, data: memoryview) -> None:
        """Put it behind those of its partition."""
        self._admit()
        self._added.append(self._encoder.add(queue, data))

    @property
    def future(self) -> ColumnsFuture:
        """The outcome of what was added."""
        return ColumnsFuture(self._added)

    def tell(self, error: KafkaError) -> None:
        """It has broken off. If something was added before, raise what says so instead of the error alone."""
        if self._added:
            raise PartlyQueuedError(error, self.future, self._left(), self._rows) from error

    def _left(self) -> Any:
        """The numbers of the rows that were not added."""
        import pyarrow as pa
        import pyarrow.compute as pc

        added = sum(batch.count for batch in self._added)
        orders = [order for _, order in self._placed if order is not None]
        if not orders:  # all in one partition, as they lie
            ones = pa.repeat(pa.scalar(1, pa.uint64()), self._rows - added)
            return pc.add(pc.cumulative_sum(ones), pa.scalar(added - 1, pa.uint64()))
        return pa.concat_arrays(orders).slice(added)


class ColumnEncoder:
    """Places and encodes the rows of tables for one producer."""

    def __init__(
        self,
        accumulator: Accumulator,
        clock: Clock,
        *,
        has_leader: Callable[[TopicPartition], bool],
        batch_bytes: int,
        max_request_size: int,
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
        self._largest = min(max_request_size, accumulator.pool.total)
        self._buffers = LargeBuffers(kept=8 + 2 * accumulator.pool.total // batch_bytes)

    def rows(self, topic: TopicBatches, table: Any, wanted: dict[str, Column], admit: Callable[[], None]) -> TableEntry:
        """One table's way in; `admit` raises if its rows must not be queued (any more)."""
        return TableEntry(self, topic, table, wanted, admit)

    def source(self, topic: TopicBatches, table: Any, wanted: dict[str, Column]) -> tuple[Any, list[tuple[int, Any]]]:
        """The rows, checked, and which of them go to which partition, as numbers: nothing is sorted or copied."""
        from tidelog.records.arrow.module import require_pyarrow

        require_pyarrow()  # says how to get it, as `poll_arrow` does
        from tidelog.records.arrow import ArrowRows, rows_by_partition

        columns = _columns(table, wanted)
        rows = len(columns["value"] if columns["value"] is not None else columns["key"])
        if not rows:
            return None, []
        source = ArrowRows(
            columns["key"],
            columns["value"],
            columns["timestamp"],
            columns["headers"],
            default_timestamp=self._clock.time_ms(),
        )
        self._check(source)
        places = self._places(topic, rows, columns["key"], columns["partition"])
        return source, rows_by_partition(places, len(topic.partitions))

    def _check(self, source: Any) -> None:
        """The rules of `send`, for all rows at once."""
        early = source.first_before_1970()
        if early is not None:
            text = "expected milliseconds since 1970, or null for now"
            raise UsageError(f"row {early[0]} has a timestamp of {early[1]} ms: {text}")
        large = source.encoder(max_batch_bytes=self._batch_bytes).first_larger(self._largest)
        if large is not None:
            raise self._accumulator.too_large(large[1], f"row {large[0]}, ")

    def encoded(self, source: Any, order: Any) -> Iterator[memoryview]:
        """A partition's rows as batches, each when it is asked for."""
        how = {"codec": self._codec, "level": self._level, "max_batch_bytes": self._batch_bytes}
        encoder = source.encoder(order, **how, checksum=False)  # every batch is sealed when it leaves
        yield from encoder.encode_each(self._allocate)

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
