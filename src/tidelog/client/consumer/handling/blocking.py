"""A run for the blocking consumer: the caller's thread polls and commits, a pool of threads calls the handler.

    the caller's thread     poll → add → submit → commit what is due → pause or resume → poll …
    a worker                take → handler, again as the policy says → done or abandoned → take …

The consumer is touched by the caller's thread alone. Workers share the `Workload` under one lock, and take the next job
themselves when one is done: they do not wait for the poller to come around. The lock is never held while a handler, a
request or a wait is under way.

Polling never stops while handlers are at work: that is what keeps us in the group, however long they take. When enough
is queued the partitions are paused, so that a poll brings nothing but keeps its other meanings (listeners, callbacks,
the timer of `max.poll.interval.ms`).

Everything ends the same way, be it a wake-up, a handler's error, Ctrl-C or an error of the consumer's: nothing more is
begun, what is at work is waited for, what is done is committed, and the consumer stands before the rest.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tidelog.client.consumer.errors import WakeupError
from tidelog.client.consumer.handling.course import FULL_POLL_SECONDS, POLL_SECONDS, Course
from tidelog.client.consumer.handling.policies import Again, DeadLetter, Policy, Stop
from tidelog.client.consumer.handling.workload import Job
from tidelog.common.errors import TidelogError, UsageError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.consumer.blocking import Consumer
    from tidelog.client.producer.blocking import Producer

logger = logging.getLogger("tidelog.client.consumer")


class BlockingRun:
    """`run()` returns when the consumer is woken up, and raises what a handler raised for good."""

    def __init__(self, consumer: Consumer, course: Course, concurrency: int) -> None:
        if inspect.iscoroutinefunction(course.handler):
            raise UsageError(f"{course.name} is a coroutine: run it by tidelog.aio.Consumer")
        self._consumer = consumer
        self._course = course
        self._workload = course.workload
        self._theirs = course.core.subscription.listener
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._producer: Producer | None = None
        self._producing = threading.Lock()
        self._held: frozenset[TopicPartition] = frozenset()
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="tidelog-handler")

    def run(self) -> None:
        course = self._course
        with course.under_way(self):
            try:
                while course.failure is None:
                    self._turn()
            except WakeupError:
                logger.debug("the run of %s was woken up", course.name)
            finally:
                self._come_to_rest()
        if course.failure is not None:
            raise course.failure

    def _turn(self) -> None:
        """Once around for the poller. Commits go off without waiting: the next one says more than a lost one did."""
        records = self._consumer.poll(FULL_POLL_SECONDS if self._held else POLL_SECONDS)
        with self._changed:
            self._workload.add(records)
            while (job := self._course.take()) is not None:
                self._pool.submit(self._work, job)
            full, room = self._workload.is_full, self._workload.has_room
            offsets = self._course.to_commit()
        self._course.warn_of_slow()
        if full and (more := self._consumer.assignment() - self._held):
            self._consumer.pause(more)
            self._held |= more
        elif room and self._held:
            held, self._held = self._held, frozenset()
            self._consumer.resume(held & self._consumer.assignment())
        if offsets:
            self._consumer.commit_async(offsets, self._course.confirmed)

    def _come_to_rest(self) -> None:
        """Begin nothing more, wait for what is at work, and commit what is done. What was polled and not done is not
        passed over: the consumer stands before it again, for the next run, poll or auto-commit. It does so before the
        wait, too, which a second interrupt may break off.
        """
        self._stopping.set()
        with self._changed:
            self._workload.drop_queued()
        self._put_back()
        try:
            self._pool.shutdown(wait=True)
            if self._held:
                self._consumer.resume(self._held & self._consumer.assignment())
            self._commit(self._consumer.assignment())
        finally:
            self._put_back()
            if self._producer is not None:
                self._producer.close()

    def _put_back(self) -> None:
        """Let the consumer stand before the first record of each partition that is not done."""
        with self._changed:
            positions = self._workload.positions()
        self._course.core.post(self._course.core.put_back, positions)
        self._course.is_put_back = True

    def _commit(self, partitions: Iterable[TopicPartition]) -> None:
        """Commit what is done of these, and wait for it: they go to somebody else, or the run ends."""
        with self._changed:
            offsets = self._workload.committable(partitions)
        if offsets:
            try:
                self._consumer.commit(offsets)
            except TidelogError as error:
                self._course.unconfirmed(error)
            else:
                with self._changed:
                    self._workload.committed(offsets)

    # --- workers ------------------------------------------------------------------------------------------------------

    def _work(self, job: Job | None) -> None:
        """One job after the other, as long as there are some."""
        while job is not None:
            try:
                done = self._handle(job)
            except BaseException as error:  # noqa: BLE001  # of a worker's: the run ends with it
                self._course.fail(job, error)
                done = False
            with self._changed:
                self._course.ended(job, done=done)
                self._changed.notify_all()
                job = None if self._stopping.is_set() else self._course.take()

    def _handle(self, job: Job) -> bool:
        """Whether it is done with, one way or another; not, if the run ends before."""
        course = self._course
        job.began = course.now
        while True:
            job.attempts += 1
            try:
                course.handler(job.record)
                return True
            except Exception as error:  # noqa: BLE001  # whatever a handler raises is the policy's
                decision = course.decide(job, error)
                if isinstance(decision, Again):
                    if self._stopping.wait(decision.after):
                        return False
                elif isinstance(decision, DeadLetter):
                    self._bury(job, decision.topic, error)
                    return True
                elif isinstance(decision, Stop):
                    course.fail(job, error)
                    return False
                else:
                    course.skip(job, error)
                    return True

    def _bury(self, job: Job, topic: str, error: BaseException) -> None:
        """The record is done with when its dead letter is written."""
        from tidelog.client.producer.blocking import Producer

        with self._producing:  # the first worker that needs it makes it
            if self._producer is None:
                self._producer = Producer(self._course.producer_settings())
        self._producer.send(topic, **self._course.dead_letter_of(job, error)).result()
        self._course.buried(job, topic, error)

    # --- the group ----------------------------------------------------------------------------------------------------

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """In the caller's thread, inside poll: finish what was begun, commit it, then the user's own listener."""
        with self._changed:
            self._workload.drop_queued(partitions)
            patience = self._course.core.config_max_poll_interval
            self._changed.wait_for(lambda: not self._workload.working_on(partitions), patience)
        self._commit(partitions)
        self._gone(partitions)
        self._course.tell(self._theirs, "on_partitions_revoked", partitions)

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """Too late to commit: what is at work of them ends, and counts for nothing."""
        self._gone(partitions)
        self._course.tell(self._theirs, "on_partitions_lost", partitions)

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        self._course.tell(self._theirs, "on_partitions_assigned", partitions)

    def _gone(self, partitions: list[TopicPartition]) -> None:
        with self._changed:
            self._workload.forget(partitions)
        self._held -= frozenset(partitions)


def run(
    consumer: Consumer, handler: Callable[..., Any], ordering: str, concurrency: int, on_error: Policy | None
) -> None:
    """See `Consumer.run`."""
    course = Course(consumer._core, handler, ordering, concurrency, on_error)
    BlockingRun(consumer, course, concurrency).run()
