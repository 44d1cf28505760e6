"""The seam to "later": who wants something done at another time asks a `Scheduler`, never an event loop by name.

A running broker hands in its event loop, which has both calls. Under a simulation it is a loop with virtual time; in
tests and offline tools a `TimerQueue`, which runs nothing before its owner says so. All of them keep two promises that
callers rely on: an action never runs inside the call that asked for it, and actions that are due at the same time run
in the order in which they were asked for.

An action runs on the scheduler's own thread. Whoever is on another one has to go through the loop's own means.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Protocol

from tidelog.common.clock import Clock

Action = Callable[[], object]


class TimerHandle(Protocol):
    """What was asked for, as long as it has not run."""

    def cancel(self) -> None:
        """Do not run it. Without effect once it has run."""
        ...


class Scheduler(Protocol):
    """The two calls of an event loop that are needed below the network; asyncio's loop and uvloop's have them."""

    def call_soon(self, action: Action, /) -> TimerHandle:
        """Run `action` once, after whatever runs now."""
        ...

    def call_later(self, seconds: float, action: Action, /) -> TimerHandle:
        """Run `action` once, not before `seconds` have passed."""
        ...


class _Entry:
    """An action in a `TimerQueue`; None once it was cancelled: taking it out of the heap would be dearer."""

    __slots__ = ("action",)

    def __init__(self, action: Action) -> None:
        self.action: Action | None = action

    def cancel(self) -> None:
        self.action = None


class TimerQueue:
    """A scheduler that runs nothing by itself: its owner moves the clock, and calls `run_due` now and then."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, _Entry]] = []
        self._order = count()

    def call_soon(self, action: Action, /) -> TimerHandle:
        return self.call_later(0, action)

    def call_later(self, seconds: float, action: Action, /) -> TimerHandle:
        entry = _Entry(action)
        heapq.heappush(self._heap, (self._clock.monotonic() + seconds, next(self._order), entry))
        return entry

    def __len__(self) -> int:
        """How much waits, cancelled actions included until their time has come."""
        return len(self._heap)

    def run_due(self) -> int:
        """Run what is due, in order; return how much that was."""
        return self._run(self._clock.monotonic())

    def run_all(self) -> int:
        """Run everything at once, due or not, and what that asks for (a tool that is about to end does)."""
        return self._run(float("inf"))

    def _run(self, until: float) -> int:
        done = 0
        while self._heap and self._heap[0][0] <= until:
            action = heapq.heappop(self._heap)[2].action
            if action is not None:
                action()
                done += 1
        return done
