"""A clock that the test moves by hand: no test waits for time to pass."""

from __future__ import annotations

import threading

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
