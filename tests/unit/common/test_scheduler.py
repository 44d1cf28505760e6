from __future__ import annotations

from tidelog.common.scheduler import TimerQueue
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


def test_soon_comes_after_what_runs_now_and_before_what_is_later() -> None:
    queue = TimerQueue(ManualClock())
    done: list[str] = []

    def first() -> None:
        queue.call_soon(lambda: done.append("soon"))
        done.append("now")

    queue.call_later(0, first)
    queue.call_later(0, lambda: done.append("at the same time"))
    assert queue.run_due() == 3
    assert done == ["now", "at the same time", "soon"]


def test_what_is_cancelled_does_not_run() -> None:
    clock = ManualClock()
    queue = TimerQueue(clock)
    done: list[str] = []
    handle = queue.call_later(1, lambda: done.append("cancelled"))
    queue.call_later(1, lambda: done.append("kept"))
    handle.cancel()
    clock.advance(1)
    assert queue.run_due() == 1
    assert done == ["kept"]
    handle.cancel()
