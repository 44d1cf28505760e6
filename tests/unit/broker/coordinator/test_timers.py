"""Time in the coordinators is the scheduler's: these tests move it by hand and wait for nothing."""

from __future__ import annotations

import asyncio

import pytest

from support.coordinator import ManualScheduler
from tidelog.broker.coordinator.timers import Recurring, ShardTimers, pause
from tidelog.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def scheduler(clock: ManualClock) -> ManualScheduler:
    return ManualScheduler(clock)


def test_a_time_out_that_is_pushed_forward_fires_at_its_last_deadline_and_arms_one_timer(clock, scheduler) -> None:
    fired: list[float] = []
    timers = ShardTimers(scheduler, clock, lambda action: action())
    armed = 0
    call_later = scheduler.call_later

    def counting(delay, callback):
        nonlocal armed
        armed += 1
        return call_later(delay, callback)

    scheduler.call_later = counting
    for _ in range(10):  # ten heartbeats, three seconds apart
        timers.set("member", 45_000, lambda: fired.append(clock.monotonic()))
        scheduler.advance(3_000)
    assert armed == 1
    scheduler.advance(60_000)
    assert fired == [pytest.approx(27 + 45)]
    assert len(timers) == 0


def test_an_earlier_deadline_replaces_the_later_one(clock, scheduler) -> None:
    fired: list[str] = []
    timers = ShardTimers(scheduler, clock, lambda action: action())
    timers.set("join", 10_000, lambda: fired.append("late"))
    timers.set("join", 1_000, lambda: fired.append("early"))
    scheduler.advance(20_000)
    assert fired == ["early"]


def test_what_recurs_comes_every_interval_until_it_is_stopped(clock, scheduler) -> None:
    seen: list[float] = []
    recurring = Recurring(scheduler)
    recurring.every(10_000, lambda: seen.append(clock.monotonic()))
    scheduler.advance(35_000)
    assert seen == [pytest.approx(10), pytest.approx(20), pytest.approx(30)]
    recurring.stop()
    scheduler.advance(35_000)
    assert len(seen) == 3


def test_a_pause_lasts_as_long_as_the_scheduler_says(clock, scheduler) -> None:
    async def main() -> None:
        waiting = asyncio.ensure_future(pause(scheduler, 100.0))
        await asyncio.sleep(0)
        scheduler.advance(99_000)
        await asyncio.sleep(0)
        assert not waiting.done()
        scheduler.advance(1_000)
        await waiting

    asyncio.run(main())


def test_a_pause_that_is_given_up_leaves_no_timer_that_fires(clock, scheduler) -> None:
    async def main() -> None:
        waiting = asyncio.ensure_future(pause(scheduler, 1.0))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        scheduler.advance(2_000)

    asyncio.run(main())
