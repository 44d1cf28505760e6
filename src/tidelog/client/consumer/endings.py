"""Ending tasks without tearing what they are in the middle of.

A task that is cancelled while it makes a connection may leave a socket that nobody closes. So a consumer that is closed
closes its connections first, which ends what waits for an answer, and gives the rest a moment; only what is still there
then is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

_PATIENCE_SECONDS = 1.0


async def let_end(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Wait for these, a moment; cancel those that take longer. Their outcome is nobody's any more."""
    rest = [task for task in tasks if task is not None]
    if rest:
        await asyncio.wait(rest, timeout=_PATIENCE_SECONDS)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
