"""Named time-outs of one shard.

A machine asks for `set(key, delay, action)`; setting a key again replaces it. The action runs as a write of the shard:
what it returns is appended and replayed like the result of a request. Heartbeats push their member's time-out forward
all the time, so a later deadline only updates a number: the loop's timer, when it fires early, is armed again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

from tidelog.broker.coordinator.result import Result
from tidelog.common.clock import Clock

Action = Callable[[], Result | None]


class Handle(Protocol):
    def cancel(self) -> None: ...


class Scheduler(Protocol):
    """The two calls of an event loop that the coordinators need; asyncio's loop is one."""

    def call_soon(self, callback: Callable[[], object], /) -> Handle: ...
    def call_later(self, delay: float, callback: Callable[[], object], /) -> Handle: ...


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
    handle: Handle | None = None


class LoopTimers:
    """`Timers` over an event loop; `run` executes an action as a write of the shard."""

    def __init__(self, scheduler: Scheduler, clock: Clock, run: Callable[[Action], None]) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._run = run
        self._timers: dict[Hashable, _Timer] = {}

    def set(self, key: Hashable, delay_ms: int, action: Action) -> None:
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
        if self._timers.get(key) is not timer:
            return
        left = timer.deadline - self._clock.monotonic()
        if left > 0.0005:
            self._arm(key, timer, left)
            return
        del self._timers[key]
        self._run(timer.action)
