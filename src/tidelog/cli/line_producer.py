"""The producer behind `tidelog produce`: batches per partition, in order, each written once.

Not the client library's producer (`tidelog.client`), which is built for throughput and callbacks; this one only has to
keep up with a pipe, without pyarrow, and say at once what went wrong.

A batch is closed when it is large or 20 ms old. So a person who types sees each line arrive at once, and a pipe of
millions of lines fills its batches. When more than 32 MB wait to be sent, reading stops: the pipe fills, and whoever
writes into it waits, which is how a pipe tells that somebody is slow.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tidelog.cli.connection import no_partition
from tidelog.cli.record_text import NewRecord
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer.partition_queue import PartitionQueue, ProducerBatch
from tidelog.client.topics import ensure_writable
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.hashing import partition_for_key
from tidelog.common.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, TopicPartition
from tidelog.protocol.messages import InitProducerIdRequest, ProduceRequest
from tidelog.records.format.attributes import Codec
from tidelog.records.format.builder import BatchBuilder

BATCH_BYTES = 256 * 1024
LINGER_SECONDS = 0.02
#: Bytes that may wait to be sent before reading stops.
MAX_QUEUED = 32 << 20
#: From the next version on Produce names topics by id.
LAST_VERSION_WITH_NAMES = 12
WINDOW = 5
#: Answers of clusters that give nobody a producer id, or not to us: they are written to all the same.
NO_IDEMPOTENCE = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
DELIVERY_SECONDS = 120.0


class LineProducer:
    """One topic, one run. `start`, `add` for every line, `finish`; an error of any batch is raised by the next call,
    after which nothing more is sent.
    """

    def __init__(self, cluster: ClusterClient, topic: str, *, compression: str, acks: int) -> None:
        self._cluster = cluster
        self._topic = topic
        self._codec = Codec.from_name(compression)
        self._acks = acks
        self._partitions = 0
        self._sticky = 0
        self._producer_id, self._producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        self._sequences: dict[int, int] = {}
        self._open: dict[int, tuple[BatchBuilder, int]] = {}
        self._queues: dict[int, PartitionQueue] = {}
        self._error: KafkaError | None = None
        self._linger: asyncio.TimerHandle | None = None

    @property
    def written(self) -> int:
        """Records that are acknowledged: what is told to the person, also after a failure."""
        return sum(queue.records_written for queue in self._queues.values())

    @property
    def idempotent(self) -> bool:
        """Whether a retry never doubles a batch."""
        return self._producer_id != NO_PRODUCER_ID

    @property
    def window(self) -> int:
        """How many batches of a partition may be under way: without idempotence, only one keeps the order."""
        return WINDOW if self.idempotent else 1

    async def start(self) -> None:
        """Find the topic (or have it made), and get a producer id where the cluster gives one. Without it the order is
        still kept, by one batch under way at a time, but a retry may write a batch twice.
        """
        await ensure_writable(self._cluster, self._topic)
        self._partitions = len(self._cluster.metadata.partitions(self._topic))
        self._sticky = self._cluster.rng.randrange(self._partitions)
        if self._acks == -1:
            try:
                await self._cluster.retry(self._take_producer_id)
            except KafkaError as error:
                if error.code not in NO_IDEMPOTENCE:
                    raise

    async def _take_producer_id(self) -> None:
        """Any broker gives ids for producers without a transactional id."""
        response = await (await self._cluster.any_node()).send(InitProducerIdRequest(transactional_id=None))
        if response.error_code:
            raise KafkaError(response.error_code)
        self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch

    async def add(self, record: NewRecord) -> None:
        """Put the record into its partition's open batch; sends that if it is full."""
        partition = self._place(record)
        builder, count = self._open.get(partition) or (self._new_batch(partition), 0)
        timestamp = self._cluster.clock.time_ms() if record.timestamp is None else record.timestamp
        builder.append(timestamp, record.key, record.value, record.headers)
        self._open[partition] = (builder, count + 1)
        if builder.size_estimate >= BATCH_BYTES:
            self._send(partition)
            await self._make_room()
        elif self._linger is None:
            self._linger = asyncio.get_running_loop().call_later(LINGER_SECONDS, self._send_all)
        self._check()

    async def finish(self) -> None:
        """Send what is open and wait for all answers."""
        self._send_all()
        await asyncio.gather(*(queue.flushed() for queue in self._queues.values()))
        self._check()

    def _place(self, record: NewRecord) -> int:
        """As the line says; else by the key's hash, as every Kafka client does it; else the sticky partition."""
        if record.partition is not None:
            if not 0 <= record.partition < self._partitions:
                raise no_partition(self._topic, self._partitions, record.partition)
            return record.partition
        return self._sticky if record.key is None else partition_for_key(record.key, self._partitions)

    def _new_batch(self, partition: int) -> BatchBuilder:
        """Sequence numbers go in when a batch is begun: batches of one partition are sent in the order of their
        making.
        """
        if not self.idempotent:
            return BatchBuilder(codec=self._codec)
        return BatchBuilder(
            codec=self._codec,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=self._sequences.get(partition, NO_SEQUENCE + 1),
        )

    def _send_all(self) -> None:
        """The input pauses: send every open batch, and let lines without a key go elsewhere from now on."""
        self._linger = None
        for partition in list(self._open):
            self._send(partition)
        self._sticky = self._cluster.rng.randrange(self._partitions) if self._partitions else 0

    def _send(self, partition: int) -> None:
        """Hand the batch to its partition's queue, which sees to order and retries."""
        builder, count = self._open.pop(partition)
        self._sequences[partition] = (self._sequences.get(partition, 0) + count) & 0x7FFFFFFF
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = PartitionQueue(
                TopicPartition(self._topic, partition),
                self._write,
                window=self.window,
                clock=self._cluster.clock,
                wait_before_retry=self._cluster.wait_before_retry,
                failed=self._failed,
            )
        deadline = self._cluster.clock.monotonic() + DELIVERY_SECONDS
        queue.add(ProducerBatch(memoryview(builder.build()), count, deadline))

    async def _make_room(self) -> None:
        """Hold the reader up while too many bytes wait, on the partition that is furthest behind."""
        while sum(queue.queued_bytes for queue in self._queues.values()) > MAX_QUEUED and self._error is None:
            await max(self._queues.values(), key=lambda queue: queue.queued_bytes).flushed()

    def _failed(self, error: KafkaError) -> None:
        self._error = self._error or error

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    async def _write(self, tp: TopicPartition, data: memoryview) -> int:
        """One exchange, for the queue. What may mean that another broker leads makes the metadata stale before the
        retry.
        """
        try:
            return await self._exchange(tp, data)
        except KafkaError as error:
            if error.code.refresh_metadata or error.code is ErrorCode.REQUEST_TIMED_OUT:  # perhaps another leads now
                self._cluster.metadata.mark_stale([tp.topic])
            raise

    async def _exchange(self, tp: TopicPartition, data: memoryview) -> int:
        leader = await self._cluster.leader(tp)
        node = await self._cluster.node(leader.id)
        part = ProduceRequest.PartitionProduceData(index=tp.partition, records=data)
        request = ProduceRequest(
            acks=self._acks,
            timeout_ms=30_000,
            topic_data=[ProduceRequest.TopicProduceData(name=tp.topic, partition_data=[part])],
        )
        response: Any = await node.send(request, highest=LAST_VERSION_WITH_NAMES, answered=self._acks != 0)
        if response is None:
            return -1
        entry = response.responses[0].partition_responses[0]
        if entry.error_code:
            code = ErrorCode(entry.error_code)
            raise KafkaError(code, entry.error_message or f"{tp}: {code.text}")
        return int(entry.base_offset)
