"""What is due later in a directory runs under its guard."""

from __future__ import annotations

from typing import Any

from tidelog.common.scheduler import TimerQueue
from tidelog.log.manager.guarded_scheduler import GuardedScheduler
from tidelog.testing.clock import ManualClock


def test_the_guard_runs_what_is_due_and_what_was_cancelled_does_not_come() -> None:
    clock, guarded, done = ManualClock(), [], []

    def guard(action: Any) -> None:
        guarded.append(action)
        action()

    queue = TimerQueue(clock)
    scheduler = GuardedScheduler(queue, guard)
    scheduler.call_later(5, lambda: done.append("later"))
    scheduler.call_soon(lambda: done.append("soon"))
    scheduler.call_later(1, lambda: done.append("never")).cancel()
    queue.run_due()
    assert done == ["soon"]
    clock.advance(5)
    queue.run_due()
    assert (done, len(guarded)) == (["soon", "later"], 2)
