"""Futures that wake who waits from within: once, and not after it has gone."""

from __future__ import annotations

import asyncio
from typing import Any

from support.loop import async_test
from tidelog.broker.purgatory.promise import Handoff, Promise


def test_a_promise_calls_back_at_once_and_once() -> None:
    promise, heard = Promise(), []
    promise.add_done_callback(lambda done: heard.append(done.done()))
    promise.set_result(True)
    assert (heard, promise.cancel(), promise.cancelled()) == ([True], False, False)


def test_who_has_gone_is_not_called() -> None:
    promise, heard = Promise(), []

    def hear(done: Any) -> None:
        heard.append(done)

    promise.add_done_callback(hear)
    assert promise.remove_done_callback(hear) == 1
    assert promise.cancel()
    assert (heard, promise.cancelled()) == ([], True)


@async_test
async def test_a_handoff_is_taken_at_once_by_a_stepper_and_awaited_by_a_task() -> None:
    taken: list[Any] = []
    handoff = Handoff()
    handoff.taker = lambda done: taken.append(done.result())
    handoff.set_result(7)
    assert taken == [7]
    waited = Handoff()
    asyncio.get_running_loop().call_soon(waited.set_result, 8)
    assert await waited == 8
