"""What a broker cannot do without: the first failure counts, and ends it."""

from __future__ import annotations

import asyncio

import pytest

from support.loop import async_test
from tidelog.broker.supervisor import Supervisor


async def fail(text: str) -> None:
    raise RuntimeError(text)


@async_test
async def test_a_task_that_dies_ends_the_broker_and_the_first_one_is_why() -> None:
    supervisor = Supervisor()
    supervisor.spawn("one", fail("first"))
    supervisor.spawn("two", fail("second"))
    await asyncio.wait_for(supervisor.wait_ended(), 10)
    assert str(supervisor.failure) == "first"
    assert supervisor.failure.__notes__ == ["in the background task one"]


@async_test
async def test_what_fails_on_the_way_out_is_no_failure() -> None:
    supervisor = Supervisor()
    supervisor.stopping = True
    supervisor.spawn("late", fail("too late"))
    await supervisor.stop()
    assert supervisor.failure is None


@async_test
async def test_a_stop_waits_for_what_is_cancelled() -> None:
    supervisor = Supervisor()
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    for name in ("a", "b"):
        supervisor.spawn(name, work(name))
    await asyncio.sleep(0)
    await supervisor.stop()
    assert ended == ["a", "b"]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(supervisor.wait_ended(), 0.01)
