"""The seam by which a log asks for something to be done later: the unlink of deleted files.

The broker hands in one that runs on its event loop (or a maintenance thread); tests and offline tools drive a
`TimerQueue` by hand.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Protocol

from tidelog.common.clock import Clock

Action = Callable[[], None]


class Scheduler(Protocol):
    def call_later(self, seconds: float, action: Action) -> object:
        """Run `action` once, not before `seconds` have passed."""
        ...


class TimerQueue:
    """A scheduler that runs nothing by itself: its owner calls `run_due` now and then."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Action]] = []
        self._order = count()

    def call_later(self, seconds: float, action: Action) -> None:
        heapq.heappush(self._heap, (self._clock.monotonic() + seconds, next(self._order), action))

    def __len__(self) -> int:
        return len(self._heap)

    def run_due(self) -> int:
        """Run what is due, in order; return how much that was."""
        return self._run(self._clock.monotonic())

    def run_all(self) -> int:
        """Run everything at once, due or not (a clean stop does)."""
        return self._run(float("inf"))

    def _run(self, until: float) -> int:
        done = 0
        while self._heap and self._heap[0][0] <= until:
            heapq.heappop(self._heap)[2]()
            done += 1
        return done


class GuardedScheduler:
    """Hands what is due to a guard, which runs it and knows what an error of the disk means."""

    def __init__(self, inner: Scheduler, guard: Callable[[Action], None]) -> None:
        self._inner = inner
        self._guard = guard

    def call_later(self, seconds: float, action: Action) -> object:
        return self._inner.call_later(seconds, lambda: self._guard(action))
