"""The seam to time.

`time_ms` is the wall clock (record timestamps, retention); `monotonic` never steps back (time-outs, latencies).
A component that needs time is given a `Clock`; tests give it one that they move by hand (`tidelog.testing`).
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def time_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block this thread (background threads only, never the event loop)."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
