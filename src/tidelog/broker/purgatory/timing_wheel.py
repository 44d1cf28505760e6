"""A hierarchical timing wheel: deadlines that cost O(1) to set and O(1) to cancel.

Most requests that wait are answered long before their deadline, so cancelling must be as cheap as setting, and must
free the memory at once. A heap of deadlines does neither.

A wheel is a ring of buckets, each as long as one tick. A deadline that lies beyond the ring goes to the next wheel,
whose tick is as long as this whole ring; when its bucket comes due there, its entries are put back and fall into
finer buckets, until their own tick has come:

    wheel 0   tick 1 ms,   20 buckets      deadlines up to 20 ms from now
    wheel 1   tick 20 ms,  20 buckets      ... up to 400 ms
    wheel 2   tick 400 ms, 20 buckets      ... up to 8 s, and so on, made when needed

Example: at time 0, a deadline at 45 ms goes to wheel 1, the bucket [40, 60). When the clock reaches 40, the entry has
5 ms left and goes to wheel 0, the bucket [45, 46); at 45 it is due.

Which buckets hold anything is kept in a small heap, so that the owner knows when to look next and an idle wheel costs
nothing. No I/O and no clock: the owner says what time it is.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

TICK_MS = 1
BUCKETS = 20


class TimerEntry:
    """A deadline and what is called when it comes. `cancel` forgets it."""

    __slots__ = ("_bucket", "callback", "deadline_ms")

    def __init__(self, deadline_ms: int, callback: Callable[[], None]) -> None:
        self.deadline_ms = deadline_ms
        self.callback = callback
        self._bucket: dict[TimerEntry, None] | None = None

    @property
    def waiting(self) -> bool:
        return self._bucket is not None

    def cancel(self) -> None:
        if self._bucket is not None:
            self._bucket.pop(self, None)
            self._bucket = None

    def _move_to(self, bucket: dict[TimerEntry, None]) -> None:
        bucket[self] = None
        self._bucket = bucket


class _Wheel:
    __slots__ = ("buckets", "span_ms", "tick_ms")

    def __init__(self, tick_ms: int) -> None:
        self.tick_ms = tick_ms
        self.span_ms = tick_ms * BUCKETS
        self.buckets: list[dict[TimerEntry, None]] = [{} for _ in range(BUCKETS)]


class TimingWheel:
    def __init__(self, now_ms: int = 0) -> None:
        self._now = now_ms
        self._wheels = [_Wheel(TICK_MS)]
        self._due: list[tuple[int, int]] = []
        """(start of a bucket that may hold entries, its wheel), smallest first, each bucket once."""
        self._listed: set[tuple[int, int]] = set()

    def __len__(self) -> int:
        return sum(len(bucket) for wheel in self._wheels for bucket in wheel.buckets)

    def schedule(self, deadline_ms: int, callback: Callable[[], None]) -> TimerEntry:
        """Have `callback` called by the first `advance` at or after the deadline."""
        entry = TimerEntry(deadline_ms, callback)
        self._place(entry)
        return entry

    def next_due(self) -> int | None:
        """When `advance` has something to do next (it may only be moving entries to finer buckets)."""
        while self._due:
            start, level = self._due[0]
            wheel = self._wheels[level]
            if wheel.buckets[start // wheel.tick_ms % BUCKETS]:
                return start
            self._forget_first()
        return None

    def advance(self, now_ms: int) -> int:
        """Move the time on and call everything that is due, earliest first (to a tick); how many that were."""
        fired = 0
        while (start := self.next_due()) is not None and start <= now_ms:
            self._now = max(self._now, start)
            level = self._forget_first()
            wheel = self._wheels[level]
            index = start // wheel.tick_ms % BUCKETS
            bucket, wheel.buckets[index] = wheel.buckets[index], {}
            for entry in list(bucket):
                if entry._bucket is not bucket:  # cancelled by one of its neighbours just now
                    continue
                entry._bucket = None
                if entry.deadline_ms <= now_ms:
                    fired += 1
                    try:
                        entry.callback()
                    except Exception:  # the others of this bucket, and of all that follow, are due nevertheless
                        logger.exception("what was due at %d ms failed", entry.deadline_ms)
                else:
                    self._place(entry)
        self._now = max(self._now, now_ms)
        return fired

    def _place(self, entry: TimerEntry) -> None:
        """Into the finest wheel that reaches so far. A deadline that has passed falls into the next tick: `advance`
        calls nobody from within `schedule`."""
        deadline = max(entry.deadline_ms, self._now + TICK_MS)
        level = 0
        while deadline >= self._now - self._now % self._wheels[level].tick_ms + self._wheels[level].span_ms:
            level += 1
            if level == len(self._wheels):
                self._wheels.append(_Wheel(self._wheels[-1].span_ms))
        wheel = self._wheels[level]
        start = deadline - deadline % wheel.tick_ms
        entry._move_to(wheel.buckets[start // wheel.tick_ms % BUCKETS])
        key = (start, level)
        if key not in self._listed:
            self._listed.add(key)
            heapq.heappush(self._due, key)

    def _forget_first(self) -> int:
        key = heapq.heappop(self._due)
        self._listed.discard(key)
        return key[1]
