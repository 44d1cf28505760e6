"""Tests on an event loop: `@async_test` gives a coroutine a uvloop of its own, `until` waits for what tells nobody."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

PATIENCE_SECONDS = 60


async def until(condition: Callable[[], object]) -> None:
    """Let the loop run until the condition holds. (Below a millisecond uvloop would not wait at all.)"""
    time = asyncio.get_running_loop().time
    deadline = time() + PATIENCE_SECONDS
    while not condition():
        assert time() < deadline, "the condition never held"
        await asyncio.sleep(0.001)


def async_test(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test that is a coroutine; what its loop only logs fails the test."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        silent: list[dict[str, Any]] = []

        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: silent.append(context))
            await function(*args, **kwargs)

        uvloop.run(main())
        assert not silent, f"the event loop reported: {silent}"

    return run
