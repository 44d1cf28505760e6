"""The loop with virtual time: it jumps, keeps the order, has no threads, and says when everybody waits in vain."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from tidelog.testing.clock import START_MS, LoopClock
from tidelog.testing.loop import Stuck, VirtualLoop

WEEK = 7 * 24 * 3600.0


def run(loop: VirtualLoop, main: Coroutine[Any, Any, Any]) -> Any:
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


def test_a_week_takes_no_time() -> None:
    loop = VirtualLoop()
    clock = LoopClock(loop)
    run(loop, asyncio.sleep(WEEK))
    assert loop.time() == clock.monotonic() == WEEK
    assert clock.time_ms() == START_MS + WEEK * 1000


def test_time_stands_still_while_there_is_something_to_do() -> None:
    async def main() -> float:
        timer = asyncio.get_running_loop().call_later(0.001, rung.append, "early")
        for _ in range(1000):
            await asyncio.sleep(0)
        timer.cancel()
        return asyncio.get_running_loop().time()

    rung: list[str] = []
    assert run(VirtualLoop(), main()) == 0.0
    assert not rung


def test_timers_come_by_their_time_and_those_of_one_moment_in_the_order_of_their_making() -> None:
    seen: list[tuple[float, int]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for number in range(50):
            loop.call_later(5 if number % 2 else 3, lambda number=number: seen.append((loop.time(), number)))
        await asyncio.sleep(6)

    run(VirtualLoop(), main())
    assert seen == [(3.0, n) for n in range(0, 50, 2)] + [(5.0, n) for n in range(1, 50, 2)]


def test_a_cancelled_timer_does_not_ring() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(1, rung.append, "cancelled").cancel()
        asyncio.get_running_loop().call_later(1, rung.append, "not cancelled")
        await asyncio.sleep(2)

    rung: list[str] = []
    run(VirtualLoop(), main())
    assert rung == ["not cancelled"]


def test_a_time_out_rings() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 30)
        return asyncio.get_running_loop().time()

    assert run(VirtualLoop(), main()) == 30.0


def test_what_is_for_threads_runs_in_place_and_is_answered_in_the_next_turn() -> None:
    seen: list[str] = []

    def work(text: str) -> threading.Thread:
        seen.append(text)
        return threading.current_thread()

    async def main() -> None:
        outcome = asyncio.get_running_loop().run_in_executor(None, work, "at once")
        assert seen == ["at once"]
        assert not outcome.done()
        assert await outcome is threading.main_thread()
        assert await asyncio.to_thread(work, "again") is threading.main_thread()

    run(VirtualLoop(), main())


def test_what_fails_on_a_thread_fails_for_who_waits() -> None:
    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            await asyncio.get_running_loop().run_in_executor(None, lambda: 1 // 0)

    run(VirtualLoop(), main())


def test_work_that_sleeps_lets_time_pass() -> None:
    loop = VirtualLoop()
    clock = LoopClock(loop)

    async def main() -> None:
        await asyncio.get_running_loop().run_in_executor(None, clock.sleep, 12.5)

    run(loop, main())
    assert clock.monotonic() == 12.5


def test_calls_from_another_thread_are_heard() -> None:
    async def main() -> None:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        thread = threading.Thread(target=loop.call_soon_threadsafe, args=(heard.set,))
        thread.start()
        thread.join()
        await heard.wait()
        assert heard.is_set()

    run(VirtualLoop(), main())  # `Stuck`, if nobody hears


def test_a_loop_in_which_everybody_waits_says_so() -> None:
    loop = VirtualLoop()

    async def wait() -> None:
        await loop.create_future()

    task = loop.create_task(wait())
    with pytest.raises(Stuck):
        loop.run_until_complete(task)
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
