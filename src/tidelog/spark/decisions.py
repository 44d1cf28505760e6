"""The durable record of which transactions make up a batch: one compacted topic on the target cluster.

Two kinds of records lie in it, all of a query's in one partition:

    key = query's id             value = decision: batch B is these transactions, and they are to be committed
    key = a transactional id     value = claim: a task is about to open this transaction (gone once it has ended)
                                         condemned: whoever had the log open was about to abort it

The first decision about a batch is the only one. That holds because it is made by a transaction of its own whose
transactional id belongs to the query: whoever wants to decide first takes that id over (which fences and aborts anybody
else who was about to decide), then reads all decisions, then writes. Claims are how the driver knows of transactions
that nobody told it about (failed attempts, dead drivers): to list them at the brokers costs these more with every id of
the last seven days.

Only what is claimed and not condemned may be decided, and only what is condemned is aborted: all three are written by
whoever has the log open, so that no driver aborts what another has decided, nor decides what another aborts.

A query's partition does not depend on how many there are: it is chosen among the first 16. A topic of another count is
read whole, and so is one that shows no decision in the query's partition: records may lie where another count has put
them. What others have put into the topic, and nobody here understands, is theirs.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from tidelog.client import config as keys
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config.producer import MAX_IN_FLIGHT_IDEMPOTENT
from tidelog.client.producer.aio import Producer
from tidelog.client.producer.transaction_manager import OpenTransaction
from tidelog.client.topics import create_topic
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.hashing import partition_for_key
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.spark.decision_reader import Entries, read_entries
from tidelog.spark.transaction_names import TransactionName

if TYPE_CHECKING:
    from tidelog.client.config.typed import ProducerKeywords

PARTITIONS = 16
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),  # the smallest that Kafka 4 allows: what is read for each decision stays small
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "3600000",
}
_FORMAT = 1
_CLAIM_FORMAT = 2  # readers that know no claims take one for a decision of another version, and say so
#: The longest that a decision may be before it is packed, to a fraction of it (which is what the topic's limit is
#: about): some 300,000 tasks.
_DECISION_BYTES = 32 << 20
#: Of claims that do not tell: the brokers' default for the longest that they allow.
_LONGEST_LIFE_MS = 900_000
_FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
#: A decision is three requests. One that takes longer than this, or than this part of what a batch's transactions live,
#: is given up; its own transaction lives no longer either, so that the brokers refuse an end of it that comes late.
_LONGEST_DECISION_MS = 20_000
_PART_OF_A_LIFE = 6
#: What a decision and the commits after it may need, in decisions.
_DECISIONS_IN_RESERVE = 3
#: How often coordinators look for what has timed out: until then a late end of the decision's transaction counts.
_COORDINATORS_ROUND_MS = 10_000


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
        """KafkaError UNSUPPORTED_VERSION if it is not one of ours."""
        try:
            parsed = json.loads(data)
            if parsed["version"] == _FORMAT:
                return cls(query, parsed["batch"], tuple(OpenTransaction(*entry) for entry in parsed["transactions"]))
        except (ValueError, TypeError, LookupError):
            parsed = None
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"the decision about query {query} was made by another version of Tidelog: {data[:60]!r}",
        )


class Claim(NamedTuple):
    """A task said at `time_ms` that it would open this transaction, whose time-out is `life_ms`."""

    transactional_id: str
    time_ms: int
    life_ms: int
    condemned: bool = False

    def encode(self) -> bytes:
        fields = {"version": _CLAIM_FORMAT, "claimed": self.time_ms, "lives": self.life_ms, "condemned": self.condemned}
        return json.dumps(fields).encode()

    @classmethod
    def decode(cls, transactional_id: str, data: bytes) -> Claim | None:
        """None if it is not one of ours."""
        try:
            parsed = json.loads(data)
            if parsed["version"] != _CLAIM_FORMAT:
                return None
            life = parsed.get("lives", _LONGEST_LIFE_MS)
            return cls(transactional_id, int(parsed["claimed"]), int(life), bool(parsed.get("condemned")))
        except (ValueError, TypeError, LookupError):
            return None


class Standing(NamedTuple):
    """What the log says of one query. `decided` is the latest decision as it was written.

    Kept as bytes until somebody needs to know: a decision that a newer version of Tidelog has made about another query
    is no reason to fail this one.
    """

    query: str
    decided: bytes | None = None
    claims: tuple[Claim, ...] = ()

    @property
    def decision(self) -> Decision | None:
        """KafkaError UNSUPPORTED_VERSION if it is not one of ours."""
        return None if self.decided is None else Decision.decode(self.query, self.decided)


class DecisionLog:
    """The decisions of one query (or of one batch job). Open it to decide: from then on nobody older can."""

    def __init__(self, cluster: ClusterClient, topic: str, query: str) -> None:
        self._cluster, self._topic, self._query = cluster, topic, query
        self._limit_ms = decision_limit_ms(cluster.config[keys.TRANSACTION_TIMEOUT_MS])
        self._producer = transactional_producer(
            cluster,
            f"{topic}/{query}",
            transaction_timeout_ms=self._limit_ms,
            compression_type="gzip",  # a decision is one record, which names every task of the batch
            max_request_size=_DECISION_BYTES,
            buffer_memory=_DECISION_BYTES,
        )
        self._found: dict[TopicPartition, Entries] = {}
        #: What the newest reading has shown.
        self.claims: tuple[Claim, ...] = ()

    async def open(self) -> Decision | None:
        """Fence whoever else might decide about this query, and read its newest decision."""
        await _ensure_topic(self._cluster, self._topic)
        await self._producer.init_transactions()
        return await self.read()

    async def read(self) -> Decision | None:
        """The newest decision; `claims` is set too."""
        numbers = self._cluster.metadata.partitions(self._topic)
        everywhere = [TopicPartition(self._topic, number) for number in numbers]
        places = everywhere
        if len(numbers) == PARTITIONS:
            places = [TopicPartition(self._topic, home_of(self._query, PARTITIONS))]
        self._found = await read_entries(self._cluster, places)
        standing = standings(self._found).get(self._query, Standing(self._query))
        if standing.decided is None and places != everywhere:
            self._found = await read_entries(self._cluster, everywhere)
            standing = standings(self._found).get(self._query, standing)
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

    async def condemn(self, claims: Iterable[Claim]) -> bool:
        """Say that these are going to be aborted: nobody will decide them. False: somebody newer has the log open."""
        rows = {one.transactional_id: one._replace(condemned=True).encode() for one in claims if not one.condemned}
        return not rows or await self._write_unless_fenced(rows, ())

    async def settle(self, transactional_ids: Iterable[str]) -> None:
        """Drop the claims of transactions that have ended."""
        await self._write_unless_fenced({}, transactional_ids)

    async def forget(self) -> None:
        """Remove the query's decision: all of its transactions have ended, and it will not come back."""
        await self._write_unless_fenced({}, [self._query])

    async def _write_unless_fenced(self, rows: dict[str, bytes], removed: Iterable[str]) -> bool:
        """If somebody newer has opened the log, this is theirs to do."""
        try:
            await self._write(rows, removed)
        except KafkaError as error:
            if error.code not in _FENCED:
                raise
            return False
        return True

    async def _write(self, rows: dict[str, bytes], removed: Iterable[str]) -> None:
        """One transaction with all rows, in the query's partition; removals also wherever an older count of partitions
        has put the key. It must be over before `_limit_ms`, which is also what its transaction lives: a commit that
        comes later is refused by the coordinator, so that "took too long" means "not decided", but for an answer that
        was lost.
        """
        import pyarrow as pa

        home = home_of(self._query, self._count())
        placed: list[tuple[int, bytes, bytes | None]] = [(home, key.encode(), value) for key, value in rows.items()]
        for key in removed:
            places = {tp.partition for tp, entries in self._found.items() if key.encode() in entries} | {home}
            placed += [(number, key.encode(), None) for number in sorted(places)]
        self._producer.begin_transaction()
        clock = self._cluster.clock
        deadline = clock.monotonic() + self._limit_ms / 1000
        try:
            async with asyncio.timeout(self._limit_ms / 1000):
                columns = {
                    "partition": pa.array([number for number, _, _ in placed], pa.int32()),
                    "key": pa.array([key for _, key, _ in placed], pa.binary()),
                    "value": pa.array([value for _, _, value in placed], pa.binary()),
                }
                await (await self._producer.send_arrow(self._topic, columns))
                if clock.monotonic() >= deadline:
                    raise TimeoutError
                await self._producer.commit_transaction()
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


def reserve_ms(transaction_timeout_ms: int) -> int:
    """How long transactions of that time-out must have to live when they are decided."""
    limit = decision_limit_ms(transaction_timeout_ms)
    return max(_DECISIONS_IN_RESERVE * limit, 2 * limit + _COORDINATORS_ROUND_MS)


def home_of(query: str, partitions: int) -> int:
    """The partition that a query's records are written to."""
    return partition_for_key(query.encode(), min(partitions, PARTITIONS))


def transactional_producer(cluster: ClusterClient, name: str, /, **settings: Unpack[ProducerKeywords]) -> Producer:
    """A producer whose transactions may be ended by somebody else (see `commit_protocol`). What transactions need goes
    before what the user has set for other writes.
    """
    window = min(cluster.config[keys.MAX_IN_FLIGHT], MAX_IN_FLIGHT_IDEMPOTENT)
    needed: ProducerKeywords = {
        **settings,
        "transactional_id": name,
        "acks": "all",
        "enable_idempotence": True,
        "max_in_flight_requests_per_connection": window,
    }
    return Producer.over(cluster, detachable=True, **needed)


async def _ensure_topic(cluster: ClusterClient, topic: str) -> None:
    await cluster.ensure_topics([topic])
    if topic not in cluster.metadata.topics:
        await create_topic(cluster, topic, PARTITIONS, config=CONFIG, exists_ok=True)


async def claim(cluster: ClusterClient, topic: str, transactional_id: str) -> None:
    """Say that this transaction is about to be opened, so that the query's driver knows of it whatever happens."""
    name = TransactionName.parse(transactional_id)
    assert name is not None, "the sink names its transactions"
    await _ensure_topic(cluster, topic)
    home = home_of(name.query, len(cluster.metadata.partitions(topic)))
    value = Claim(transactional_id, cluster.clock.time_ms(), cluster.config[keys.TRANSACTION_TIMEOUT_MS]).encode()
    # Without idempotence: a claim that is written twice is one claim.
    async with Producer.over(cluster, acks="all", enable_idempotence=False, linger_ms=0) as producer:
        await producer.send(topic, value, transactional_id.encode(), partition=home)


async def all_standings(cluster: ClusterClient, topic: str) -> dict[str, Standing]:
    """What the topic says of every query and job in it."""
    await cluster.ensure_topics([topic])
    if topic not in cluster.metadata.topics:
        return {}
    places = [TopicPartition(topic, number) for number in cluster.metadata.partitions(topic)]
    return standings(await read_entries(cluster, places))


def standings(found: dict[TopicPartition, Entries]) -> dict[str, Standing]:
    """By query. Where several partitions hold a decision (the topic has grown), that of the latest batch counts."""
    decided: dict[str, bytes] = {}
    claims: dict[str, dict[str, Claim]] = {}
    for entries in found.values():
        for key, value in entries.items():
            text = key.decode(errors="replace")
            name = TransactionName.parse(text)
            if value is None or text.encode() != key:
                continue
            if name is None:
                decided[text] = max(decided.get(text, value), value, key=_batch_of)
            elif (one := Claim.decode(text, value)) is not None:
                known = claims.setdefault(name.query, {}).setdefault(text, one)
                claims[name.query][text] = max(known, one, key=lambda claim: claim.condemned)
    queries = decided.keys() | claims.keys()
    return {query: Standing(query, decided.get(query), tuple(claims.get(query, {}).values())) for query in queries}


def _batch_of(decided: bytes) -> float:
    """What cannot be read may be anything: it counts as the latest."""
    try:
        return Decision.decode("", decided).batch
    except KafkaError:
        return math.inf
