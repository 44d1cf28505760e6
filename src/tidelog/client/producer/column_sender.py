"""Produce requests: the batches that wait at one moment, of several partitions, in as few requests as they fit into.

`write` queues a batch and gives a future of its base offset. In the loop's next turn everything queued leaves, by
leader: a request holds one batch of each partition at most, and `max.request.size` bytes (a larger batch has one to
itself). A request costs some hundred microseconds of Python on the way out and back, whatever it holds.

Invariants: the batches of one partition leave in the order in which they were queued; every future is resolved once,
with the offset (-1 if the broker does not say) or with what went wrong.

Kafka's Sender is a thread that drains the accumulator; here it is what happens in one turn of the event loop.
Everything that was queued in a turn leaves together, so that a producer with a hundred partitions and one leader sends
one request, not a hundred, without waiting for `linger.ms`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import NO_OFFSET, TopicPartition
from tidelog.protocol.headers import Apart
from tidelog.protocol.messages import ProduceRequest

#: From the next version on, a Produce joins its partition to the transaction by itself, and ends change the epoch.
_LAST_EXPLICIT_PRODUCE = 11


@dataclass
class Departure:
    """A batch that waits for its request, or for the answer to it."""

    topic_partition: TopicPartition
    data: memoryview
    written: asyncio.Future[int]

    def fail(self, error: Exception) -> None:
        if not self.written.done():
            self.written.set_exception(error)

    def succeed(self, offset: int) -> None:
        if not self.written.done():
            self.written.set_result(offset)


@dataclass
class _Load:
    """What one request carries."""

    size: int = 0
    departures: list[Departure] = field(default_factory=list)


class Sender:
    """The way out of one producer's batches. `max_bytes` limits a request."""

    def __init__(
        self, cluster: ClusterClient, *, transactional_id: str | None, acks: int, timeout_ms: int, max_bytes: int
    ) -> None:
        self._cluster = cluster
        self._transactional_id = transactional_id
        self._acks = acks
        self._timeout_ms = timeout_ms
        self._max_bytes = max_bytes
        self._waiting: list[Departure] = []
        self._departing: asyncio.Task[None] | None = None
        self._turns: dict[int, asyncio.Lock] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    def write(self, tp: TopicPartition, data: memoryview) -> asyncio.Future[int]:
        """Queue a batch; its base offset, once it is written."""
        departure = Departure(tp, data, asyncio.get_running_loop().create_future())
        self._waiting.append(departure)
        if self._departing is None or self._departing.done():
            self._departing = asyncio.create_task(self._depart())
        return departure.written

    async def _depart(self) -> None:
        """Tell each leader's share of what waits to leave, until nothing waits."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            try:
                await self._cluster.ensure_topics({departure.topic_partition.topic for departure in waiting})
                shares = self._by_leader(waiting)
            except Exception as error:  # noqa: BLE001 - told to whoever waits for a batch, as in `_told`
                self._fail(waiting, error)
                continue
            for leader, departures in shares.items():
                self._start(departures, self._send_to(leader, departures))

    def _by_leader(self, departures: Iterable[Departure]) -> dict[int, list[Departure]]:
        """Who leads each batch's partition; a batch whose partition has no leader fails at once, and is tried again by
        its queue.
        """
        found: dict[int, list[Departure]] = {}
        for departure in departures:
            try:
                leader = self._cluster.metadata.leader(departure.topic_partition)
            except KafkaError as error:
                self._fail([departure], error)
            else:
                found.setdefault(leader.id, []).append(departure)
        return found

    async def _send_to(self, leader: int, departures: list[Departure]) -> None:
        """Send one leader's share, request by request. The lock is held while it is being connected to: a later share
        must not overtake an earlier one just because the connection is there by then.
        """
        async with self._turns.setdefault(leader, asyncio.Lock()):  # in order, even while it is being connected to
            node = await self._cluster.node(leader)
            wanted = [departure for departure in departures if not departure.written.done()]
            for load in _loads(wanted, self._max_bytes):
                self._start(load, self._exchange(node, load))

    async def _exchange(self, node: Any, departures: list[Departure]) -> None:
        """One request and its answer. The request is sent in this task's first step, so tasks keep their order."""
        answered = self._acks != 0
        response = await node.send(self._request(departures), highest=_LAST_EXPLICIT_PRODUCE, answered=answered)
        if response is None:
            for departure in departures:
                departure.succeed(NO_OFFSET)
        else:
            self._settle(departures, response)

    def _request(self, departures: list[Departure]) -> ProduceRequest:
        """The request. Large batches are not copied into it (`Apart`): they are written from where they were built."""
        topics: dict[str, list[ProduceRequest.PartitionProduceData]] = {}
        for departure in departures:
            tp = departure.topic_partition
            part = ProduceRequest.PartitionProduceData(index=tp.partition, records=Apart(departure.data))
            topics.setdefault(tp.topic, []).append(part)
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=self._acks,
            timeout_ms=self._timeout_ms,
            topic_data=[
                ProduceRequest.TopicProduceData(name=name, partition_data=parts) for name, parts in topics.items()
            ],
        )

    def _settle(self, departures: list[Departure], response: Any) -> None:
        """Tell each batch what the answer says of its partition; an answer that leaves one out is an error for it."""
        entries = {
            TopicPartition(topic.name, entry.index): entry
            for topic in response.responses
            for entry in topic.partition_responses
        }
        for departure in departures:
            tp = departure.topic_partition
            entry = entries.get(tp)
            if entry is None:
                text = f"the answer to a Produce says nothing of {tp}"
                self._fail([departure], KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, text))
            elif entry.error_code:
                code = ErrorCode(entry.error_code)
                self._fail([departure], KafkaError(code, entry.error_message or f"Produce to {tp}: {code.text}"))
            else:
                departure.succeed(int(entry.base_offset))

    def _fail(self, departures: Iterable[Departure], error: Exception) -> None:
        """Tell all of them. Errors that blame the metadata make it stale, so that the retry asks who leads now."""
        for departure in departures:
            if isinstance(error, KafkaError) and error.code.refresh_metadata:
                self._cluster.metadata.mark_stale([departure.topic_partition.topic])
            departure.fail(error)

    def _start(self, departures: list[Departure], work: Coroutine[Any, Any, None]) -> None:
        """Do what these batches need in a task that is not forgotten before its end."""
        task = asyncio.create_task(self._told(departures, work))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _told(self, departures: list[Departure], work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - nobody waits for this task: whoever waits for its batches is told
            self._fail(departures, error)


def _loads(departures: Iterable[Departure], max_bytes: int) -> list[list[Departure]]:
    """In as few requests as they fit into: one batch of a partition in each, those of one partition in their order."""
    loads: list[_Load] = []
    after: dict[TopicPartition, int] = {}
    for departure in departures:
        tp, size = departure.topic_partition, len(departure.data)
        at = after.get(tp, 0)
        while at < len(loads) and loads[at].size + size > max_bytes:
            at += 1
        if at == len(loads):
            loads.append(_Load())
        loads[at].size += size
        loads[at].departures.append(departure)
        after[tp] = at + 1
    return [load.departures for load in loads]
