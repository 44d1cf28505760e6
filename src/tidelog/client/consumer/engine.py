"""The fetch engine: one fetch on its way to each broker, for whichever partitions are wanted at the moment.

    wanted partitions ──► grouped by leader (or nearer replica) ──► Fetch (KIP-227 session per broker)
            ▲                                                           │
            └── position of the next fetch ◄── headers scanned ◄────────┤
                                                                        └──► buffer ──► `poll` takes records

Partitions come, go, pause and seek at any time; each turn of the loop looks at what is wanted now, and an answer is
taken only if its partition still stands where it stood when it was asked (`generation`, `fetch_position`).

Bounds: a partition is asked for while no more than `max.partition.fetch.bytes` of it are buffered, and all together
while less than `fetch.max.bytes` are. So at most about two answers per partition are held, however slow the reader; and
a fast reader never waits, as the next answer is on its way while it takes the one before. (Apache Kafka's answers have
exactly the size that was asked for: with one of them buffered the next one must be asked for.) Checksums are looked at
when records are taken (`_records`), not here, where the next fetch would wait for that.

Two connections to each broker, so that nobody waits for somebody else's records. A broker answers a fetch when any of
its partitions has something, or after `fetch.max.wait.ms`: a partition that becomes wanted meanwhile would wait for
that (in Java's consumer it does). So partitions that are read to their end are asked for on one connection, which may
wait, and those that are known to have more, or were not asked before, on another, which never does.

Memory: an answer lies where the socket put it, and records point into it; nothing is copied on the way to the user. It
is let go when its records are, so the bound above holds for a program that does not collect records.

Errors: a leader that moved or cannot be reached is looked up anew, with back-off, for ever: a consumer outlives its
brokers. An offset that the log does not hold is the business of `positions`. What retrying cannot mend is raised from
the next `poll`, once per try.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.config import consumer as keys
from tidelog.client.consumer._records import Decoders, RecordCursor
from tidelog.client.consumer.errors import OffsetOutOfRangeError, TopicRecreatedError
from tidelog.client.consumer.fetch_request import FetchLimits, send_fetch
from tidelog.client.consumer.fetched_batches import end_offset
from tidelog.client.consumer.subscription import SubscriptionState, TopicPartitionState
from tidelog.client.offsets import READ_COMMITTED
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_NODE, TopicPartition
from tidelog.common.uuids import ZERO_UUID
from tidelog.net.fetch_session import FetchPosition, FetchSessionHandler

if TYPE_CHECKING:
    from tidelog.client.consumer.metrics import ConsumerMetrics

logger = logging.getLogger("tidelog.client.consumer")

#: What the two connections are for. The one that waits has its own; the other shares that of questions.
_WAITING = "fetch"
_EAGER = ""

#: What cannot be read may be whole the next time, on another connection.
_UNREADABLE = ErrorCode.NETWORK_EXCEPTION

#: A broker, and which of the two connections to it.
_Way = tuple[int, str]


class Buffered(NamedTuple):
    """A piece of a partition that waits to be taken; stale if the partition has moved since."""

    part: TopicPartitionState
    generation: int
    cursor: RecordCursor


class Asked(NamedTuple):
    """What a fetch was sent for, to compare with when its answer comes."""

    part: TopicPartitionState
    generation: int
    position: FetchPosition


class Places(Protocol):
    """Who knows where partitions stand: a consumer's `Positions`, or whoever reads fixed ranges (`fetcher`)."""

    def start(self) -> None:
        """Begin to find what has no place, unless that is under way."""
        ...

    def is_sound(self, part: TopicPartitionState) -> bool:
        """Whether it may be read from."""
        ...

    def out_of_range(self, part: TopicPartitionState, error: OffsetOutOfRangeError) -> None:
        """The log does not hold what was asked for."""
        ...


class FetchEngine:
    """Runs on the loop (`run`), fills `queue`, which the user's side empties from the left."""

    def __init__(
        self,
        cluster: ClusterClient,
        subscription: SubscriptionState,
        positions: Places,
        decoders: Decoders,
        metrics: ConsumerMetrics,
        *,
        arrived: Callable[[], None],
        problem: Callable[[Exception], None],
        limits: FetchLimits | None = None,
        check_crcs: bool | None = None,
    ) -> None:
        """`arrived` is called when there is something in the queue, `problem` with what `poll` is to raise. The last
        two go before the client's settings.
        """
        self.queue: deque[Buffered] = deque()
        self._cluster = cluster
        self._subscription = subscription
        self._positions = positions
        self._decoders = decoders
        self._metrics = metrics
        self._arrived = arrived
        self._problem = problem
        self._limits = FetchLimits.of(cluster.config) if limits is None else limits
        self._check_crcs = cluster.config[keys.CHECK_CRCS] if check_crcs is None else check_crcs
        self._replica_age = cluster.config[common.METADATA_MAX_AGE_MS] / 1000
        eager_wait = 0 if self._limits.min_bytes <= 1 else self._limits.max_wait_ms
        self._eager_limits = self._limits._replace(max_wait_ms=eager_wait)
        self._sessions: dict[_Way, FetchSessionHandler] = {}
        self._in_flight: dict[_Way, asyncio.Task[None]] = {}
        #: What is being asked for, wherever; none of it is asked for twice.
        self._asked: set[tuple[TopicPartition, int]] = set()
        self._kicked = asyncio.Event()
        self._stopped = False
        self._full = False  # as much is buffered as may be, of all partitions together

    def kick(self) -> None:
        """Something has changed: look again at what is to be asked for. On the loop's thread."""
        self._kicked.set()

    async def run(self) -> None:
        """Until `stop`: settle positions, send what can be sent, wait for a reason to look again."""
        loop = asyncio.get_running_loop()
        while not self._stopped:
            self._kicked.clear()
            self._positions.start()
            looked = self._cluster.clock.monotonic()
            await self._send(looked)
            timer = loop.call_later(self._until_next(looked), self._kicked.set)
            try:
                await self._kicked.wait()
            finally:
                timer.cancel()

    def stop(self) -> None:
        """Ask for nothing more; `run` ends. Brokers forget sessions when their place is needed."""
        self._stopped = True
        self.kick()

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """The fetches under way."""
        return list(self._in_flight.values())

    # --- asking -------------------------------------------------------------------------------------------------------

    async def _send(self, now: float) -> None:
        held = self._subscription.partitions.values()
        self._full = sum(part.buffered for part in held) >= self._limits.max_bytes
        ready = [part for part in held if self._may_ask(part, now)]
        if not ready or self._stopped:
            return
        try:
            await self._cluster.ensure_topics({part.tp.topic for part in ready})
        except KafkaError as error:
            self._failed(ready, error)
            return
        self._positions.start()  # new leaders may have become known: positions are compared with their logs first
        wanted: dict[_Way, dict[TopicPartition, Asked]] = {}
        for part in ready:
            if self._may_ask(part, now):  # still, after the wait
                self._want(part, wanted, now)
        for way, asked in wanted.items():
            if way not in self._in_flight:
                self._asked.update((tp, entry.generation) for tp, entry in asked.items())
                self._in_flight[way] = asyncio.create_task(self._fetch(way, asked))

    def _may_ask(self, part: TopicPartitionState, now: float) -> bool:
        """Whether it is wanted, not asked for already, standing on sound ground, and there is room for more of it.

        A partition of which nothing is buffered is asked for however full the others are: else those could starve it.
        """
        if not part.fetchable or part.blocked_until > now or (part.tp, part.generation) in self._asked:
            return False
        if not self._positions.is_sound(part):
            return False
        return part.buffered == 0 or (part.buffered <= self._limits.partition_bytes and not self._full)

    def _want(self, part: TopicPartitionState, wanted: dict[_Way, dict[TopicPartition, Asked]], now: float) -> None:
        """Note what to ask whom for this partition."""
        metadata = self._cluster.metadata
        try:
            node_id = metadata.leader(part.tp).id
        except KafkaError as error:
            self._failed([part], error)
            return
        if part.replica != NO_NODE:
            if part.replica_until > now and part.replica in metadata.nodes:
                node_id = part.replica
            else:
                part.replica = NO_NODE
        topic_id = metadata.topics[part.tp.topic].id
        if topic_id != ZERO_UUID and part.topic_id not in (None, ZERO_UUID, topic_id):
            self._positions.out_of_range(part, TopicRecreatedError(part.tp, part.fetch_position))
            return
        part.topic_id = topic_id
        epoch = metadata.partition(part.tp).leader_epoch
        position = FetchPosition(part.fetch_position, self._limits.partition_bytes, epoch, topic_id)
        purpose = _WAITING if 0 <= self._end_of(part) <= part.fetch_position else _EAGER
        wanted.setdefault((node_id, purpose), {})[part.tp] = Asked(part, part.generation, position)

    def _end_of(self, part: TopicPartitionState) -> int:
        """Up to where the broker shows records, as it last said; -1 if it has not."""
        return part.last_stable_offset if self._limits.isolation == READ_COMMITTED else part.high_watermark

    async def _fetch(self, way: _Way, asked: dict[TopicPartition, Asked]) -> None:
        """One exchange on one connection. A failed one costs the session: who knows what the broker has seen."""
        session = self._sessions.setdefault(way, FetchSessionHandler())
        limits = self._limits if way[1] == _WAITING else self._eager_limits
        positions = {tp: entry.position for tp, entry in asked.items()}
        began = self._cluster.clock.monotonic()
        try:
            node = await self._cluster.node(way[0], purpose=way[1])
            response = await send_fetch(node, session.plan(positions), positions, limits)
            self._metrics.fetched(self._cluster.clock.monotonic() - began, response.throttle_time_ms)
            if session.accept(response.error_code, response.session_id):
                if response.error_code:
                    raise KafkaError(response.error_code)
                self._take(asked, response)
        except KafkaError as error:
            session.reset()
            self._failed([entry.part for entry in asked.values()], error)
        except ProtocolError as error:
            session.reset()
            self._failed([entry.part for entry in asked.values()], KafkaError(_UNREADABLE, str(error)))
        except asyncio.CancelledError:
            session.reset()  # the broker may have counted on
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours: not lost, and not repeated without a pause
            session.reset()
            self._problem(error)
            for entry in asked.values():
                self._wait(entry.part)
        finally:
            del self._in_flight[way]
            self._asked.difference_update((tp, entry.generation) for tp, entry in asked.items())
            self.kick()

    # --- taking answers -----------------------------------------------------------------------------------------------

    def _take(self, asked: dict[TopicPartition, Asked], response: Any) -> None:
        names = {entry.position.topic_id: tp.topic for tp, entry in asked.items()}
        came = False
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                entry = asked.get(TopicPartition(name, data.partition_index))
                if entry is None or not self._is_current(entry):
                    continue
                if data.error_code:
                    self._refused(entry, data)
                else:
                    came |= self._accept(entry, data)
        if came:
            self._arrived()

    def _is_current(self, entry: Asked) -> bool:
        """Whether the partition still stands where it stood when it was asked for."""
        part = entry.part
        if self._subscription.partitions.get(part.tp) is not part or part.generation != entry.generation:
            return False
        return part.fetch_position == entry.position.offset

    def _accept(self, entry: Asked, data: Any) -> bool:
        """Note what the broker says of the partition, and queue its records; whether there were any."""
        part = entry.part
        part.failures = 0
        part.high_watermark, part.last_stable_offset = data.high_watermark, data.last_stable_offset
        part.log_start_offset = data.log_start_offset
        part.validated_epoch = max(part.validated_epoch, entry.position.leader_epoch)  # the broker has compared it
        if data.preferred_read_replica >= 0:
            part.replica = data.preferred_read_replica
            part.replica_until = self._cluster.clock.monotonic() + self._replica_age
        if not data.records:
            return False
        try:
            behind = end_offset(data.records)
        except KafkaError as error:
            self._problem(KafkaError(error.code, f"{part.tp} from offset {part.fetch_position}: {error.message}"))
            self._wait(part)
            return False
        if behind is None:
            return False
        aborted = [(txn.producer_id, txn.first_offset) for txn in data.aborted_transactions or ()]
        cursor = RecordCursor(
            part.tp,
            data.records,
            part.fetch_position,
            aborted=aborted,
            decoders=self._decoders,
            checks=self._check_crcs,
        )
        part.fetch_position = max(part.fetch_position, behind)
        part.received += cursor.size
        self._metrics.received(cursor.size)
        self.queue.append(Buffered(part, entry.generation, cursor))
        return True

    def _refused(self, entry: Asked, data: Any) -> None:
        """An error for one partition. A nearer replica's is answered by going back to the leader."""
        part = entry.part
        if part.replica != NO_NODE:
            part.replica = NO_NODE
            return
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            offset = entry.position.offset
            self._positions.out_of_range(part, OffsetOutOfRangeError(part.tp, offset, data.log_start_offset))
            return
        code = ErrorCode(data.error_code)
        self._failed([part], KafkaError(code, f"Fetch of {part.tp}: {code.text}"))

    # --- failures -----------------------------------------------------------------------------------------------------

    def _failed(self, parts: list[TopicPartitionState], error: KafkaError) -> None:
        """Look these up anew and wait a little. Told to the user only if waiting cannot help."""
        if not error.retriable and error.code != ErrorCode.BROKER_NOT_AVAILABLE:
            self._problem(error)
        else:
            logger.debug("fetching waits: %s", error)
        self._cluster.metadata.mark_stale({part.tp.topic for part in parts})
        for part in parts:
            part.replica = NO_NODE
            self._wait(part)

    def _wait(self, part: TopicPartitionState) -> None:
        now = self._cluster.clock.monotonic()
        part.blocked_until = now + self._cluster.wait_before_retry(part.failures)
        part.failures += 1

    def _until_next(self, looked: float) -> float:
        """When to look again without being kicked: the first partition whose wait is over, or metadata's age. A wait
        that has ended since we `looked` was one then, and nobody has asked for that partition: it is due at once.
        """
        ends = [part.blocked_until for part in self._subscription.partitions.values() if part.fetchable]
        first = min((end for end in ends if end > looked), default=looked + self._replica_age)
        return max(first - self._cluster.clock.monotonic(), 0.001)
