"""The lines of `tidelog produce` on their way: the client's own producer, with settings for a pipe.

A batch leaves when it is large or 20 ms old. So a person who types sees each line arrive at once, and a pipe of
millions of lines fills its batches. When more than 32 MB wait to be sent, reading stops: the pipe fills, and whoever
writes into it waits, which is how a pipe tells that somebody is slow.

What is asked for beyond a producer's usual ways: the first record that is lost ends everything, so that no line is
written behind one that is missing, and a cluster that gives nobody a producer id is written to all the same.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tidelog.cli.connection import no_partition
from tidelog.cli.record_text import NewRecord
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import ClientConfig
from tidelog.client.producer.aio import Producer
from tidelog.client.producer.record import RecordMetadata
from tidelog.client.topics import ensure_writable
from tidelog.client.transaction_requests import init_producer_id
from tidelog.common.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from tidelog.client.config.typed import ProducerKeywords

#: What holds unless the properties file says otherwise. A record may be as large as the topic lets it be: the broker
#: knows, and says so.
USUAL: ProducerKeywords = {
    "batch_size": 256 * 1024,
    "linger_ms": 20,
    "buffer_memory": 32 << 20,
    "max_request_size": 32 << 20,
    "max_block_ms": 120_000,
}
#: Settings of a file for Java's programs that are not about lines: these are bytes, and not in transactions.
NOT_FOR_LINES = ("transactional.id", "key.serializer", "value.serializer", "interceptor.classes", "partitioner.class")
#: Answers of clusters that give nobody a producer id, or not to us: they are written to all the same.
NO_IDEMPOTENCE = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


class LineProducer:
    """One topic, one run. `start`, `add` for every line, `finish`, `close`; the error of any record is raised by the
    next call, after which nothing more is sent.
    """

    def __init__(self, cluster: ClusterClient, topic: str, *, compression: str, acks: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._compression = compression
        self._acks = acks
        self._partitions = 0
        self._producer: Producer | None = None
        self._error: Exception | None = None
        self._failed = asyncio.Event()
        #: Records that are acknowledged: what is told to the person, also after a failure.
        self.written = 0
        #: Whether a retry never doubles a batch.
        self.idempotent = False

    async def start(self) -> None:
        """Find the topic (or have it made), and see whether the cluster gives producer ids. Without one the order is
        still kept, by one request under way at a time, but a retry may write a batch twice.
        """
        await ensure_writable(self._cluster, self._topic)
        self._partitions = len(self._cluster.metadata.partitions(self._topic))
        self.idempotent = self._acks == "all" and await self._gets_producer_ids()
        self._producer = Producer.over(self._cluster, **self._settings())

    def _settings(self) -> ProducerKeywords:
        config = self._cluster.config
        assert isinstance(config, ClientConfig)
        usual: Any = {name: value for name, value in USUAL.items() if name.replace("_", ".") not in config.originals}
        if not self.idempotent:
            usual["max_in_flight_requests_per_connection"] = 1
        usual |= {"acks": self._acks, "compression_type": self._compression, "enable_idempotence": self.idempotent}
        settings: ProducerKeywords = usual
        return settings

    async def _gets_producer_ids(self) -> bool:
        try:
            await init_producer_id(self._cluster, None, 0)
        except KafkaError as error:
            if error.code not in NO_IDEMPOTENCE:
                raise
            return False
        return True

    async def add(self, record: NewRecord) -> None:
        """Into its batch; waits while too much is under way."""
        assert self._producer is not None
        self._check()
        if record.partition is not None and not 0 <= record.partition < self._partitions:
            raise no_partition(self._topic, self._partitions, record.partition)
        self._producer.send(
            self._topic,
            record.value,
            record.key,
            partition=record.partition,
            # A record of the time before timestamps has -1, which no producer can write: it gets one now.
            timestamp=None if record.timestamp is None or record.timestamp < 0 else record.timestamp,
            headers=list(record.headers),
            on_delivery=self._told,
        )
        await self._producer.drain()

    def _told(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        """The outcome of a record, in the order of its partition."""
        if error is None:
            self.written += 1
        else:
            self._error = self._error or error
            self._failed.set()

    async def finish(self) -> None:
        """Wait until everything is written, or one record is lost."""
        assert self._producer is not None
        flushing = asyncio.ensure_future(self._producer.flush())
        failing = asyncio.ensure_future(self._failed.wait())
        try:
            await asyncio.wait({flushing, failing}, return_when=asyncio.FIRST_COMPLETED)
            self._check()
            await flushing
        finally:
            for task in (flushing, failing):
                task.cancel()
            await asyncio.gather(flushing, failing, return_exceptions=True)

    async def close(self) -> None:
        """Drop what was not sent. (That something was not is no news: `finish` waits for all, or has said why not.)"""
        if self._producer is not None:
            with suppress(KafkaError):
                await self._producer.close(timeout=0)

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
