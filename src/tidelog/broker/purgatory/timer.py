"""Drives a timing wheel from the event loop: one loop timer is armed, for the next bucket that holds anything.

Thousands of fetches wait at a time, each with a deadline, and nearly all are answered before it. In the loop's own heap
each would cost a comparison per level when it is made and would stay there, cancelled, until its time. In the wheel
both are constant; Kafka drives its wheel by a thread of its own that waits for the next bucket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from tidelog.broker.purgatory.timing_wheel import TimerEntry, TimingWheel
from tidelog.common.clock import Clock
from tidelog.common.scheduler import Scheduler, TimerHandle


class LoopTimer:
    def __init__(self, clock: Clock, scheduler: Scheduler) -> None:
        self._clock = clock
        self._scheduler = scheduler
        self._wheel = TimingWheel(self._now_ms())
        self._armed: TimerHandle | None = None
        self._armed_for = 0

    def __len__(self) -> int:
        return len(self._wheel)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerEntry:
        """To the millisecond, and never in the same one: what is due at once still takes its turn."""
        entry = self._wheel.schedule(self._now_ms() + max(1, round(seconds * 1000)), callback)
        self._arm()
        return entry

    async def sleep(self, seconds: float) -> None:
        """Wait by the clock of this timer, where `asyncio.sleep` would wait by the loop's."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = self.call_later(seconds, partial(_end, over))
        try:
            await over
        finally:
            entry.cancel()

    def stop(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
            self._armed = None

    def _now_ms(self) -> int:
        """Whole milliseconds, a microsecond generous: 4.3 s are 4299.999… ms in floating point. A loop whose time only
        moves from timer to timer would ring at 4.3 s, find it not to be time yet, and set the same timer for ever."""
        return int(self._clock.monotonic() * 1000 + 0.001)

    def _arm(self) -> None:
        """Have the loop ring for the next bucket. A timer that rings too early is let be: it finds nothing to do and
        arms the right one, which is cheaper than to cancel one at each change."""
        due = self._wheel.next_due()
        if due is None or (self._armed is not None and self._armed_for <= due):
            return
        if self._armed is not None:
            self._armed.cancel()
        self._armed_for = due
        self._armed = self._scheduler.call_later(max(0.0, due / 1000 - self._clock.monotonic()), self._ring)

    def _ring(self) -> None:
        self._armed = None
        self._wheel.advance(self._now_ms())
        self._arm()


def _end(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
