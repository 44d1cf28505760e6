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
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer._accumulator import Accumulator, PartitionBatches
from tidelog.client.producer._batch import ProducerBatch
from tidelog.client.producer.delivery import Counters, Delivery
from tidelog.client.producer.leaders import Leaders
from tidelog.client.producer.links import Link
from tidelog.client.producer.produce_requests import Written, outcomes, produce_request
from tidelog.client.producer.readiness import Readiness
from tidelog.client.producer.recovery import Recovery
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import NO_OFFSET, NO_TIMESTAMP
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
        callback_failed: Callable[[Exception], None],
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
        self.highest: int | None = None
        self._cluster = cluster
        self._accumulator = accumulator
        self._recovery = recovery
        self._identity = identity
        self._delivery = delivery
        self._callback_failed = callback_failed
        self.leaders = Leaders(cluster, accumulator, delivery, start=self.start, changed=self.look_anew)
        self.readiness = Readiness(cluster, accumulator, self.leaders, delivery.linger)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    # --- turns --------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Send what can be sent now."""
        if self._closed:  # a record that came too late: `fail_all` of the core has told its future
            self._accumulator.begin_turn()
            self._accumulator.end_turn()
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
        self._accumulator.end_turn()

    def _take_in(self, now: float) -> None:
        """Hear of new batches."""
        created, filled = self._accumulator.begin_turn()
        self.pending.extend(created)
        topics = self._accumulator.topics
        for batch in created:
            topic = topics.get(batch.topic_partition.topic)
            if topic is not None:
                topic.used_at = now
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
        self._timer = asyncio.get_running_loop().call_later(max(due - now, 0.0), self._due)

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
        """One request's batches: the oldest of each partition that is ready, in turn, up to `max.request.size`."""
        load: list[ProducerBatch] = []
        size = 0
        for _ in range(len(link.ready)):
            queue = link.ready.popleft()
            queue.ready = False
            if not self._may_leave(queue):
                continue
            head = queue.waiting[0]
            # It may still be open. Once closed and packed its size is final, and its place in the deque is kept: a
            # later record begins a new batch behind it.
            head.close()
            head.pack()
            if load and size + len(head) > self._delivery.max_request_size:
                queue.ready = True
                link.ready.appendleft(queue)
                break
            load.append(queue.taken())
            size += len(head)
            # More of the partition may follow in the next request, but after a failure only once this one is back.
            if not queue.failures and self.readiness.is_due(queue, now):
                queue.ready = True
                link.ready.append(queue)
        return load

    def _may_leave(self, queue: PartitionBatches) -> bool:
        """Not while something before it comes back, and one by one after a failure. Who may not is marked ready
        again by whatever it waits for.
        """
        if not queue.waiting or queue.returned or (queue.failures and queue.in_flight):
            return False
        return self._recovery.may_leave(queue.waiting[0]) and self.admits(queue)

    def _post(self, link: Link, node: NodeClient, load: list[ProducerBatch]) -> None:
        """Seal the batches and send them. The answer leads to a turn."""
        delivery, identity, now = self._delivery, self._identity, self._cluster.clock.monotonic()
        transactional = delivery.transactional_id is not None
        for batch in load:
            sequence = self._recovery.number(batch, identity.producer_id)
            # A retry leaves exactly as it left before, unless it was given another number meanwhile.
            if batch.base_sequence < 0 or batch.base_sequence != sequence or not batch.attempts:
                batch.seal(identity.producer_id, identity.epoch, sequence, transactional)
            batch.in_flight = True
            batch.attempts += 1
            batch.queue.in_flight += 1
            self._count(batch, now)
        request = produce_request(
            load, transactional_id=delivery.transactional_id, acks=delivery.acks, timeout_ms=delivery.request_timeout_ms
        )
        link.in_flight += 1
        self.in_flight += 1
        self.counters.requests += 1
        answer = self.start(node.send(request, highest=self.highest, answered=delivery.acks != 0))
        answer.add_done_callback(partial(self._answered, link, load, now))

    def _count(self, batch: ProducerBatch, now: float) -> None:
        """For `metrics()`; a batch that leaves again counts again."""
        self.counters.batches += 1
        self.counters.retries += batch.attempts > 1
        self.counters.bytes_sent += len(batch)
        self.counters.queue_total += now - batch.created

    # (A request that cannot be sent, or is not answered in time, ends as an exception of its task: the batches in it
    # come back with that error, like those that the broker refuses.)

    def _answered(self, link: Link, load: list[ProducerBatch], sent: float, answer: asyncio.Future[Any]) -> None:
        link.in_flight -= 1
        self.in_flight -= 1
        took = self._cluster.clock.monotonic() - sent
        self.counters.latency_total += took
        self.counters.latency_max = max(self.counters.latency_max, took)
        error = _error_of(answer)
        if error is not None:
            link.error = error
            for batch in load:
                self._back(batch, error)
        elif answer.result() is None:  # acks=0: nobody answers
            for batch in load:
                self._back(batch, Written(NO_OFFSET, NO_TIMESTAMP))
        else:
            for batch, outcome in outcomes(load, answer.result()):
                self._back(batch, outcome)
        self.turn()

    # --- outcomes -----------------------------------------------------------------------------------------------------

    def _back(self, batch: ProducerBatch, outcome: Written | KafkaError) -> None:
        """A batch is no longer under way."""
        queue: PartitionBatches = batch.queue
        queue.in_flight -= 1
        batch.in_flight = False
        if isinstance(outcome, Written):
            queue.failures = 0
            if not batch.done:
                queue.records_written += batch.count
                self.counters.records_sent += batch.count
                self._told(batch.succeed(outcome.offset, outcome.log_append_time))
        else:
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

    def given_up(self, batch: ProducerBatch, error: KafkaError, *, intended: bool = False) -> None:
        """Told by `recovery`: whoever waits for the batch learns of it, and the log, unless the user wanted it so."""
        self.counters.errors += batch.count
        if not intended:
            logger.warning("%d records of %s were not written: %s", batch.count, batch.topic_partition, error.message)
        queue: PartitionBatches = batch.queue
        if batch in queue.waiting:
            queue.drop(batch)
        self._told(batch.fail(error))

    def _told(self, raised: Exception | None) -> None:
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


def _error_of(answer: asyncio.Future[Any]) -> KafkaError | None:
    """What went wrong with an exchange, as a KafkaError: anything else is the end of a connection, too."""
    if answer.cancelled():
        return KafkaError(ErrorCode.NETWORK_EXCEPTION, "the producer was closed")
    error = answer.exception()
    if error is None or isinstance(error, KafkaError):
        return error
    return KafkaError(ErrorCode.NETWORK_EXCEPTION, str(error))
