"""`@async_test`: a test that is a coroutine, on a uvloop of its own; what the loop only logs fails the test."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop


def async_test(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        silent: list[dict[str, Any]] = []

        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: silent.append(context))
            await function(*args, **kwargs)

        uvloop.run(main())
        assert not silent, f"the event loop reported: {silent}"

    return run
