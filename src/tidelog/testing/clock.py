"""Clocks for tests: one that is moved by hand, and one that shows a loop's virtual time. No test waits for time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.testing.loop import VirtualLoop

#: Where a manual clock starts unless told otherwise: 2024-01-01T00:00:00Z, a time that no test mistakes for zero.
START_MS = 1_704_067_200_000


class ManualClock:
    """A `Clock` that stands still until `advance`; `sleep` advances it instead of blocking.

    `sleeps` lists what was slept, in order, so that a throttle or a back-off can be checked.
    """

    def __init__(self, time_ms: int = START_MS) -> None:
        self._lock = threading.Lock()
        self._time_ms = float(time_ms)
        self._monotonic = 0.0
        self.sleeps: list[float] = []

    def time_ms(self) -> int:
        return int(self._time_ms)

    def monotonic(self) -> float:
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        """Time passes for everybody at once, as if this thread had slept and the others had waited for it."""
        with self._lock:
            self.sleeps.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float = 0.0, *, ms: float = 0.0) -> None:
        """Let time pass for both clocks."""
        passed = seconds + ms / 1000
        if passed < 0:
            raise ValueError("time does not go back; set_time_ms steps the wall clock alone")
        with self._lock:
            self._time_ms += passed * 1000
            self._monotonic += passed

    def set_time_ms(self, time_ms: int) -> None:
        """Step the wall clock, also backwards, as an operator or NTP would; monotonic time is untouched."""
        with self._lock:
            self._time_ms = float(time_ms)


class LoopClock:
    """The `Clock` of a loop with virtual time: it shows the loop's, and passes as that does.

    With another clock, a timer could ring before the moment that it was set for, by the clock of whoever set it: a
    time-out would look, find that it is not time yet, and wait for ever.
    """

    def __init__(self, loop: VirtualLoop, time_ms: int = START_MS) -> None:
        self._loop = loop
        self._start_ms = time_ms

    def time_ms(self) -> int:
        return self._start_ms + round(self._loop.time() * 1000)

    def monotonic(self) -> float:
        return self._loop.time()

    def sleep(self, seconds: float) -> None:
        """Work that was meant for a thread runs on the loop's own, and time passes while it sleeps."""
        self._loop.advance(seconds)
