"""Time in the coordinators: named time-outs of one shard, what recurs, and waiting inside a coroutine.

All of it goes through a `Scheduler`, never through the running loop: under a simulation, or a test that moves its clock
by hand, a session that lasts 45 seconds times out without anybody waiting for it.

A machine asks for `set(key, delay, action)`; setting a key again replaces it. The action runs as a write of the shard:
what it returns is appended and replayed like the result of a request. Heartbeats push their member's time-out forward
all the time, so a later deadline only updates a number: the scheduler's timer, when it fires early, is armed again.
Ten thousand members that send a heartbeat every 3 seconds and time out after 45 thus cost one timer each per 45
seconds, not one per heartbeat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

from tidelog.broker.coordinator.result import Result
from tidelog.common.clock import Clock
from tidelog.common.scheduler import Scheduler, TimerHandle

Action = Callable[[], Result | None]


class Timers(Protocol):
    """What a machine sees."""

    def set(self, key: Hashable, delay_ms: int, action: Action) -> None: ...
    def set_if_absent(self, key: Hashable, delay_ms: int, action: Action) -> None: ...
    def cancel(self, key: Hashable) -> None: ...
    def __contains__(self, key: Hashable) -> bool: ...


@dataclass(slots=True)
class _Timer:
    deadline: float
    action: Action
    armed_for: float
    handle: TimerHandle | None = None


class ShardTimers:
    """`Timers` over a scheduler; `run` executes an action as a write of the shard."""

    def __init__(self, scheduler: Scheduler, clock: Clock, run: Callable[[Action], None]) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._run = run
        self._timers: dict[Hashable, _Timer] = {}

    def set(self, key: Hashable, delay_ms: int, action: Action) -> None:
        """Run `action` after the delay, in place of whatever the key stood for. Later than before: only the deadline
        moves.
        """
        deadline = self._clock.monotonic() + delay_ms / 1000
        timer = self._timers.get(key)
        if timer is not None and timer.armed_for <= deadline:
            timer.deadline = deadline
            timer.action = action
            return
        if timer is not None and timer.handle is not None:
            timer.handle.cancel()
        self._timers[key] = timer = _Timer(deadline, action, deadline)
        self._arm(key, timer, delay_ms / 1000)

    def set_if_absent(self, key: Hashable, delay_ms: int, action: Action) -> None:
        """For a deadline that must not move: how long a member has to give back its partitions."""
        if key not in self._timers:
            self.set(key, delay_ms, action)

    def cancel(self, key: Hashable) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None and timer.handle is not None:
            timer.handle.cancel()

    def cancel_all(self) -> None:
        for key in list(self._timers):
            self.cancel(key)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._timers

    def __len__(self) -> int:
        return len(self._timers)

    def _arm(self, key: Hashable, timer: _Timer, delay: float) -> None:
        timer.armed_for = timer.deadline
        timer.handle = self._scheduler.call_later(delay, lambda: self._fire(key, timer))

    def _fire(self, key: Hashable, timer: _Timer) -> None:
        """The scheduler's timer is due; the deadline may have moved meanwhile, or the key may stand for something else.
        Half a millisecond early counts as in time: loops round to their own ticks.
        """
        if self._timers.get(key) is not timer:
            return
        left = timer.deadline - self._clock.monotonic()
        if left > 0.0005:
            self._arm(key, timer, left)
            return
        del self._timers[key]
        self._run(timer.action)


class Recurring:
    """Actions that come back until `stop`: each so long after it was done last, so a slow one never piles up."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._next: dict[Callable[[], None], TimerHandle] = {}

    def every(self, interval_ms: int, action: Callable[[], None]) -> None:
        """For the first time when one interval has passed: right after a start there is nothing to find."""

        def tick() -> None:
            action()
            self._next[action] = self._scheduler.call_later(interval_ms / 1000, tick)

        self._next[action] = self._scheduler.call_later(interval_ms / 1000, tick)

    def stop(self) -> None:
        for handle in self._next.values():
            handle.cancel()


async def pause(scheduler: Scheduler, seconds: float = 0.0) -> None:
    """Wait in the scheduler's time; for no time at all, let others have their turn.

    It is woken by a plain future, which whoever awaits it may give up: a cancelled wait leaves no timer behind.
    """
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if seconds:
        handle = scheduler.call_later(seconds, lambda: wake(waiter))
    else:
        handle = scheduler.call_soon(lambda: wake(waiter))
    try:
        await waiter
    finally:
        handle.cancel()


def wake(waiter: asyncio.Future[None]) -> None:
    """Let go on who waits, unless it has given up (its client hung up) or was woken already."""
    if not waiter.done():
        waiter.set_result(None)
