"""The fetch engine: keeps one fetch on its way to each leader and hands out what comes back, as whole batches.

Each partition has a position and, perhaps, an end. When an answer arrives, the batch headers are scanned for where each
partition goes on, the next fetch is sent at once, and only then are the checksums checked and the records handed out:
meanwhile the broker prepares the next ones and the kernel receives them. Nothing here touches a single record.

A leader that moved, or cannot be reached, is looked up anew, with back-off. An offset that the log does not hold is
the caller's decision: `OffsetOutOfRangeError` names the partition, and `seek` moves on. So is a topic that was deleted
and made anew: its records are not those that were asked for.

A range may end in a gap: compaction has removed its last records, and nothing behind them is there to tell. So an
answer that holds nothing, of a broker that has nothing to object and has shown records up to the range's end before,
ends it.

What is wrong with one partition or broker never costs what came from another: it is a problem that `poll` raises when
it has nothing to hand out.

One fetch per broker, not per partition: it names all partitions that the broker leads, and returns when there are
`fetch.min.bytes` of them together or `fetch.max.wait.ms` are over. With a fetch session (KIP-227) only what has changed
is named: the broker remembers the rest. While an answer is looked at, the next one is on its way; two in flight to the
same broker would ask for the same offsets twice.

Aborted transactions: under `read_committed` the broker sends the records of aborted transactions too, up to the last
stable offset, with a list of (producer, first offset); whoever decodes leaves out a producer's batches from that offset
on until its abort marker. Nothing has to be remembered from fetch to fetch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.errors import OffsetOutOfRangeError as OffsetOutOfRangeError
from tidelog.client.consumer.errors import TopicRecreatedError as TopicRecreatedError
from tidelog.client.consumer.fetch_request import FetchLimits, send_fetch
from tidelog.client.consumer.fetched_batches import end_offset
from tidelog.client.offsets import READ_COMMITTED
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID
from tidelog.net.fetch_session import FetchPosition, FetchSessionHandler
from tidelog.net.pauses import breathe, pause


@dataclass
class FetchRange:
    """Where a partition's reading stands. `end` is exclusive; None reads on for ever.

    `topic_id` is the id that the topic must have; None takes the first one that is seen. `visible` is the offset up to
    which the leader shows records, as it last said.
    """

    position: int
    end: int | None = None
    topic_id: bytes | None = None
    visible: int = -1
    failures: int = 0
    failing_since: float = 0.0
    blocked_until: float = 0.0

    @property
    def done(self) -> bool:
        return self.end is not None and self.position >= self.end


@dataclass(frozen=True)
class Fetched:
    """Whole record batches of one partition. Those before `start` or from `end` on were not asked for."""

    topic_partition: TopicPartition
    records: memoryview
    start: int
    end: int | None
    next_offset: int
    high_watermark: int
    last_stable_offset: int
    aborted: list[tuple[int, int]] = field(default_factory=list)


class Fetcher:
    """Fetches ranges of partitions. Use from one task: `poll` until `done`."""

    def __init__(
        self, cluster: ClusterClient, ranges: Mapping[TopicPartition, FetchRange], *, isolation: int | None = None
    ) -> None:
        """`isolation` goes before the client's `isolation.level`."""
        config = cluster.config
        self.ranges = dict(ranges)
        self.clock = cluster.clock
        self._cluster = cluster
        self._check_crcs = config[keys.CHECK_CRCS]
        self._give_up_after = config[common.DEFAULT_API_TIMEOUT_MS] / 1000
        self._limits = FetchLimits.of(config, isolation)
        self._sessions: dict[int, FetchSessionHandler] = {}
        self._in_flight: dict[int, asyncio.Task[Any]] = {}
        self._problem: KafkaError | None = None

    @property
    def done(self) -> bool:
        return all(part.done for part in self.ranges.values())

    def seek(self, tp: TopicPartition, offset: int, topic_id: bytes | None = None) -> None:
        """Go on at another offset, of the topic of that id (None: of whichever has the name now). What was already
        asked for at the old one is dropped."""
        self.ranges[tp].position = offset
        self.ranges[tp].topic_id = topic_id
        self.ranges[tp].visible = -1
        self._problem = None

    async def poll(self, timeout: float) -> list[Fetched]:
        """Wait for records of any partition; an empty list when all is read or the time is up.

        What is wrong with one partition is raised after the records of the others were handed out.
        """
        deadline = self._cluster.clock.monotonic() + timeout
        while not self.done:
            wait = deadline - self._cluster.clock.monotonic()
            if wait <= 0:
                return []
            await self._send()
            if self._problem is not None:
                raise self._taken_problem()
            if not self._in_flight:
                await pause(min(wait, self._blocked_for()))
                continue
            tasks = set(self._in_flight.values())
            finished, _ = await asyncio.wait(tasks, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            fetched = []
            for node_id in [node_id for node_id, task in self._in_flight.items() if task in finished]:
                fetched += self._take(node_id, self._in_flight.pop(node_id))
            if fetched:
                await self._send()
                fetched = [piece for piece in fetched if self._is_sound(piece)]
            if fetched:
                return fetched
            if self._problem is not None:
                raise self._taken_problem()
        return []

    def _taken_problem(self) -> KafkaError:
        assert self._problem is not None
        problem, self._problem = self._problem, None
        return problem

    async def close(self) -> None:
        """Drop the fetches under way. The broker forgets the sessions when their place is needed."""
        tasks = list(self._in_flight.values())
        self._in_flight.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- asking -------------------------------------------------------------------------------------------------------

    async def _send(self) -> None:
        """Start a fetch to each leader that has none on its way and partitions to read."""
        wanted = await self._wanted()
        started = False
        for node_id, positions in wanted.items():
            if node_id not in self._in_flight:
                self._in_flight[node_id] = asyncio.create_task(self._fetch(node_id, positions))
                started = True
        if started:
            await breathe()  # lets the requests leave before the caller goes off to decode

    async def _wanted(self) -> dict[int, dict[TopicPartition, FetchPosition]]:
        """What to ask each leader for. Partitions that failed a moment ago are left out until their wait is over; those
        without a leader are looked up anew and wait as well.
        """
        now = self._cluster.clock.monotonic()
        ready = [tp for tp, part in self.ranges.items() if not part.done and part.blocked_until <= now]
        try:
            await self._cluster.ensure_topics({tp.topic for tp in ready})
        except KafkaError as error:
            self._failed(ready, error)
            return {}
        wanted: dict[int, dict[TopicPartition, FetchPosition]] = {}
        for tp in ready:
            try:
                leader = self._cluster.metadata.leader(tp)
            except KafkaError as error:
                self._failed([tp], error)
                continue
            epoch = self._cluster.metadata.partition(tp).leader_epoch
            topic_id = self._cluster.metadata.topics[tp.topic].id
            if self._is_another(tp, topic_id):
                self._problem = self._problem or TopicRecreatedError(tp, self.ranges[tp].position)
                continue
            position = FetchPosition(self.ranges[tp].position, self._limits.partition_bytes, epoch, topic_id)
            wanted.setdefault(leader.id, {})[tp] = position
        return wanted

    def _is_another(self, tp: TopicPartition, topic_id: bytes) -> bool:
        """Whether the topic of that name is not the one that we read. Old brokers tell no ids."""
        part = self.ranges[tp]
        if topic_id == ZERO_UUID:
            return False
        if part.topic_id is None:
            part.topic_id = topic_id
        return part.topic_id not in (topic_id, ZERO_UUID)

    async def _fetch(self, node_id: int, positions: dict[TopicPartition, FetchPosition]) -> Any:
        """One Fetch of the broker's session."""
        node = await self._cluster.node(node_id)
        plan = self._sessions.setdefault(node_id, FetchSessionHandler()).plan(positions)
        return positions, await send_fetch(node, plan, positions, self._limits)

    # --- taking answers -----------------------------------------------------------------------------------------------

    def _take(self, node_id: int, task: asyncio.Task[Any]) -> list[Fetched]:
        """An answer: where each partition goes on, and the pieces that are to be handed out.

        A failed exchange costs the session (who knows what the broker has seen), and makes all partitions of that
        broker wait. An answer for a position that was left meanwhile, by `seek`, is dropped without a word.
        """
        session = self._sessions[node_id]
        try:
            asked, response = task.result()
        except KafkaError as error:
            session.reset()
            self._failed([tp for tp in self.ranges if self._leads(node_id, tp)], error)
            return []
        if not session.accept(response.error_code, response.session_id):
            return []
        if response.error_code:
            self._failed(list(asked), KafkaError(response.error_code))
            return []
        names = {position.topic_id: tp.topic for tp, position in asked.items()}
        gaps = [tp for tp, position in asked.items() if self._may_be_gap(tp, position)]
        fetched = []
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                tp = TopicPartition(name, data.partition_index)
                part = self.ranges.get(tp)
                if part is None or tp not in asked or asked[tp].offset != part.position:
                    continue
                try:
                    fetched += self._take_partition(tp, part, data)
                except KafkaError as error:
                    self._problem = self._problem or error
        if _is_empty(response):
            for tp in gaps:
                self._pass_gap(self.ranges[tp])
        return fetched

    def _may_be_gap(self, tp: TopicPartition, asked: FetchPosition) -> bool:
        """Whether the leader showed all of the range before it was asked: what it holds of it must be in the answer."""
        part = self.ranges[tp]
        return part.end is not None and part.visible >= part.end and part.position == asked.offset

    @staticmethod
    def _pass_gap(part: FetchRange) -> None:
        """Unless the log is shorter by now. (A partition that has not changed, a session's answer leaves out.)"""
        if part.end is not None and part.visible >= part.end:
            part.position = part.end

    def _take_partition(self, tp: TopicPartition, part: FetchRange, data: Any) -> list[Fetched]:
        """One partition's part of an answer. Only OFFSET_OUT_OF_RANGE is the caller's business; other errors make it
        wait.
        """
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OffsetOutOfRangeError(tp, part.position, data.log_start_offset)
        if data.error_code:
            self._failed([tp], KafkaError(data.error_code, f"Fetch of {tp}: {ErrorCode(data.error_code).text}"))
            return []
        part.failures = 0
        part.visible = data.last_stable_offset if self._limits.isolation == READ_COMMITTED else data.high_watermark
        if not data.records:
            return []
        behind = end_offset(data.records)
        if behind is None:
            return []
        start, part.position = part.position, max(part.position, behind)
        aborted = [(txn.producer_id, txn.first_offset) for txn in data.aborted_transactions or ()]
        return [
            Fetched(
                tp, data.records, start, part.end, part.position, data.high_watermark, data.last_stable_offset, aborted
            )
        ]

    def _is_sound(self, piece: Fetched) -> bool:
        """Check the checksums, while the broker is busy with the next fetch already. Those of a broken piece stay our
        problem: its partition goes back to where it was, and what comes of the next fetch is dropped."""
        try:
            if self._check_crcs:
                end_offset(piece.records, check=True)
        except KafkaError as error:
            self.ranges[piece.topic_partition].position = piece.start
            self._problem = self._problem or error
            return False
        return True

    def _leads(self, node_id: int, tp: TopicPartition) -> bool:
        """Whether metadata has the broker as that partition's leader: then it is concerned by what happened to it."""
        topic = self._cluster.metadata.topics.get(tp.topic)
        info = topic.partitions.get(tp.partition) if topic else None
        return info is not None and info.leader == node_id

    def _failed(self, partitions: list[TopicPartition], error: KafkaError) -> None:
        """Look these partitions up anew and wait a little; give up when that has gone on for too long."""
        if not error.retriable:
            self._problem = self._problem or error
        now = self._cluster.clock.monotonic()
        self._cluster.metadata.mark_stale({tp.topic for tp in partitions})
        for tp in partitions:
            part = self.ranges[tp]
            if part.failures == 0:
                part.failing_since = now
            elif now - part.failing_since > self._give_up_after:
                self._problem = self._problem or error
            part.blocked_until = now + self._cluster.wait_before_retry(part.failures)
            part.failures += 1

    def _blocked_for(self) -> float:
        """Until the first partition may be asked for again."""
        now = self._cluster.clock.monotonic()
        waits = [part.blocked_until - now for part in self.ranges.values() if not part.done]
        return max(min(waits, default=0.0), 0.001)


def _is_empty(response: Any) -> bool:
    """Whether a broker that was free to answer has nothing to show, nor to object, for any partition."""
    parts = [data for topic in response.responses for data in topic.partitions]
    return not response.throttle_time_ms and not any(data.error_code or data.records for data in parts)
