"""Changes follow one another, outlive those who asked for them, and end the broker if they are half done."""

from __future__ import annotations

import asyncio

import pytest

from support.loop import async_test
from tidelog.broker.controller.changes import Changes
from tidelog.common.errors import ErrorCode, KafkaError


@async_test
async def test_one_at_a_time_in_the_order_in_which_they_were_asked_for() -> None:
    changes = Changes(lambda error: None)
    steps: list[tuple[int, str]] = []

    async def change(number: int) -> None:
        steps.append((number, "begins"))
        await asyncio.sleep(0)
        steps.append((number, "ends"))

    await asyncio.gather(*(changes.run(str(number), lambda number=number: change(number)) for number in range(3)))
    assert steps == [(number, step) for number in range(3) for step in ("begins", "ends")]
    assert not len(changes)


@async_test
async def test_who_leaves_stops_waiting_and_nothing_else() -> None:
    changes = Changes(lambda error: None)
    go, done = asyncio.Event(), []

    async def change() -> None:
        await go.wait()
        done.append(True)

    asked = asyncio.ensure_future(changes.run("slow", change))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    go.set()
    await changes.stop()
    assert done == [True]
    with pytest.raises(KafkaError) as refused:
        await changes.run("late", change)
    assert refused.value.code is ErrorCode.NOT_CONTROLLER


@async_test
async def test_what_is_durable_and_cannot_be_carried_out_is_the_brokers_failure() -> None:
    broken: list[BaseException] = []
    changes = Changes(broken.append)

    async def change() -> None:
        with changes.applying("A change"):
            raise OSError("no such file")

    with pytest.raises(OSError, match="no such file"):
        await changes.run("half", change)
    assert [str(error) for error in broken] == ["no such file"]
