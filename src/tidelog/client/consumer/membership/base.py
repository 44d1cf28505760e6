"""What both kinds of membership share: a state, tasks that must not die silently, and an eye on the user's polls.

    host's calls (polled, subscription_changed, …)  ──►  flags, and `_wake`
    the walking task                                ◄──  reads them, acts, changes the state

Two things must never happen here: a member that nothing is scheduled for any more (it would hold its partitions, or
starve, silently), and an exception that nobody sees. So each task either runs until the membership ends or ends it, and
what ends it reaches the user through `GroupHost.failed`.

Everything happens on one loop, so a flag that is set between two awaits of the walking task is seen by it; nothing is
locked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from enum import Enum
from typing import Any, Generic, TypeVar

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.coordinator import GroupCoordinator
from tidelog.client.consumer.host import GroupHost
from tidelog.client.consumer.membership.poll_timer import PollTimer
from tidelog.common.config import Config
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.state_table import StateTable
from tidelog.common.types import TopicPartition
from tidelog.net.pauses import pause

logger = logging.getLogger("tidelog.client.consumer")

S = TypeVar("S", bound=Enum)

#: A coordinator that does not answer a farewell is not waited for any longer.
_FAREWELL_SECONDS = 5.0


class MembershipBase(Generic[S]):
    """One membership. `_walk` is the heirs' walking task, `_put_out` what they do when the user has not polled."""

    def __init__(self, cluster: ClusterClient, host: GroupHost, config: Config, table: StateTable[S]) -> None:
        group_id = config[keys.GROUP_ID]
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID, "to join a group, group.id must be set")
        self._cluster = cluster
        self._host = host
        self._config = config
        self._group_id: str = group_id
        self._instance_id = config[keys.GROUP_INSTANCE_ID]
        self._client_id = config[common.CLIENT_ID]
        self._coordinator = GroupCoordinator(cluster, group_id)
        self._table = table
        self._at = table.initial
        self._polls = PollTimer(config[keys.MAX_POLL_INTERVAL_MS] / 1000, cluster.clock.monotonic())
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._step: asyncio.Task[None] | None = None
        self._settled: list[asyncio.Future[None]] = []
        self._failures = 0
        self._waits = False  # the user is inside poll

    # --- states -------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        return str(self._at.value)

    def _enter(self, state: S) -> None:
        """Go to a state that the table allows; whoever waits for it to be settled is told."""
        if state is self._at:
            return
        logger.debug("%s: %s → %s", self._name, self._at.value, state.value)
        self._at = self._table.check(self._at, state)
        self._let_settled()

    def _let_settled(self) -> None:
        """Let those go on who wait until our generation is known, if it is."""
        if not self._is_moving:
            waiting, self._settled = self._settled, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    @property
    def _is_moving(self) -> bool:
        """Whether the generation that we know is about to end: commits wait."""
        return False

    @property
    def _name(self) -> str:
        """How the log calls us."""
        instance = f" (instance {self._instance_id})" if self._instance_id else ""
        return f"consumer {self._client_id}{instance} of group {self._group_id}"

    # --- what commits need --------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Return when it is known which generation we are in."""
        while self._is_moving:
            future = asyncio.get_running_loop().create_future()
            self._settled.append(future)
            await future

    def owns(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether all of these are ours at present; only then may a commit that has waited be sent."""
        return self._host.owned().issuperset(partitions)

    @property
    def is_held_up(self) -> bool:
        """Whether the coordinator would answer a commit only behind a request that it keeps."""
        return False

    @property
    def has_epoch(self) -> bool:
        """Whether reads of offsets are fenced, too (KIP-848); the classic protocol fences commits alone."""
        return False

    # --- tasks --------------------------------------------------------------------------------------------------------

    def _spawn(self, *coroutines: Coroutine[Any, Any, None]) -> None:
        """Tasks that end with the membership. One that fails ends it: the user learns of it from the next poll."""
        for coroutine in coroutines:
            task = asyncio.get_running_loop().create_task(coroutine)
            task.add_done_callback(self._task_ended)
            self._tasks.append(task)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """Tasks end by being cancelled; anything else is a bug of ours, and the user has to know. The others would go
        on with half a membership (a member that nobody beats for, or that never takes what it is given): all end, and
        nothing more is handed out.
        """
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s: the membership ended by an error of its own", self._name, exc_info=error)
            for other in self._tasks:
                other.cancel()
            self._host.hold_back()
            self._host.failed(error if isinstance(error, Exception) else RuntimeError(str(error)), final=True)

    async def _stop_tasks(self) -> None:
        """Cancel all but the one that asks for it."""
        current = asyncio.current_task()
        tasks, self._tasks = [task for task in self._tasks if task is not current], []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _farewell(self, tell: Coroutine[Any, Any, object]) -> None:
        """Best effort, and not for long: who is not told finds out when the session is over."""
        try:
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await tell
        except (KafkaError, TimeoutError) as error:
            logger.info("%s: the coordinator was not told that we leave: %s", self._name, error or "it took too long")

    async def _run_step(self, step: Coroutine[Any, Any, None]) -> None:
        """Await a step of the walking task that `_break_off` may end early: what it was built on no longer holds."""
        self._step = asyncio.get_running_loop().create_task(step)
        try:
            await self._step
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
        finally:
            self._step = None

    def _break_off(self) -> None:
        """End the step at hand, unless it is the step that asks for it."""
        if self._step is not None and self._step is not asyncio.current_task():
            self._step.cancel()

    async def _back_off(self) -> None:
        """A growing wait after each failure in a row."""
        wait = self._cluster.wait_before_retry(self._failures)
        self._failures += 1
        await pause(wait)

    # --- the user's polls ---------------------------------------------------------------------------------------------

    def polled(self) -> None:
        self._polls.polled(self._cluster.clock.monotonic())

    def waiting(self, waits: bool) -> None:
        """A poll that waits for records for an hour is no user who is gone, and a user who is back (`polled`)."""
        self._waits = waits
        if waits:
            self.polled()
        else:
            self._polls.polled(self._cluster.clock.monotonic())

    async def _watch_polls(self) -> None:
        """Warn of a slow user, then leave the group for it."""
        while True:
            now = self._cluster.clock.monotonic()
            if self._waits:
                self._polls.polled(now)
            if self._in_group and self._polls.expired(now):
                logger.warning(
                    "%s leaves the group: poll() has not been called for %.1f s, which is longer than "
                    "max.poll.interval.ms=%d. The records of the last poll take too long: raise max.poll.interval.ms "
                    "or lower max.poll.records. It joins again with the next poll()",
                    self._name,
                    self._polls.since(now),
                    1000 * self._polls.interval,
                )
                await self._put_out()
            elif self._in_group and self._polls.warns(now):
                logger.warning(
                    "%s has not called poll() for %.1f s: it will leave the group after %.1f s (max.poll.interval.ms)",
                    self._name,
                    self._polls.since(now),
                    self._polls.interval,
                )
            await pause(max(self._polls.next_check(self._cluster.clock.monotonic()), 0.01))

    @property
    def _in_group(self) -> bool:
        """Whether there is a place in the group that a user who does not poll would hold for nothing."""
        raise NotImplementedError

    async def _put_out(self) -> None:
        """The user does not poll: leave, and wait for the next poll."""
        raise NotImplementedError
