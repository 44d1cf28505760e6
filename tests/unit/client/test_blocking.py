"""The blocking faces: what runs between two calls, and what is left when they are closed."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.client.blocking import BackgroundDriver, Driver

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


async def answer(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def fail() -> None:
    raise ValueError("as asked")


@pytest.mark.parametrize("kind", [Driver, BackgroundDriver])
def test_results_and_errors_are_the_callers(kind: type[Driver]) -> None:
    with kind(NOBODY) as driver:
        assert driver.run(answer(3)) == 3
        with pytest.raises(ValueError, match="as asked"):
            driver.run(fail())
        assert driver.run(answer(4)) == 4
    driver.close()


def test_what_was_started_goes_on_while_the_caller_does_something_else() -> None:
    with BackgroundDriver(NOBODY) as driver:
        gate = asyncio.Event()
        waiting = driver.start(gate.wait())
        assert driver.run(answer(5)) == 5
        assert not waiting.done()

        async def open_gate() -> None:
            gate.set()

        driver.run(open_gate())
        assert waiting.result(60) is True


def test_closing_drops_what_is_under_way() -> None:
    driver = BackgroundDriver(NOBODY)
    waiting = driver.start(asyncio.sleep(3600))
    driver.close()
    assert waiting.cancelled()
