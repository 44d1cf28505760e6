"""Drives a timing wheel from the event loop: one loop timer is armed, for the next bucket that holds anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tidelog.broker.purgatory.timing_wheel import TimerEntry, TimingWheel
from tidelog.common.clock import Clock


class Cancellable(Protocol):
    def cancel(self) -> None: ...


class Timers(Protocol):
    """The seam to the event loop: asyncio's loop fits, and so does a simulation."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Cancellable: ...


class LoopTimer:
    def __init__(self, clock: Clock, timers: Timers) -> None:
        self._clock = clock
        self._timers = timers
        self._wheel = TimingWheel(self._now_ms())
        self._armed: Cancellable | None = None
        self._armed_for = 0

    def __len__(self) -> int:
        return len(self._wheel)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerEntry:
        entry = self._wheel.schedule(self._now_ms() + max(1, round(seconds * 1000)), callback)
        self._arm()
        return entry

    def stop(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
            self._armed = None

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)

    def _arm(self) -> None:
        due = self._wheel.next_due()
        if due is None or (self._armed is not None and self._armed_for <= due):
            return
        if self._armed is not None:
            self._armed.cancel()
        self._armed_for = due
        self._armed = self._timers.call_later(max(0.0, due / 1000 - self._clock.monotonic()), self._ring)

    def _ring(self) -> None:
        self._armed = None
        self._wheel.advance(self._now_ms())
        self._arm()
