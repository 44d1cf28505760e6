"""Fixed ranges of partitions, read to their ends, without a group: the consumer's engine under another face.

    fetcher = Fetcher(cluster, {TopicPartition("orders", 0): FetchRange(100, 200)})
    while not fetcher.done:
        for piece in await fetcher.poll(10):
            for record in piece.iter_records(): ...

It is what Spark's tasks, the command line and `Consumer.tail` read with: each knows from where to where, and nobody
commits. Asking, sessions, leaders that move, back-off and the nearest replica are `engine`'s, as for every consumer.
What is added to it:

- *An end.* A partition is asked for until its position has reached that. A range may end in a gap: compaction has
  removed its last records, and nothing behind them is there to tell. So an answer that holds nothing, of a broker that
  has nothing to object and has shown records up to the range's end before, ends it.
- *The caller decides.* An offset that the log does not hold is `OffsetOutOfRangeError`, and `seek` moves on; so is a
  topic that was deleted and made anew, for its records are not those that were asked for. There is no policy to reset
  by, and no committed position. What cannot be had for `default.api.timeout.ms` is an error, too: a task has an end.
- *Whole batches.* `poll` hands out what came as it came. When an answer arrives, only the batch headers are scanned for
  where its partition goes on; the next fetch leaves, and then the checksums are looked at: meanwhile the broker
  prepares the next ones and the kernel receives them.

What is wrong with one partition or broker never costs what came from another: it is a problem that `poll` raises when
it has nothing to hand out.

Aborted transactions: under `read_committed` the broker sends the records of aborted transactions too, up to the last
stable offset, with a list of (producer, first offset); whoever decodes leaves out a producer's batches from that offset
on until its abort marker. Nothing has to be remembered from fetch to fetch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.config import consumer as keys
from tidelog.client.consumer._records import ConsumerRecord, Decoders, RecordCursor
from tidelog.client.consumer.engine import Asked, FetchEngine
from tidelog.client.consumer.errors import OffsetOutOfRangeError as OffsetOutOfRangeError
from tidelog.client.consumer.errors import TopicRecreatedError as TopicRecreatedError
from tidelog.client.consumer.fetch_request import FetchLimits
from tidelog.client.consumer.fetched_batches import end_offset
from tidelog.client.consumer.metrics import ConsumerMetrics
from tidelog.client.consumer.subscription import SubscriptionState, TopicPartitionState
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID
from tidelog.net.pauses import breathe

#: Records that are made at a time for whoever takes them one by one.
_AT_ONCE = 1000


@dataclass
class FetchRange:
    """Where a partition's reading stands. `end` is exclusive; None reads on for ever.

    `topic_id` is the id that the topic must have; None takes the first one that is seen.
    """

    position: int
    end: int | None = None
    topic_id: bytes | None = None

    @property
    def done(self) -> bool:
        return self.end is not None and self.position >= self.end


@dataclass(frozen=True)
class Fetched:
    """Whole record batches of one partition. Those before `start` or from `end` on were not asked for."""

    topic_partition: TopicPartition
    records: bytes | bytearray | memoryview
    start: int
    end: int | None
    next_offset: int
    aborted: tuple[tuple[int, int], ...] = ()

    def iter_records(self, decoders: Decoders | None = None) -> Iterator[ConsumerRecord]:
        """The records that were asked for, decoded when they are looked at; without markers and what was aborted."""
        cursor = RecordCursor(
            self.topic_partition, self.records, self.start, aborted=self.aborted, decoders=decoders or Decoders()
        )
        while cursor.left:
            records: list[ConsumerRecord] = []
            cursor.take(records, _AT_ONCE)
            for record in records:
                if self.end is not None and record.offset >= self.end:
                    return
                yield record


@dataclass(eq=False)
class _RangeState(TopicPartitionState):
    """A partition whose reading has an end."""

    end: int | None = None

    @property
    def fetchable(self) -> bool:
        return super().fetchable and (self.end is None or self.fetch_position < self.end)


@dataclass
class _Places:
    """In the place of a consumer's `Positions`: every partition stands where it was put, and the caller moves it."""

    cluster: ClusterClient
    problem: Callable[[Exception], None]

    def start(self) -> None:
        """There is nothing to look for."""

    def is_sound(self, part: TopicPartitionState) -> bool:
        """Offsets came without leader epochs: there is nothing to compare with (see `validation`)."""
        return True

    def out_of_range(self, part: TopicPartitionState, error: OffsetOutOfRangeError) -> None:
        part.blocked_until = self.cluster.clock.monotonic() + self.cluster.wait_before_retry(0)
        self.problem(error)


class _RangeEngine(FetchEngine):
    """The consumer's engine for partitions that have an end."""

    #: For how long a partition may fail before that is told.
    give_up_after = 0.0

    async def ask(self) -> None:
        """Send what can be sent, before the caller goes off to decode."""
        await self._send(self._cluster.clock.monotonic())
        await breathe()

    def _take(self, asked: dict[TopicPartition, Asked], response: Any) -> None:
        gaps = [entry for entry in asked.values() if self._may_be_gap(entry)]
        super()._take(asked, response)
        if gaps and _is_empty(response):
            for entry in gaps:
                self._pass_gap(entry.part)
            self._arrived()

    def _may_be_gap(self, entry: Asked) -> bool:
        """Whether the leader showed all of the range before it was asked: what it holds of it must be in the answer."""
        part = entry.part
        assert isinstance(part, _RangeState)
        return part.end is not None and self._end_of(part) >= part.end and self._is_current(entry)

    def _pass_gap(self, part: TopicPartitionState) -> None:
        """Unless the log is shorter by now. (A partition that has not changed, a session's answer leaves out.)"""
        assert isinstance(part, _RangeState)
        if part.end is not None and self._end_of(part) >= part.end:
            part.fetch_position = part.end

    def _failed(self, parts: list[TopicPartitionState], error: KafkaError) -> None:
        """A consumer tries for ever; a range that cannot be read for too long is given up."""
        now = self._cluster.clock.monotonic()
        for part in parts:
            if part.failures == 0:
                part.failing_since = now
            elif now - part.failing_since > self.give_up_after:
                self._problem(error)
        super()._failed(parts, error)


def _is_empty(response: Any) -> bool:
    """Whether a broker that was free to answer has nothing to show, nor to object, for any partition."""
    parts = [data for topic in response.responses for data in topic.partitions]
    return not response.throttle_time_ms and not any(data.error_code or data.records for data in parts)


class Fetcher:
    """Fetches ranges of partitions. Use from one task: `poll` until `done`, then `close`."""

    def __init__(
        self, cluster: ClusterClient, ranges: Mapping[TopicPartition, FetchRange], *, isolation: int | None = None
    ) -> None:
        """`isolation` goes before the client's `isolation.level`."""
        config = cluster.config
        self.ranges = dict(ranges)
        self.clock = cluster.clock
        self._check_crcs = config[keys.CHECK_CRCS]
        self._news = asyncio.Event()
        self._problem: Exception | None = None
        self._running: asyncio.Task[None] | None = None
        self._parts = {tp: _state_of(tp, part) for tp, part in self.ranges.items()}
        subscription = SubscriptionState()
        subscription.partitions = dict(self._parts)
        self._engine = _RangeEngine(
            cluster,
            subscription,
            _Places(cluster, self._failed),
            Decoders(),
            ConsumerMetrics(),
            arrived=self._news.set,
            problem=self._failed,
            limits=FetchLimits.of(config, isolation),
            check_crcs=False,  # they are looked at when the next fetch has left
        )
        self._engine.give_up_after = config[common.DEFAULT_API_TIMEOUT_MS] / 1000

    @property
    def done(self) -> bool:
        return all(part.done for part in self.ranges.values())

    def seek(self, tp: TopicPartition, offset: int, topic_id: bytes | None = None) -> None:
        """Go on at another offset, of the topic of that id (None: of whichever has the name now). What was already
        asked for at the old one is dropped."""
        part, place = self._parts[tp], self.ranges[tp]
        part.move(offset)
        part.topic_id = place.topic_id = topic_id
        part.blocked_until, part.failures = 0.0, 0
        place.position = offset
        self._problem = None
        self._engine.kick()

    async def poll(self, timeout: float) -> list[Fetched]:
        """Wait for records of any partition; an empty list when all is read or the time is up.

        What is wrong with one partition is raised after the records of the others were handed out.
        """
        if self._running is None and not self.done:
            self._running = asyncio.create_task(self._engine.run())
        deadline = self.clock.monotonic() + timeout
        while not self.done:
            self._news.clear()
            fetched = self._taken()
            if fetched:
                await self._engine.ask()
                fetched = self._sound(fetched)
            if fetched:
                return fetched
            if self._problem is not None:
                problem, self._problem = self._problem, None
                raise problem
            left = deadline - self.clock.monotonic()
            if left <= 0 or self.done:
                break
            await self._wait(left)
        return []

    async def _wait(self, seconds: float) -> None:
        """Until something has come, or the time is up."""
        timer = asyncio.get_running_loop().call_later(seconds, self._news.set)
        try:
            await self._news.wait()
        finally:
            timer.cancel()

    async def close(self) -> None:
        """Drop the fetches under way. The broker forgets the sessions when their place is needed."""
        self._engine.stop()
        tasks = self._engine.tasks
        if self._running is not None:
            tasks.append(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- what has come ------------------------------------------------------------------------------------------------

    def _taken(self) -> list[Fetched]:
        """Everything that waits, in its order. Then all that was fetched is handed out, and positions are where the
        next fetches are.
        """
        pieces = [piece for piece in self._engine.queue if piece.generation == piece.part.generation]
        self._engine.queue.clear()
        fetched: list[Fetched] = []
        behind = {tp: part.fetch_position for tp, part in self._parts.items()}
        for piece in reversed(pieces):
            tp = piece.part.tp
            records, start, aborted = piece.cursor.rest()
            fetched.append(Fetched(tp, records, start, self.ranges[tp].end, behind[tp], aborted))
            behind[tp] = start
            piece.part.drained += piece.cursor.size
        for tp, part in self._parts.items():
            self.ranges[tp].position, self.ranges[tp].topic_id = part.fetch_position, part.topic_id
        return fetched[::-1]

    def _sound(self, fetched: list[Fetched]) -> list[Fetched]:
        """Check the checksums, while the broker is busy with the next fetch already. Those of a broken piece stay our
        problem: its partition goes back to where it was, and what comes of the next fetch is dropped.
        """
        sound: list[Fetched] = []
        broken: set[TopicPartition] = set()
        for piece in fetched:
            tp = piece.topic_partition
            try:
                if self._check_crcs and tp not in broken:
                    end_offset(piece.records, check=True)
            except KafkaError as error:
                self._failed(error)
                broken.add(tp)
                self._parts[tp].move(piece.start)
                self.ranges[tp].position = piece.start
                self._engine.kick()
            if tp not in broken:
                sound.append(piece)
        return sound

    def _failed(self, error: Exception) -> None:
        """To be raised when there is nothing to hand out; others follow from the first."""
        self._problem = self._problem or error
        self._news.set()


def _state_of(tp: TopicPartition, part: FetchRange) -> _RangeState:
    """As the engine sees it. Old brokers tell no ids: then any topic will do."""
    state = _RangeState(tp, end=part.end, topic_id=None if part.topic_id == ZERO_UUID else part.topic_id)
    state.move(part.position)
    return state
