"""Waiting on the event loop: the one place that does, so that whoever owns the loop owns the time.

A coroutine that works for long breathes in between, or every connection waits for it; one that tries again pauses
first. Both go by the running loop. In production that is uvloop and the machine's time; on a loop with virtual time
(`tidelog.testing.loop`) an hour's pause is over at once. Ruff bans `asyncio.sleep` everywhere else.

What has to follow a `Clock` that may be moved by hand, in a broker on an ordinary loop, does not wait here but by the
purgatory's timer (`LoopTimer.sleep`).
"""

from __future__ import annotations

import asyncio


async def breathe() -> None:
    """Let everybody else who is ready have a turn."""
    await asyncio.sleep(0)


async def pause(seconds: float) -> None:
    """Go on no earlier than after so many seconds of the loop's time."""
    await asyncio.sleep(seconds)
