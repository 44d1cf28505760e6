"""Tasks that go on when whoever waits for them leaves."""

from __future__ import annotations

import asyncio

import pytest

from support.loop import async_test
from tidelog.broker.detached import outcome_of
from tidelog.common.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("foreseen", [True, False])
def test_what_nobody_hears_any_more_is_logged_if_it_was_not_foreseen(foreseen: bool, caplog) -> None:
    @async_test
    async def main() -> None:
        go = asyncio.Event()

        async def work() -> None:
            await go.wait()
            raise KafkaError(ErrorCode.POLICY_VIOLATION) if foreseen else RuntimeError("a bug")

        task = asyncio.get_running_loop().create_task(work(), name="the work")
        waiting = asyncio.ensure_future(outcome_of(task))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not task.cancelled()
        go.set()
        await asyncio.wait([task])
        await asyncio.sleep(0)

    main()
    assert ("the work failed" in caplog.text) is not foreseen


@async_test
async def test_who_stays_gets_the_outcome() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert await outcome_of(asyncio.ensure_future(work())) == 7
