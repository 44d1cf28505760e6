from __future__ import annotations

from tidelog.log.scheduler import TimerQueue
from tidelog.testing.clock import ManualClock


def test_runs_what_is_due_in_order() -> None:
    clock = ManualClock()
    queue = TimerQueue(clock)
    done: list[str] = []
    queue.call_later(2, lambda: done.append("second"))
    queue.call_later(1, lambda: done.append("first"))
    queue.call_later(2, lambda: done.append("third"))
    assert queue.run_due() == 0
    clock.advance(2)
    assert queue.run_due() == 3
    assert done == ["first", "second", "third"]


def test_run_all() -> None:
    queue = TimerQueue(ManualClock())
    queue.call_later(1000, lambda: queue.call_later(1, lambda: None))
    assert len(queue) == 1
    assert queue.run_all() == 2
    assert len(queue) == 0
