"""A producer that takes Arrow columns: partitioned and encoded by the kernel, in order, idempotent, transactional.

    producer = ArrowProducer(cluster, transactional_id="job-1")
    await producer.init()
    producer.begin()
    await producer.send("orders", key=keys, value=values)
    await producer.commit()

`send` splits the rows by partition (the key's murmur2 as the Java clients do; rows without a key stay together and go
to one partition after another), builds record batches, and puts each in its partition's queue; queues that send at the
same time share a request (`sender`). It waits while more than `buffer_bytes` are on their way. An error that no retry
can cure is raised by the next call.

A transaction may be left open for someone else to end: `detach` gives what is needed for that,
`client.transaction_requests` ends it. Only the protocol that all brokers from 0.11 on know is used for transactions, so
that an ended transaction keeps its producer epoch and a repeated end is recognised as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelog.client import config as keys
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer.column_sender import Sender
from tidelog.client.producer.partition_queue import PartitionQueue, ProducerBatch
from tidelog.client.producer.transaction_manager import OpenTransaction, TransactionManager
from tidelog.client.topics import ensure_writable
from tidelog.client.transaction_requests import add_partitions, end_transaction, init_producer_id
from tidelog.common.errors import UsageError
from tidelog.common.types import NO_PRODUCER_ID, NO_SEQUENCE, TopicPartition
from tidelog.net.large_buffers import LargeBuffers
from tidelog.net.pauses import breathe
from tidelog.records.codec.compression import Codec
from tidelog.records.format.layout import RECORD_BATCH_OVERHEAD, RECORDS_COUNT_OFFSET

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.records.arrow import ArrowRows

#: Batches from this size on are built in memory that is kept: Arrow's allocator gives its own back to the system while
#: they are on their way, and takes it anew, page fault by page fault.
_WORTH_KEEPING = 256 << 10


class ArrowProducer:
    """Writes Arrow columns to topics. Use from one task."""

    def __init__(
        self,
        cluster: ClusterClient,
        *,
        transactional_id: str | None = None,
        buffer_bytes: int = 32 << 20,
        idempotent: bool | None = None,
        transaction_timeout_ms: int | None = None,
        acks: int | None = None,
        codec: Codec | None = None,
    ) -> None:
        """The last four go before the client's `enable.idempotence`, `transaction.timeout.ms`, `acks` and
        `compression.type`."""
        config = cluster.config
        self.transactions = TransactionManager(transactional_id)
        self._cluster = cluster
        self._buffer_bytes = buffer_bytes
        self._codec = Codec.from_name(config[keys.COMPRESSION_TYPE]) if codec is None else codec
        self._batch_bytes = min(config[keys.BATCH_SIZE], config[keys.MAX_REQUEST_SIZE])
        wanted = config[keys.ENABLE_IDEMPOTENCE] if idempotent is None else idempotent
        self._idempotent = wanted or transactional_id is not None
        self._window = min(config[keys.MAX_IN_FLIGHT], 5)
        self._delivery_timeout = config[keys.DELIVERY_TIMEOUT_MS] / 1000
        self._transaction_timeout_ms = transaction_timeout_ms or config[keys.TRANSACTION_TIMEOUT_MS]
        self._buffers = LargeBuffers(kept=8 + 2 * buffer_bytes // self._batch_bytes)  # a `send` may go beyond the limit
        acks = int(config[keys.ACKS].replace("all", "-1")) if acks is None else acks
        self._sender = Sender(
            cluster,
            transactional_id=transactional_id,
            acks=-1 if self._idempotent else acks,
            timeout_ms=config[keys.REQUEST_TIMEOUT_MS],
            max_bytes=config[keys.MAX_REQUEST_SIZE],
        )
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._sticky: dict[str, int] = {}

    # --- life and transactions ----------------------------------------------------------------------------------------

    async def init(self) -> None:
        """Get a producer id; fences an older producer of the same transactional id and aborts what it left open."""
        if not self._idempotent:
            self.transactions.initialized(NO_PRODUCER_ID, -1)
            return
        timeout = self._transaction_timeout_ms
        self.transactions.initialized(
            *await init_producer_id(self._cluster, self.transactions.transactional_id, timeout)
        )

    def begin(self) -> None:
        """Begin a transaction. No broker hears of it: the coordinator does with the first partition that is
        written to.
        """
        self.transactions.begin()

    async def commit(self) -> None:
        """Flush, then let the coordinator commit. When it has answered, the decision is durable; the markers, which
        show the records to readers, follow within moments.
        """
        await self.flush()
        await self._end(committed=True)

    async def abort(self) -> None:
        """Abort what the transaction has written; what was not sent yet is dropped.

        What is under way is waited for: a record that reaches its leader after the abort would open a transaction anew.
        """
        dropped = sum(queue.discard() for queue in self._queues.values())
        for queue in self._queues.values():
            await queue.flushed()
        lost = dropped or self.transactions.failure is not None
        await self._end(committed=False)
        if lost:  # their sequence numbers are gone: begin anew with a higher epoch
            self._queues.clear()
            await self.init()

    async def detach(self) -> OpenTransaction:
        """Flush, and leave the open transaction to whoever gets the result."""
        await self.flush()
        return self.transactions.detach()

    async def close(self) -> None:
        """Drop what was not sent yet. The cluster client stays open."""
        for queue in self._queues.values():
            await queue.cancel()

    async def _end(self, *, committed: bool) -> None:
        """Ask the coordinator to end the transaction. One that wrote nothing was never told to it, and ends here."""
        if self.transactions.partitions:
            await end_transaction(self._cluster, self.transactions.transaction, committed=committed)
        self.transactions.ended(committed=committed)

    # --- records ------------------------------------------------------------------------------------------------------

    async def send(
        self,
        topic: str,
        *,
        value: pa.Array,
        key: pa.Array | None = None,
        headers: pa.Array | None = None,
        timestamp: pa.Array | None = None,
        partition: pa.Array | None = None,
    ) -> None:
        """Queue all rows. `partition` places a row where it says; nulls in it are placed by key."""
        from tidelog.records.arrow import ArrowRows, rows_by_partition

        self.transactions.check_may_send()
        if not len(value):
            return
        await ensure_writable(self._cluster, topic)
        partitions = self._partitions_of(topic, len(value), key, partition)
        placed = rows_by_partition(partitions, len(self._cluster.metadata.partitions(topic)))
        await self._add_to_transaction([TopicPartition(topic, number) for number, _ in placed])
        clock = self._cluster.clock
        rows = ArrowRows(key, value, timestamp, headers, default_timestamp=clock.time_ms())
        deadline = clock.monotonic() + self._delivery_timeout
        for number, order in placed:
            self._queue(TopicPartition(topic, number), rows, order, deadline)
        await breathe()
        await self._make_room()

    def _queue(self, tp: TopicPartition, rows: ArrowRows, order: pa.UInt64Array | None, deadline: float) -> None:
        """Encode the partition's rows, and put the batches in its queue."""
        for data in rows.batches(
            order,
            codec=self._codec,
            max_batch_bytes=self._batch_bytes,
            producer_id=self.transactions.producer_id,
            producer_epoch=self.transactions.epoch,
            base_sequence=self.transactions.next_sequence(tp) if self._idempotent else NO_SEQUENCE,
            transactional=self.transactions.transactional_id is not None,
            allocate=self._allocate,
        ):
            count = int.from_bytes(data[RECORDS_COUNT_OFFSET:RECORD_BATCH_OVERHEAD], "big")
            self.transactions.advance(tp, count)
            self._queue_of(tp).add(ProducerBatch(data, count, deadline))

    def _allocate(self, size: int) -> Any:
        import pyarrow as pa

        return self._buffers.take(size) if size >= _WORTH_KEEPING else pa.allocate_buffer(size)

    async def flush(self) -> None:
        """Wait until all that was sent is acknowledged."""
        for queue in list(self._queues.values()):
            await queue.flushed()
        self.transactions.check_may_send()

    def written(self) -> dict[TopicPartition, int]:
        """How many records of each partition are acknowledged."""
        return {tp: queue.records_written for tp, queue in self._queues.items()}

    # --- within -------------------------------------------------------------------------------------------------------

    def _partitions_of(self, topic: str, rows: int, key: pa.Array | None, partition: pa.Array | None) -> pa.Array:
        """The partition of every row: as the caller says, else by the key's hash, else the sticky one, which changes
        with every call (KIP-480: rows without a key fill one batch instead of a little of each).
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        from tidelog.records.arrow import partition_keys

        count = len(self._cluster.metadata.partitions(topic))
        if partition is not None:
            partition = partition.cast(pa.int32())
            bad = pc.or_kleene(pc.less(partition, 0), pc.greater_equal(partition, count))
            if pc.any(bad).as_py():
                raise UsageError(f"a row names a partition that {topic} does not have: it has 0 to {count - 1}")
            if partition.null_count == 0:
                return partition
        sticky = self._sticky[topic] = (self._sticky.get(topic, self._cluster.rng.randrange(count)) + 1) % count
        if key is None or key.null_count == rows:
            placed = pa.repeat(pa.scalar(sticky, pa.int32()), rows)
        else:
            placed = partition_keys(key, count)
            if key.null_count:
                placed = pc.if_else(key.is_valid(), placed, pa.scalar(sticky, pa.int32()))
        return placed if partition is None else pc.coalesce(partition, placed)

    async def _add_to_transaction(self, partitions: list[TopicPartition]) -> None:
        """Tell the coordinator of partitions that are new to the transaction, before a record goes there: only
        partitions that it knows of get a marker, and a transaction open without one would hold back their readers.
        """
        mine = self.transactions
        new = [tp for tp in partitions if tp not in mine.partitions]
        if mine.transactional_id is None or not new:
            return
        await add_partitions(self._cluster, mine.transaction, new)
        mine.partitions.update(new)

    def _queue_of(self, tp: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(tp)
        if queue is None:
            queue = self._queues[tp] = PartitionQueue(
                tp,
                self._sender.write,
                window=self._window,
                clock=self._cluster.clock,
                wait_before_retry=self._cluster.wait_before_retry,
                failed=self.transactions.fail,
            )
        return queue

    async def _make_room(self) -> None:
        """Wait until few enough bytes are queued."""
        while sum(queue.queued_bytes for queue in self._queues.values()) > self._buffer_bytes:
            fullest = max(self._queues.values(), key=lambda queue: queue.queued_bytes)
            await fullest.flushed()
            self.transactions.check_may_send()
