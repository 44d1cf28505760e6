"""`df.write` and `df.writeStream` with `format("tidelog")`: rows to topics, exactly once or at least once.

Columns: `value` (string or binary) is needed; `key`, `headers`, `partition` and `topic` are optional, as in Spark's own
Kafka sink; the option `topic` goes before the column. `write` runs in the tasks, `commit` and `abort` in the driver,
each on an instance of its own; what they share travels in the tasks' messages. See `commit_protocol` for exactly once.

Why transactions are left open by the tasks: a task's rows must not be visible before all tasks of the batch have
succeeded, and no task knows about the others. Kafka lets anybody end a transaction who knows its id, producer id and
epoch, so that the driver does, after it has written down durably which ones make up the batch.

at_least_once writes at once and without transactions: a task that is tried again writes its rows again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from tidelog.client.blocking import BackgroundClient, BlockingClient
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer.aio import Producer
from tidelog.client.producer.columns import ColumnsFuture
from tidelog.client.producer.transaction_manager import OpenTransaction
from tidelog.client.topics import ensure_writable
from tidelog.common.errors import KafkaError
from tidelog.common.rng import system_rng
from tidelog.common.uuids import random_uuid, uuid_to_text
from tidelog.spark.checkpoint import query_of_checkpoint
from tidelog.spark.commit_protocol import CommitProtocol, recover_jobs
from tidelog.spark.decisions import claim, transactional_producer
from tidelog.spark.options import EXACTLY_ONCE, SinkOptions
from tidelog.spark.rows import RowColumns
from tidelog.spark.transaction_names import JOB, TransactionName
from tidelog.spark.worker import prepare_worker

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_log = logging.getLogger(__name__)
#: The brokers' default for the longest that they allow (transaction.max.timeout.ms).
_TRANSACTION_TIMEOUT_MS = 900_000
#: Batches of several partitions in one request. Brokers take requests of up to 100 MB (socket.request.max.bytes).
_REQUEST_BYTES = 4 << 20
#: Enough to keep a broker busy; each task touches this memory anew.
_BUFFER_BYTES = 8 << 20
#: How long a full buffer may hold a task up: as long as a batch has to be delivered.
_MAX_BLOCK_MS = 120_000


@dataclass
class TaskCommitMessage(WriterCommitMessage):
    """What a task tells the driver. No transaction: it had no rows, or they are already visible.

    It is pickled by the task and unpickled by the driver's `commit`, in another process.
    """

    query: str
    rows: int
    transaction: OpenTransaction | None = None


@dataclass
class _TaskRows:
    """A task's producer, and what of its rows is not acknowledged yet."""

    cluster: ClusterClient
    producer: Producer
    _topics: set[str] = field(default_factory=set)
    _under_way: deque[ColumnsFuture] = field(default_factory=deque)

    async def send(self, topic: str, columns: dict[str, Any]) -> None:
        """Queue rows; raises what has become of earlier ones. A topic that nobody makes is told at once."""
        import pyarrow as pa

        if topic not in self._topics:
            await ensure_writable(self.cluster, topic)
            self._topics.add(topic)
        rows = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        self._under_way.append(await self.producer.send_arrow(topic, rows))
        while self._under_way and self._under_way[0].done():
            await self._under_way.popleft()

    async def flush(self) -> None:
        """Wait until all rows are acknowledged; raises if one is lost."""
        await self.producer.flush()
        while self._under_way:
            await self._under_way.popleft()

    async def detach(self) -> OpenTransaction:
        """Flush, and leave the transaction to the driver."""
        await self.flush()
        return await self.producer.detach_transaction()

    async def close(self) -> None:
        """Drop what was not sent: after `flush` there is nothing, and after an error nobody wants it."""
        with suppress(KafkaError):
            await self.producer.close(timeout=0)


class _Writer:
    """What batch and stream share."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options = options
        self._columns = RowColumns.of(options, schema)

    def step(self, name: str) -> None:
        """A named point of the protocol: tests fail here."""

    def _settings(self) -> dict[str, str]:
        """Defaults of ours, then the user's; decisions are always read committed."""
        usual = {
            "transaction.timeout.ms": str(_TRANSACTION_TIMEOUT_MS),
            "max.request.size": str(_REQUEST_BYTES),
            "buffer.memory": str(_BUFFER_BYTES),
            "max.block.ms": str(_MAX_BLOCK_MS),
        }
        return {**usual, **self._options.kafka, "isolation.level": "read_committed"}

    def _write_rows(self, batches: Iterator[pa.RecordBatch], query: str, batch_id: int) -> TaskCommitMessage:
        """What a task does. The transaction's name holds query, batch, partition and this attempt, so that attempts
        never share one: a late attempt would otherwise fence the one whose rows count."""
        from pyspark import TaskContext

        prepare_worker()
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        name = None
        if self._options.delivery == EXACTLY_ONCE:
            attempt = f"{context.taskAttemptId() if context else 0}-{uuid_to_text(random_uuid(system_rng()))}"
            name = str(TransactionName(query, batch_id, partition, attempt))
        with BackgroundClient(self._settings()) as client:
            rows = (batch for batch in batches if batch.num_rows)
            first = next(rows, None)
            if first is None:
                return TaskCommitMessage(query, 0)
            sent = self._open(client, name)
            try:
                count = self._send_all(client, sent, first, rows)
                if name is None:
                    client.run(sent.flush())
                    return TaskCommitMessage(query, count)
                transaction = client.run(sent.detach())
                self.step("detached")
                return TaskCommitMessage(query, count, transaction)
            finally:
                client.run(sent.close())

    def _send_all(
        self, client: BackgroundClient, sent: _TaskRows, newest: pa.RecordBatch, batches: Iterator[pa.RecordBatch]
    ) -> int:
        """Give all rows to the producer; their number."""
        rows: int = newest.num_rows
        sending: Future[None] | None = None
        for batch in batches:  # one is sent while Spark brings the next
            if sending is not None:
                sending.result()
            sending = client.start(self._send(sent, newest))
            newest, rows = batch, rows + batch.num_rows
        if sending is not None:
            sending.result()
        client.run(self._send(sent, newest))
        return rows

    async def _send(self, sent: _TaskRows, batch: pa.RecordBatch) -> None:
        """Hand one Arrow batch to the producer, topic by topic."""
        for topic, columns in self._columns.by_topic(batch):
            await sent.send(topic, columns)
        self.step("wrote")

    def _open(self, client: BlockingClient, name: str | None) -> _TaskRows:
        """A producer that may write: with a transaction of its own, or as the user's settings say."""
        if name is None:
            producer = Producer.over(client.cluster)
        else:
            producer = transactional_producer(client.cluster, name)
            client.run(self._begin(client.cluster, producer, name))
        self.step("opened a transaction")
        return _TaskRows(client.cluster, producer)

    async def _begin(self, cluster: ClusterClient, producer: Producer, name: str) -> None:
        """Nothing is written before the claim: what a task may leave open can be found."""
        await asyncio.gather(producer.init_transactions(), claim(cluster, self._options.decisions_topic, name))
        producer.begin_transaction()

    def _protocol(self, client: BlockingClient, query: str, batch_id: int, *, may_skip: bool = False) -> CommitProtocol:
        topic = self._options.decisions_topic
        return CommitProtocol(client, topic, query, batch_id, self.step, may_skip=may_skip)


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Micro-batches. A batch that is replayed, in whatever shape, is written once."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "Spark writes in tasks"
        query = self._options.query_id or context.getLocalProperty("sql.streaming.queryId")
        batch_id = context.getLocalProperty("streaming.sql.batchId")
        assert query is not None, "Spark names the query"
        assert batch_id is not None, "Spark numbers the batches"
        return self._write_rows(iterator, query, int(batch_id))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        prepare_worker()
        written = [message for message in messages if isinstance(message, TaskCommitMessage)]
        if self._options.delivery != EXACTLY_ONCE or not written:
            return
        with BlockingClient(self._settings()) as client:
            protocol = self._protocol(client, written[0].query, batchId)
            protocol.commit(message.transaction for message in written if message.transaction is not None)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """When every task has failed, no message names the query: then its checkpoint does."""
        if self._options.delivery != EXACTLY_ONCE:
            return
        named = next((message.query for message in messages if isinstance(message, TaskCommitMessage)), None)
        query = named or self._options.query_id or query_of_checkpoint(self._options.checkpoint)
        if query is None:
            _log.warning("batch %d failed before a task could name its query: the next batch aborts its rest", batchId)
            return
        with BlockingClient(self._settings()) as client:
            self._protocol(client, query, batchId).abort()


class BatchSinkWriter(_Writer, DataSourceArrowWriter):
    """One job: all of its rows become visible, or none.

    With the options queryId and batchId it is the write of that name (for `foreachBatch`): what was written under it
    before is not written again.
    """

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._named = options.batch_id is not None
        name = options.query_id if self._named else None
        self._job = name or JOB + uuid_to_text(random_uuid(system_rng()))
        self._batch = options.batch_id or 0
        with BlockingClient(self._settings()) as client:
            if options.topic is not None:
                client.run(ensure_writable(client.cluster, options.topic))
            if options.delivery == EXACTLY_ONCE and not self._named:
                client.run(recover_jobs(client.cluster, options.decisions_topic, self.step))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._write_rows(iterator, self._job, self._batch)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        prepare_worker()
        written = [message for message in messages if isinstance(message, TaskCommitMessage)]
        transactions = [message.transaction for message in written if message.transaction is not None]
        if self._options.delivery != EXACTLY_ONCE or not (transactions or self._named):
            return
        with BlockingClient(self._settings()) as client:
            protocol = self._protocol(client, self._job, self._batch, may_skip=self._named)
            protocol.commit(transactions)
            if not self._named:
                protocol.forget()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._options.delivery == EXACTLY_ONCE:
            with BlockingClient(self._settings()) as client:
                self._protocol(client, self._job, self._batch).abort()
