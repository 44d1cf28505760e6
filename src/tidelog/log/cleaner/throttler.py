"""Holds the cleaners' disk traffic, read and written together, to `log.cleaner.io.max.bytes.per.second`.

Compaction is never urgent, and its sequential reading and writing would push everything else out of the page cache and
off the disk. The limit is for all cleaner threads together. It is checked over intervals of 0.3 s (Kafka's too), not
per read: at 1 MB/s a thread may use 300 KB at once and then sleeps for what is left of the time that this should take.
"""

from __future__ import annotations

import threading

from tidelog.common.clock import Clock

CHECK_INTERVAL_SECONDS = 0.3


class Throttler:
    """Shared by all cleaner threads. `spend` sleeps as soon as an interval's bytes exceed the rate."""

    def __init__(self, clock: Clock, bytes_per_second: float = float("inf")) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._started = clock.monotonic()
        self._spent = 0
        self.bytes_per_second = bytes_per_second

    def spend(self, count: int) -> None:
        """Note that so many bytes were read or written; sleep if that was too fast. Any thread but the event loop's."""
        if self.bytes_per_second == float("inf"):
            return
        with self._lock:  # held while sleeping: the limit is for all threads together
            self._spent += count
            elapsed = self._clock.monotonic() - self._started
            if elapsed < CHECK_INTERVAL_SECONDS and self._spent < self.bytes_per_second * CHECK_INTERVAL_SECONDS:
                return
            surplus = self._spent / self.bytes_per_second - elapsed
            if surplus > 0:
                self._clock.sleep(surplus)
            self._started = self._clock.monotonic()
            self._spent = 0
