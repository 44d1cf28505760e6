"""A handler's coroutine ends once, with one outcome; what is given up before it has begun leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any

import uvloop

from support.loop import until
from tidelog.broker.network.stepper import Later, NotAFutureError, Stepper


async def _handle(begun: list[int]) -> int:
    begun.append(1)
    await asyncio.sleep(0)
    return 7


def test_an_outcome_is_told_once() -> None:
    async def main() -> list[Any]:
        told: list[Any] = []
        await Later(_handle([]), lambda result, error: told.append((result, error))).task
        return told

    assert uvloop.run(main()) == [(7, None)]


def test_a_client_may_leave_before_its_request_has_begun() -> None:
    """Its handler is never awaited; that must be no warning of Python's (warnings are errors in our tests)."""
    begun: list[int] = []
    told: list[Any] = []

    async def main() -> None:
        later = Later(_handle(begun), lambda result, error: told.append((result, error)))
        later.cancel()
        await asyncio.gather(later.task, return_exceptions=True)
        assert later.task.cancelled()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        uvloop.run(main())
        gc.collect()
    assert (begun, told) == ([], [])
    assert [str(one.message) for one in caught] == []


def test_the_first_step_happens_at_once_and_a_future_wakes_the_next() -> None:
    async def main() -> list[Any]:
        told: list[Any] = []
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def handle() -> int:
            return await future

        assert not Stepper(handle(), lambda result, error: told.append((result, error))).step()
        future.set_result(3)
        await asyncio.sleep(0)
        return told

    assert uvloop.run(main()) == [(3, None)]


def test_what_is_no_future_is_refused() -> None:
    """asyncio.sleep(0) yields nothing that could wake the coroutine: it is ended, and its request fails."""
    told: list[Any] = []
    left: list[str] = []

    async def handle() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            left.append("cleaned up")

    assert Stepper(handle(), lambda result, error: told.append(error)).step()
    assert left == ["cleaned up"]
    assert [type(error) for error in told] == [NotAFutureError]


def test_a_time_out_is_refused() -> None:
    async def main() -> list[Any]:
        told: list[Any] = []

        async def handle() -> None:
            async with asyncio.timeout(10):
                await asyncio.get_running_loop().create_future()

        def step() -> None:
            assert Stepper(handle(), lambda result, error: told.append(error)).step()

        asyncio.get_running_loop().call_soon(step)  # as a frame arrives: in no task
        await until(lambda: told)
        return told

    assert [type(error) for error in uvloop.run(main())] == [RuntimeError]
