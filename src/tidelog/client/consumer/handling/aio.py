"""A run for the asyncio consumer: the caller's task polls and commits, a task per record at work calls the handler.

    the caller's task       poll → add → create tasks → commit what is due → pause or resume → poll …
    a handler's task        handler, again as the policy says → done or abandoned → the next job of any queue …

The steps are those of the blocking run, which see; here everything is on the caller's loop, so there are no locks, and
nothing changes between two awaits. A handler may be a coroutine (the reason to be here) or a plain function, which
holds up the loop, heartbeats included, as long as it takes: a slow one belongs to the blocking consumer, or into
`asyncio.to_thread`.

Cancelling the run cancels the handlers at work; what they had not done is not committed, and comes again.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tidelog.client.consumer.errors import WakeupError
from tidelog.client.consumer.handling.course import FULL_POLL_SECONDS, POLL_SECONDS, Course
from tidelog.client.consumer.handling.policies import Again, DeadLetter, Policy, Stop
from tidelog.client.consumer.handling.workload import Job
from tidelog.common.errors import TidelogError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.consumer.aio import Consumer
    from tidelog.client.producer.aio import Producer

logger = logging.getLogger("tidelog.client.consumer")


class AsyncRun:
    """`run()` returns when the consumer is woken up, and raises what a handler raised for good."""

    def __init__(self, consumer: Consumer, course: Course) -> None:
        self._consumer = consumer
        self._course = course
        self._workload = course.workload
        self._theirs = course.core.subscription.listener
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._producer: Producer | None = None
        self._held: frozenset[TopicPartition] = frozenset()

    async def run(self) -> None:
        course = self._course
        with course.under_way(self):
            try:
                while course.failure is None:
                    await self._turn()
            except WakeupError:
                logger.debug("the run of %s was woken up", course.name)
            except asyncio.CancelledError:
                for task in self._tasks:
                    task.cancel()
                raise
            finally:
                await self._come_to_rest()
        if course.failure is not None:
            raise course.failure

    async def _turn(self) -> None:
        """Once around for the poller. Commits go off without waiting: the next one says more than a lost one did."""
        self._workload.add(await self._consumer.poll(FULL_POLL_SECONDS if self._held else POLL_SECONDS))
        while (job := self._course.take()) is not None:
            task = asyncio.get_running_loop().create_task(self._work(job), name=f"tidelog-handler {job.place}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._course.warn_of_slow()
        if self._workload.is_full and (more := self._consumer.assignment() - self._held):
            await self._consumer.pause(more)
            self._held |= more
        elif self._workload.has_room and self._held:
            held, self._held = self._held, frozenset()
            await self._consumer.resume(held & self._consumer.assignment())
        if offsets := self._course.to_commit():
            await self._consumer.commit_async(offsets, self._course.confirmed)

    async def _come_to_rest(self) -> None:
        """Begin nothing more, wait for what is at work, and commit what is done. What was polled and not done is not
        passed over: the consumer stands before it again, for the next run, poll or auto-commit. It does so before the
        wait, too, which a second cancellation may break off.
        """
        self._stopping.set()
        self._workload.drop_queued()
        self._put_back()
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._held:
                await self._consumer.resume(self._held & self._consumer.assignment())
            await self._commit(self._consumer.assignment())
        finally:
            self._put_back()
            if self._producer is not None:
                await self._producer.close()

    def _put_back(self) -> None:
        """Let the consumer stand before the first record of each partition that is not done."""
        self._course.core.put_back(self._workload.positions())
        self._course.is_put_back = True

    async def _commit(self, partitions: Iterable[TopicPartition]) -> None:
        """Commit what is done of these, and wait for it: they go to somebody else, or the run ends."""
        offsets = self._workload.committable(partitions)
        if offsets:
            try:
                await self._consumer.commit(offsets)
            except TidelogError as error:
                self._course.unconfirmed(error)
            else:
                self._workload.committed(offsets)

    # --- workers ------------------------------------------------------------------------------------------------------

    async def _work(self, job: Job | None) -> None:
        """One job after the other, as long as there are some."""
        while job is not None:
            done = False
            try:
                done = await self._handle(job)
            except Exception as error:  # noqa: BLE001  # of a dead letter's: the run ends with it
                self._course.fail(job, error)
            finally:
                self._course.ended(job, done=done)
                self._changed.set()
            job = None if self._stopping.is_set() else self._course.take()

    async def _handle(self, job: Job) -> bool:
        """Whether it is done with, one way or another; not, if the run ends before."""
        course = self._course
        job.began = course.now
        while True:
            job.attempts += 1
            try:
                outcome = course.handler(job.record)
                if inspect.isawaitable(outcome):
                    await outcome
                return True
            except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001  # whatever a handler raises is the policy's
                error = _of_handler(raised)
                decision = course.decide(job, error)
                if isinstance(decision, Again):
                    if await self._stopped_within(decision.after):
                        return False
                elif isinstance(decision, DeadLetter):
                    await self._bury(job, decision.topic, error)
                    return True
                elif isinstance(decision, Stop):
                    course.fail(job, error)
                    return False
                else:
                    course.skip(job, error)
                    return True

    async def _stopped_within(self, seconds: float) -> bool:
        """Wait before the next attempt, but not longer than the run goes on."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return False
        return True

    async def _bury(self, job: Job, topic: str, error: BaseException) -> None:
        """The record is done with when its dead letter is written."""
        from tidelog.client.producer.aio import Producer

        if self._producer is None:
            self._producer = Producer(self._course.producer_settings())
        await self._producer.send(topic, **self._course.dead_letter_of(job, error))
        self._course.buried(job, topic, error)

    # --- the group ----------------------------------------------------------------------------------------------------

    async def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """In the caller's task, inside poll: finish what was begun, commit it, then the user's own listener."""
        self._workload.drop_queued(partitions)
        try:
            async with asyncio.timeout(self._course.core.config_max_poll_interval):
                while self._workload.working_on(partitions):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            logger.warning("%s is still at work on partitions that the group takes away", self._course.name)
        await self._commit(partitions)
        self._gone(partitions)
        await self._tell("on_partitions_revoked", partitions)

    async def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """Too late to commit: what is at work of them ends, and counts for nothing."""
        self._gone(partitions)
        await self._tell("on_partitions_lost", partitions)

    async def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        await self._tell("on_partitions_assigned", partitions)

    async def _tell(self, method: str, partitions: list[TopicPartition]) -> None:
        """The user's own listener, whose methods may be coroutines."""
        outcome = self._course.tell(self._theirs, method, partitions)
        if inspect.isawaitable(outcome):
            await outcome

    def _gone(self, partitions: list[TopicPartition]) -> None:
        self._workload.forget(partitions)
        self._held -= frozenset(partitions)


def _of_handler(raised: BaseException) -> Exception:
    """A handler's error, for the policy. Something that a handler has waited for may have been cancelled: that is an
    error like any other, unless it is the worker that is being cancelled.
    """
    if isinstance(raised, Exception):
        return raised
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise raised
    error = RuntimeError("the handler has waited for something that was cancelled")
    error.__cause__ = raised
    return error


async def run(
    consumer: Consumer, handler: Callable[..., Any], ordering: str, concurrency: int, on_error: Policy | None
) -> None:
    """See `Consumer.run`."""
    await AsyncRun(consumer, Course(consumer._core, handler, ordering, concurrency, on_error)).run()
