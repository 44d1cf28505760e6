"""The durable record of which transactions make up a batch: one compacted topic on the target cluster.

A decision says: batch B of query Q is these transactions, and they are to be committed. The first decision about a
batch is the only one. That holds because it is made by a transaction of its own whose transactional id belongs to the
query: whoever wants to decide first takes that id over (which fences and aborts anybody else who was about to decide),
then reads all decisions, then writes. The key of a record is the query, so that compaction keeps the newest batch.
"""

from __future__ import annotations

import asyncio
import json

from tidelog.client.cluster_client import ClusterClient
from tidelog.client.consumer.fetcher import Fetcher, FetchRange
from tidelog.client.offsets import beginning_offsets, end_offsets
from tidelog.client.producer.arrow_producer import ArrowProducer
from tidelog.client.producer.transactions import OpenTransaction
from tidelog.client.topics import create_topic
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.hashing import partition_for_key
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition

PARTITIONS = 16
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),  # the smallest that Kafka 4 allows: what is read for each decision stays small
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "3600000",
}
_FORMAT = 1
_FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
#: How long reading may have to wait for another query that died in the middle of a decision.
_PATIENCE = 70.0


class Decision(NamedTuple):
    """Batch `batch` of `query` consists of these transactions; all of them are to be committed."""

    query: str
    batch: int
    transactions: tuple[OpenTransaction, ...]

    def encode(self) -> bytes:
        listed = [[t.transactional_id, t.producer_id, t.epoch] for t in self.transactions]
        return json.dumps({"version": _FORMAT, "batch": self.batch, "transactions": listed}).encode()

    @classmethod
    def decode(cls, query: str, data: bytes) -> Decision:
        parsed = json.loads(data)
        if parsed["version"] != _FORMAT:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the decision about query {query} was made by another version of Tidelog ({parsed['version']})",
            )
        return cls(query, parsed["batch"], tuple(OpenTransaction(*entry) for entry in parsed["transactions"]))


class DecisionLog:
    """The decisions of one query (or of one batch job). Open it to decide: from then on nobody older can."""

    def __init__(self, cluster: ClusterClient, topic: str, query: str) -> None:
        self._cluster, self._topic, self._query = cluster, topic, query
        self._key = query.encode()
        self._producer = ArrowProducer(cluster, transactional_id=f"{topic}/{query}")

    async def open(self) -> Decision | None:
        """Fence whoever else might decide about this query, and read its newest decision."""
        await self._ensure_topic()
        await self._producer.init()
        return (await read_decisions(self._cluster, [self._place()])).get(self._query)

    async def decide(self, decision: Decision) -> None:
        """Write the decision; when this returns, it is durable. Raises if somebody newer has opened the log."""
        await self._write(decision.encode())

    async def forget(self) -> None:
        """Remove the query's decision: all of its transactions have ended, and it will not come back.

        If somebody newer has opened the log, the decision is carried out once more (which changes nothing) and then
        removed by them.
        """
        try:
            await self._write(None)
        except KafkaError as error:
            if error.code not in _FENCED:
                raise

    async def _write(self, value: bytes | None) -> None:
        import pyarrow as pa

        place = self._place()
        self._producer.begin()
        await self._producer.send(
            self._topic,
            key=pa.array([self._key], pa.binary()),
            value=pa.array([value], pa.binary()),
            partition=pa.array([place.partition], pa.int32()),
        )
        await self._producer.commit()

    def _place(self) -> TopicPartition:
        count = len(self._cluster.metadata.partitions(self._topic))
        return TopicPartition(self._topic, partition_for_key(self._key, count))

    async def _ensure_topic(self) -> None:
        await self._cluster.ensure_topics([self._topic])
        if self._topic not in self._cluster.metadata.topics:
            await create_topic(self._cluster, self._topic, PARTITIONS, config=CONFIG, exists_ok=True)


async def read_decisions(cluster: ClusterClient, partitions: list[TopicPartition]) -> dict[str, Decision]:
    """The newest decision of each query in these partitions, as of now. Needs a cluster client that reads committed.

    "Now" is the high watermark: a decision of another query that is still open holds the reading back until it ends.
    """
    from tidelog.records.arrow import batches_to_arrow

    starts, ends = await asyncio.gather(beginning_offsets(cluster, partitions), end_offsets(cluster, partitions))
    fetcher = Fetcher(cluster, {tp: FetchRange(starts[tp], ends[tp]) for tp in partitions})
    newest: dict[bytes, bytes | None] = {}
    try:
        while not fetcher.done:
            fetched = await fetcher.poll(_PATIENCE)
            if not fetched and not fetcher.done:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{partitions[0].topic} could not be read to its end")
            for piece in fetched:
                rows = batches_to_arrow(piece.records, columns=("key", "value"), aborted=piece.aborted)
                newest.update(zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True))
    finally:
        await fetcher.close()
    return {key.decode(): Decision.decode(key.decode(), value) for key, value in newest.items() if value is not None}
