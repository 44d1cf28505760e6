"""Sender: takes batches out of the accumulator and brings them to their leaders. Lives on the loop, in turns.

A turn is one pass over what has changed, never a wait. It happens when a batch was begun or is full, when a timer is
due, when an answer or a connection or metadata has come:

    created, filled   → ready, by linger.ms, by size, when memory waits, when somebody flushes
    ready             → by leader (links), as many requests as `max.in.flight.requests.per.connection` allows
    answers           → outcomes of batches (see `recovery` for what a failure means)

Kafka's Sender loops over all partitions each time; here a partition is looked at when something happened to it (see
`readiness`).

A request holds one batch of a partition at most: brokers take no more. So a partition with many batches waiting has one
in each of the requests that are under way, in order, and those of its leader's other partitions fill the rest, each
coming first in turn. With `max.in.flight.requests.per.connection` answers outstanding, batches wait where they are;
that is where small ones would have been merged, had `linger.ms` been larger.

Order: requests to one leader leave on one connection, which keeps their order, and brokers serve it in order. What a
failure does to it is `recovery`'s.

Nothing is awaited here. What takes time (connecting, metadata, a producer id) is a task that ends with a turn.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer._batch import ProducerBatch
from tidelog.client.producer._partition_batches import PartitionBatches, TopicBatches
from tidelog.client.producer._steps import next_load, note_use, note_written, seal_load
from tidelog.client.producer.delivery import Counters, Delivery
from tidelog.client.producer.exchanges import Exchange, Exchanges
from tidelog.client.producer.leaders import Leaders
from tidelog.client.producer.links import Link
from tidelog.client.producer.readiness import Readiness
from tidelog.client.producer.recovery import Recovery
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.net.node_client import NodeClient

logger = logging.getLogger("tidelog.client.producer")
#: Who waits for room is woken when a quarter of the buffer is free, or after this long: not for each batch.
_ROOM_SECONDS = 0.01


class Identity(Protocol):
    """As whom batches leave; `ready` is false while that is not known."""

    @property
    def producer_id(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def ready(self) -> bool: ...


class Sender:
    """The way out of one producer. `highest` is the newest version of Produce that may be used."""

    def __init__(
        self,
        cluster: ClusterClient,
        accumulator: Accumulator,
        recovery: Recovery,
        identity: Identity,
        delivery: Delivery,
        *,
        callback_failed: Callable[[BaseException], None],
    ) -> None:
        """`identity` says as whom batches leave, `recovery` what becomes of those that fail; `callback_failed` is told
        what a user's callback has raised, as nobody else would hear of it.
        """
        self.counters = Counters()
        #: All batches that are not done, the oldest first.
        self.pending: deque[ProducerBatch] = deque()
        self.in_flight = 0
        #: Called at the end of a turn in which the transaction or the producer id needs somebody's attention.
        self.attend: Callable[[], None] = lambda: None
        #: Which partition may be written to now: in transactions of the first protocol, those that were added.
        self.admits: Callable[[PartitionBatches], bool] = lambda queue: True
        #: Told of a topic that nothing was written to for `metadata.max.idle.ms`: nobody needs its metadata here.
        self.forgot: Callable[[str], None] = lambda topic: None
        self.highest: int | None = None
        self._cluster = cluster
        self._accumulator = accumulator
        self._recovery = recovery
        recovery.was_split = self._was_split
        self._identity = identity
        self._delivery = delivery
        self._callback_failed = callback_failed
        self.leaders = Leaders(
            cluster,
            accumulator,
            delivery,
            start=self.start,
            changed=self.look_anew,
            forgotten=self._forgotten,
            gone=self._partitions_gone,
        )
        self.readiness = Readiness(cluster, accumulator, self.leaders, delivery.linger)
        self.readiness.one_by_one = delivery.max_in_flight == 1
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._turning = False
        self._exchanges = Exchanges(delivery, self.start)
        self._too_large: set[str] = set()
        self._silence: list[asyncio.Future[None]] = []
        self._closed = False

    # --- turns --------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Send what can be sent now."""
        self._turning = False
        if self._closed:
            self._refuse_late()
            return
        now = self._cluster.clock.monotonic()
        self._take_in(now)
        self._expire(now)
        if now >= self.leaders.next_refresh:
            self.leaders.refresh_all(now)
        self.attend()
        if self._identity.ready:
            for link in list(self.links.values()):
                if link.ready:
                    self._drain(link, now)
        self._make_room()
        self._arm(now)
        # Whoever has handed over goes on while the requests of this turn are written.
        self._accumulator.end_turn()
        self._exchanges.push()

    def _refuse_late(self) -> None:
        """Records whose thread was still in `send` when the producer was closed: nobody else tells their futures."""
        created, _ = self._accumulator.begin_turn()
        for batch in created:
            self._told(batch.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, "the producer is closed")))
        self._accumulator.end_turn()

    def _take_in(self, now: float) -> None:
        """Hear of new batches."""
        created, filled = self._accumulator.begin_turn()
        self.pending.extend(created)
        note_use(created, self._accumulator.topics, now)
        self.readiness.take_in(created, filled, now)

    def _expire(self, now: float) -> None:
        """Give up batches that are older than `delivery.timeout.ms`, the oldest first."""
        pending, oldest = self.pending, now - self._delivery.delivery_timeout
        while pending and (pending[0].done or pending[0].created <= oldest):
            batch = pending.popleft()
            if not batch.done:
                queue: PartitionBatches = batch.queue
                if batch in queue.waiting:
                    queue.drop(batch)
                elif batch in queue.returned:
                    queue.returned.remove(batch)
                self._recovery.give_up(batch, self._expired(batch))
                self._settle(queue)

    def _expired(self, batch: ProducerBatch) -> KafkaError:
        """Says why, as far as is known: what happened last on the way to the leader."""
        tp, seconds = batch.topic_partition, self._delivery.delivery_timeout
        text = f"{batch.count} records of {tp} were not acknowledged within delivery.timeout.ms ({seconds:g} s)"
        link = self.links.get(batch.queue.leader) if batch.queue.leader is not None else None
        if link is not None and link.error is not None:
            text = f"{text}: {link.error.message}"
        elif batch.queue in self.readiness.homeless:
            text = f"{text}: its leader is not known"
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, text)

    def _arm(self, now: float) -> None:
        """Have a turn when the next thing is due. A timer that comes early does no harm, and is left as it is."""
        # Everything that time brings about: old metadata, batches that linger or wait for another try, batches whose
        # time is up, room that came too slowly, brokers that could not be connected to.
        due = min(self.leaders.next_refresh, self.readiness.next_due)
        if self.pending:
            due = min(due, self.pending[0].created + self._delivery.delivery_timeout)
        if self._accumulator.is_crowded:
            due = min(due, now + _ROOM_SECONDS)
        for link in self.links.values():
            if link.ready and link.blocked_until > now:
                due = min(due, link.blocked_until)
        if self._timer is not None:
            if now < self._timer_at <= due:
                return
            self._timer.cancel()
        self._timer_at = due
        # Up to the next millisecond: loops round to one, and a timer that comes early would find nothing to do, and the
        # next one nothing either, until it is time.
        self._timer = asyncio.get_running_loop().call_later(math.ceil(max(due - now, 0.0) * 1000) / 1000, self._due)

    def _due(self) -> None:
        """The timer has gone off (perhaps a little early: a loop's clock may lag)."""
        self._timer = None
        self.turn()

    def _make_room(self) -> None:
        """Wake those who wait for room, when there is enough of it to be worth it, or nothing else to wait for."""
        pool = self._accumulator.pool
        if self._accumulator.waiters and (4 * pool.available >= pool.total or not self.in_flight or not self._timer):
            self._accumulator.give_room()

    @property
    def links(self) -> dict[int, Link]:
        return self.readiness.links

    def look_anew(self) -> None:
        """A leader, the producer id or the transaction has changed: every partition may be ready."""
        self.readiness.mark_all()
        self.turn()

    # --- requests -----------------------------------------------------------------------------------------------------

    def _drain(self, link: Link, now: float) -> None:
        """As many requests for this leader as may be under way."""
        node = link.node
        if node is None:
            link.stuck_since = link.stuck_since or now
            link.connect(now, self._connected)
            return
        while link.ready and link.in_flight < self._delivery.max_in_flight:
            load = self._load(link, now)
            if not load:
                break
            self._post(link, node, load)
        link.stuck_since = (link.stuck_since or now) if link.ready else 0.0

    def _connected(self, link: Link) -> None:
        """A connection is there, or could not be made: then the leader may be another by now."""
        if link.error is not None:
            self.leaders.want({queue.topic_partition.topic for queue in link.ready})
        self.turn()

    def _load(self, link: Link, now: float) -> list[ProducerBatch]:
        """One request's batches."""
        free = self._recovery.wanted is None and self._delivery.transactional_id is None
        readiness = self.readiness
        return next_load(
            link.ready,
            self._delivery.max_request_size,
            now,
            readiness.linger,
            readiness.nothing_lingers,
            None if free else self._may_leave,
        )

    def _may_leave(self, queue: PartitionBatches) -> bool:
        """What a transaction, or a producer id that is to be renewed, has to say."""
        return self._recovery.may_leave(queue.waiting[0]) and self.admits(queue)

    def _post(self, link: Link, node: NodeClient, load: list[ProducerBatch]) -> None:
        """Seal the batches and send them. The answer leads to a turn."""
        delivery, identity, now = self._delivery, self._identity, self._cluster.clock.monotonic()
        transactional, idempotent = delivery.transactional_id is not None, self._recovery.idempotent
        size, retries, waited = seal_load(load, idempotent, identity.producer_id, identity.epoch, transactional, now)
        counters = self.counters
        counters.batches += len(load)  # one that leaves again counts again
        counters.retries += retries
        counters.bytes_sent += size
        counters.queue_total += waited
        link.in_flight += 1
        self.in_flight += 1
        counters.requests += 1
        exchange = self._exchanges.begin(node, load, self.highest)
        exchange.answer.add_done_callback(partial(self._answered, link, exchange, now))

    def _answered(self, link: Link, exchange: Exchange, sent: float, answer: asyncio.Future[Any]) -> None:
        link.in_flight -= 1
        self.in_flight -= 1
        took = self._cluster.clock.monotonic() - sent
        self.counters.latency_total += took
        self.counters.latency_max = max(self.counters.latency_max, took)
        written, failed, error = exchange.outcome()
        link.error = error or link.error
        self._written(written)
        for batch, reason in failed:
            self._back(batch, reason)
        if not self.in_flight:
            waiting, self._silence = self._silence, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)
        self._turn_soon()

    def _turn_soon(self) -> None:
        """One turn for all answers that have come together."""
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self.turn)

    # --- outcomes -----------------------------------------------------------------------------------------------------

    def _written(self, outcomes: list[tuple[ProducerBatch, int, int]]) -> None:
        """Batches are no longer under way, and where they belong: (batch, offset, log append time)."""
        records, settled = note_written(outcomes, self._callback_failed)
        self.counters.records_sent += records
        for queue in settled:
            self._settle(queue)

    def _back(self, batch: ProducerBatch, outcome: KafkaError) -> None:
        """A batch is no longer under way, and not written as far as is known."""
        queue: PartitionBatches = batch.queue
        queue.in_flight -= 1
        batch.in_flight = False
        if outcome.code.refresh_metadata:
            self.leaders.want([queue.topic_partition.topic])
        # A retry that could not leave before its time is up is not worth the wait.
        wait = self._cluster.wait_before_retry(queue.failures)
        late = self._cluster.clock.monotonic() + wait > batch.created + self._delivery.delivery_timeout
        self._recovery.failed(batch, outcome, hopeless=late)
        self._settle(queue)

    def _settle(self, queue: PartitionBatches) -> None:
        """Once nothing of the partition is under way, what came back is next, after a wait."""
        if queue.in_flight:
            return
        if self._recovery.settle(queue):
            wait = self._cluster.wait_before_retry(queue.failures)
            queue.failures += 1
            self.readiness.retry_later(queue, self._cluster.clock.monotonic() + wait)
        elif self.readiness.is_due(queue, self._cluster.clock.monotonic()):
            self.readiness.mark(queue)

    def _forgotten(self, topic: TopicBatches) -> None:
        """Of a topic that nobody writes to its sequence numbers are kept, and nothing else."""
        self._recovery.forgotten(topic)
        self._too_large.discard(topic.name)
        self.forgot(topic.name)

    def _partitions_gone(self, queues: list[PartitionBatches]) -> None:
        """Nobody will ever lead these again: what waits for them need not wait out its time."""
        for queue in queues:
            self.readiness.homeless.pop(queue, None)
            unsent, queue.returned = [*queue.returned, *queue.waiting], []
            for batch in unsent:
                text = f"{batch.topic_partition} is no more: its topic was deleted and made anew with fewer partitions"
                self._recovery.give_up(batch, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text))

    def given_up(self, batch: ProducerBatch, error: KafkaError, *, intended: bool = False) -> None:
        """Told by `recovery`: whoever waits for the batch learns of it, and the log, unless the user wanted it so."""
        self.counters.errors += batch.count
        if not intended:
            logger.warning("%d records of %s were not written: %s", batch.count, batch.topic_partition, error.message)
        queue: PartitionBatches = batch.queue
        if batch in queue.waiting:
            queue.drop(batch)
        self._told(batch.fail(error))

    def _was_split(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        """Told by `recovery`: the parts are in the place of a batch that was too large."""
        topic = batch.topic_partition.topic
        if topic not in self._too_large:
            self._too_large.add(topic)
            text = "batches of %d bytes are too large for %s and leave in parts: set batch.size lower, or the topic's"
            logger.warning(f"{text} max.message.bytes higher", len(batch), topic)
        self.counters.splits += 1
        place = self.pending.index(batch)
        del self.pending[place]
        for part in reversed(parts):
            self.pending.insert(place, part)

    def _told(self, raised: BaseException | None) -> None:
        """A callback has raised: the user's next call does."""
        if raised is not None:
            self._callback_failed(raised)

    # --- life ---------------------------------------------------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something in passing; it is cancelled with the sender."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def flush(self) -> None:
        """Wait until everything that was sent so far is written or given up; nothing lingers meanwhile."""
        self.readiness.flushing += 1
        try:
            self.turn()
            for batch in list(self.pending):
                await batch.finished()
        finally:
            self.readiness.flushing -= 1

    async def silence(self) -> None:
        """Wait until no request is under way any more, also of those whose batches were given up meanwhile."""
        while self.in_flight:
            future = asyncio.get_running_loop().create_future()
            self._silence.append(future)
            await future

    def fail_all(self, error: KafkaError) -> list[ProducerBatch]:
        """Give up everything that is not done, also what is under way; what it was."""
        self._take_in(self._cluster.clock.monotonic())
        lost = [batch for batch in self.pending if not batch.done]
        for batch in lost:
            self.given_up(batch, error)
        self.pending.clear()
        return lost

    async def close(self) -> None:
        """Stop; requests under way are given up. `fail_all` has told whoever waits."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for link in self.links.values():
            link.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
