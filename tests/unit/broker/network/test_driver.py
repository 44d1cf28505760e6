"""What is given up before it has begun leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any

import uvloop

from tidelog.broker.network.driver import Later


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
