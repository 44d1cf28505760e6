"""The blocking faces: what runs between two calls, and what is left when they are closed."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.client.blocking import BackgroundClient, BlockingClient

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


async def answer(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def fail() -> None:
    raise ValueError("as asked")


@pytest.mark.parametrize("kind", [BlockingClient, BackgroundClient])
def test_results_and_errors_are_the_callers(kind: type[BlockingClient]) -> None:
    with kind(NOBODY) as client:
        assert client.run(answer(3)) == 3
        with pytest.raises(ValueError, match="as asked"):
            client.run(fail())
        assert client.run(answer(4)) == 4
    client.close()


def test_what_was_started_goes_on_while_the_caller_does_something_else() -> None:
    with BackgroundClient(NOBODY) as client:
        gate = asyncio.Event()
        waiting = client.start(gate.wait())
        assert client.run(answer(5)) == 5
        assert not waiting.done()

        async def open_gate() -> None:
            gate.set()

        client.run(open_gate())
        assert waiting.result(60) is True


def test_closing_drops_what_is_under_way() -> None:
    client = BackgroundClient(NOBODY)
    waiting = client.start(asyncio.sleep(3600))
    client.close()
    assert waiting.cancelled()
