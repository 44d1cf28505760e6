"""The durable record of which transactions make up a batch: one compacted topic on the target cluster.

Two kinds of records lie in it, all of a query's in one partition:

    key = query's id             value = decision: batch B is these transactions, and they are to be committed
    key = a transactional id     value = claim: a task is about to open this transaction (gone once it has ended)

The first decision about a batch is the only one. That holds because it is made by a transaction of its own whose
transactional id belongs to the query: whoever wants to decide first takes that id over (which fences and aborts anybody
else who was about to decide), then reads all decisions, then writes. Claims are how the driver knows of transactions
that nobody told it about (failed attempts, dead drivers): to list them at the brokers costs these more with every id of
the last seven days.

A query's partition does not depend on how many there are: it is chosen among the first 16. A topic that never had or no
longer has 16 partitions is read whole, for records may lie where another count has put them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable

from tidelog.client import config as keys
from tidelog.client.cluster_client import ClusterClient
from tidelog.client.producer.arrow_producer import ArrowProducer
from tidelog.client.producer.transactions import OpenTransaction
from tidelog.client.topics import create_topic
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.hashing import partition_for_key
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.spark.decision_reader import Entries, read_entries
from tidelog.spark.transaction_names import TransactionName

PARTITIONS = 16
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),  # the smallest that Kafka 4 allows: what is read for each decision stays small
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "3600000",
}
_FORMAT = 1
_CLAIM_FORMAT = 2  # readers that know no claims take one for a decision of another version, and say so
_FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
#: A decision is three requests. One that takes longer than this, or than this part of what a batch's transactions live,
#: is given up; its own transaction lives no longer either, so that the brokers refuse an end of it that comes late.
_LONGEST_DECISION_MS = 20_000
_PART_OF_A_LIFE = 6
#: What a decision, the coordinator's rounds (10 s) and the commits after it may need.
DECISIONS_IN_RESERVE = 3


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


class Claim(NamedTuple):
    """A task said at `time_ms` that it would open this transaction."""

    transactional_id: str
    time_ms: int


class Standing(NamedTuple):
    """What the log says of one query."""

    decision: Decision | None = None
    claims: tuple[Claim, ...] = ()


class DecisionLog:
    """The decisions of one query (or of one batch job). Open it to decide: from then on nobody older can."""

    def __init__(self, cluster: ClusterClient, topic: str, query: str) -> None:
        self._cluster, self._topic, self._query = cluster, topic, query
        self._limit_ms = decision_limit_ms(cluster.config[keys.TRANSACTION_TIMEOUT_MS])
        self._producer = ArrowProducer(
            cluster, transactional_id=f"{topic}/{query}", transaction_timeout_ms=self._limit_ms
        )
        self._found: dict[TopicPartition, Entries] = {}
        #: What the newest reading has shown.
        self.claims: tuple[Claim, ...] = ()

    async def open(self) -> Decision | None:
        """Fence whoever else might decide about this query, and read its newest decision."""
        await _ensure_topic(self._cluster, self._topic)
        await self._producer.init()
        return await self.read()

    async def read(self) -> Decision | None:
        """The newest decision; `claims` is set too."""
        self._found = await read_entries(self._cluster, _places(self._cluster, self._topic, self._query))
        standing = standings(self._found).get(self._query, Standing())
        self.claims = standing.claims
        return standing.decision

    async def decide(self, decision: Decision) -> None:
        """Write the decision and drop the claims of its transactions; when this returns, it is durable.

        Raises if somebody newer has opened the log, and if it takes longer than a decision may: then either nothing was
        decided, or (when the answer to its last request is what is missing) whoever opens the log next sees whether.
        """
        rows = {self._query: decision.encode()}
        claimed = {claim.transactional_id for claim in self.claims}
        mine = [one.transactional_id for one in decision.transactions if one.transactional_id in claimed]
        await self._write(rows, mine)

    async def settle(self, transactional_ids: Iterable[str]) -> None:
        """Drop the claims of transactions that have ended."""
        await self._write_unless_fenced(transactional_ids)

    async def forget(self) -> None:
        """Remove the query's decision: all of its transactions have ended, and it will not come back."""
        await self._write_unless_fenced([self._query])

    async def _write_unless_fenced(self, removed: Iterable[str]) -> None:
        """If somebody newer has opened the log, this is theirs to do."""
        try:
            await self._write({}, removed)
        except KafkaError as error:
            if error.code not in _FENCED:
                raise

    async def _write(self, rows: dict[str, bytes], removed: Iterable[str]) -> None:
        import pyarrow as pa

        home = home_of(self._query, self._count())
        placed: list[tuple[int, bytes, bytes | None]] = [(home, key.encode(), value) for key, value in rows.items()]
        for key in removed:
            places = {tp.partition for tp, entries in self._found.items() if key.encode() in entries} | {home}
            placed += [(number, key.encode(), None) for number in sorted(places)]
        self._producer.begin()
        clock = self._cluster.clock
        deadline = clock.monotonic() + self._limit_ms / 1000
        try:
            async with asyncio.timeout(self._limit_ms / 1000):
                await self._producer.send(
                    self._topic,
                    partition=pa.array([number for number, _, _ in placed], pa.int32()),
                    key=pa.array([key for _, key, _ in placed], pa.binary()),
                    value=pa.array([value for _, _, value in placed], pa.binary()),
                )
                await self._producer.flush()
                if clock.monotonic() >= deadline:
                    raise TimeoutError
                await self._producer.commit()
        except TimeoutError as error:
            raise KafkaError(
                ErrorCode.REQUEST_TIMED_OUT,
                f"writing to {self._topic} took longer than {self._limit_ms} ms: whether {self._query} was decided is "
                "found out when the batch is tried again",
            ) from error

    def _count(self) -> int:
        return len(self._cluster.metadata.partitions(self._topic))


def decision_limit_ms(transaction_timeout_ms: int) -> int:
    """How long a decision about transactions of that time-out may take."""
    return max(min(_LONGEST_DECISION_MS, transaction_timeout_ms // _PART_OF_A_LIFE), 1)


def home_of(query: str, partitions: int) -> int:
    """The partition that a query's records are written to."""
    return partition_for_key(query.encode(), min(partitions, PARTITIONS))


def _places(cluster: ClusterClient, topic: str, query: str) -> list[TopicPartition]:
    """Where a query's records may lie."""
    numbers = cluster.metadata.partitions(topic)
    if len(numbers) == PARTITIONS:
        numbers = [home_of(query, PARTITIONS)]
    return [TopicPartition(topic, number) for number in numbers]


async def _ensure_topic(cluster: ClusterClient, topic: str) -> None:
    await cluster.ensure_topics([topic])
    if topic not in cluster.metadata.topics:
        await create_topic(cluster, topic, PARTITIONS, config=CONFIG, exists_ok=True)


async def claim(cluster: ClusterClient, topic: str, transactional_id: str) -> None:
    """Say that this transaction is about to be opened, so that the query's driver knows of it whatever happens."""
    import pyarrow as pa

    name = TransactionName.parse(transactional_id)
    assert name is not None, "the sink names its transactions"
    await _ensure_topic(cluster, topic)
    home = home_of(name.query, len(cluster.metadata.partitions(topic)))
    value = json.dumps({"version": _CLAIM_FORMAT, "claimed": cluster.clock.time_ms()}).encode()
    producer = ArrowProducer(cluster, idempotent=False)  # a claim that is written twice is one claim
    await producer.init()
    try:
        await producer.send(
            topic,
            partition=pa.array([home], pa.int32()),
            key=pa.array([transactional_id.encode()], pa.binary()),
            value=pa.array([value], pa.binary()),
        )
        await producer.flush()
    finally:
        await producer.close()


async def all_standings(cluster: ClusterClient, topic: str) -> dict[str, Standing]:
    """What the topic says of every query and job in it."""
    await cluster.ensure_topics([topic])
    if topic not in cluster.metadata.topics:
        return {}
    places = [TopicPartition(topic, number) for number in cluster.metadata.partitions(topic)]
    return standings(await read_entries(cluster, places))


def standings(found: dict[TopicPartition, Entries]) -> dict[str, Standing]:
    """By query. Where several partitions hold a decision (the topic has grown), that of the latest batch counts."""
    decisions: dict[str, Decision] = {}
    claims: dict[str, dict[str, Claim]] = {}
    for entries in found.values():
        for key, value in entries.items():
            if value is None:
                continue
            name = TransactionName.parse(key.decode())
            if name is not None:
                one = Claim(key.decode(), json.loads(value).get("claimed", 0))
                claims.setdefault(name.query, {})[one.transactional_id] = one
                continue
            decision = Decision.decode(key.decode(), value)
            known = decisions.get(decision.query)
            if known is None or known.batch < decision.batch:
                decisions[decision.query] = decision
    queries = decisions.keys() | claims.keys()
    return {query: Standing(decisions.get(query), tuple(claims.get(query, {}).values())) for query in queries}
