"""Waiting goes by the loop's time, whatever that is."""

from __future__ import annotations

import asyncio

from tidelog.net.pauses import breathe, pause
from tidelog.testing.loop import VirtualLoop


def test_a_pause_lasts_as_long_as_the_loop_says() -> None:
    loop = VirtualLoop()
    began = loop.time()
    loop.run_until_complete(pause(3600))
    assert loop.time() - began == 3600
    loop.close()


def test_a_breath_gives_others_a_turn_and_takes_no_time() -> None:
    async def main() -> list[str]:
        turns: list[str] = []

        async def other() -> None:
            turns.append("other")

        task = asyncio.get_running_loop().create_task(other())
        await breathe()
        turns.append("main")
        await task
        return turns

    loop = VirtualLoop()
    began = loop.time()
    assert loop.run_until_complete(main()) == ["other", "main"]
    assert loop.time() == began
    loop.close()
