"""The wheel's driver: it waits by its clock, rings at the time that was asked for, and sleeps can be given up."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.broker.purgatory.timer import LoopTimer
from tidelog.testing.clock import LoopClock
from tidelog.testing.loop import VirtualLoop


@pytest.mark.parametrize("start", [0.0, 4.3, 1.001, 86_400.7])
def test_it_rings_at_its_moment_wherever_the_clock_begins(start: float) -> None:
    """A clock that only moves from timer to timer: 4.3 s are not quite 4300 ms, and must not be waited for again."""
    loop = VirtualLoop()
    loop.advance(start)
    clock, rung = LoopClock(loop), []

    async def main() -> None:
        timer = LoopTimer(clock, loop)
        for seconds in (0.001, 0.3, 5.0, 600.0):
            timer.call_later(seconds, lambda seconds=seconds: rung.append((seconds, clock.monotonic() - start)))
        await timer.sleep(601)
        timer.stop()

    loop.run_until_complete(main())
    loop.close()
    assert [seconds for seconds, _ in rung] == [0.001, 0.3, 5.0, 600.0]
    assert all(abs(seconds - passed) <= 0.002 for seconds, passed in rung), rung


def test_a_sleep_that_is_given_up_leaves_nothing_in_the_wheel() -> None:
    loop = VirtualLoop()

    async def main() -> int:
        timer = LoopTimer(LoopClock(loop), loop)
        sleeper = asyncio.ensure_future(timer.sleep(10))
        await asyncio.sleep(0)
        sleeper.cancel()
        await asyncio.gather(sleeper, return_exceptions=True)
        return len(timer)

    assert loop.run_until_complete(main()) == 0
    loop.close()


def test_one_that_fails_keeps_nobody_else_from_their_time(caplog: pytest.LogCaptureFixture) -> None:
    loop = VirtualLoop()
    rung: list[str] = []

    def fail() -> None:
        raise ValueError("not this one")

    async def main() -> None:
        timer = LoopTimer(LoopClock(loop), loop)
        timer.call_later(1, fail)
        timer.call_later(1, lambda: rung.append("same moment"))
        timer.call_later(2, lambda: rung.append("later"))
        await asyncio.sleep(3)  # by the loop: the timer itself is what may have stopped

    loop.run_until_complete(main())
    loop.close()
    assert rung == ["same moment", "later"]
    assert "not this one" in caplog.text
