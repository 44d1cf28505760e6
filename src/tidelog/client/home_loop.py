"""The event loop that an asyncio client lives on: that of its first call.

    home = HomeLoop("consumer")
    home.here()                    # within a call: this loop is home from now on; another one later is refused
    home.post(core.wakeup)         # on that loop, from wherever we are

A client's parts hold this small object, not the client: so a client that nobody holds any more is seen to be dropped
(`unclosed`), though its tasks still run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from tidelog.common.errors import UsageError

logger = logging.getLogger("tidelog.client")


class HomeLoop:
    """None until the first call; then one loop for good. Its futures and sockets would hang on any other."""

    def __init__(self, client: str) -> None:
        self._client = client
        self.loop: asyncio.AbstractEventLoop | None = None

    def here(self) -> asyncio.AbstractEventLoop:
        """The loop that runs at present, which has to be home."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError(
                f"no event loop runs here: this {self._client} is for asyncio, call it within one"
            ) from None
        if self.loop is None:
            self.loop = loop
        elif self.loop is not loop:
            raise UsageError(
                f"this {self._client} belongs to another event loop: make one for each, within each asyncio.run"
            )
        return loop

    def post(self, function: Callable[..., object], *arguments: object) -> None:
        """At home there is nothing to hand over, from another thread there is. Before the first call: nothing."""
        if self.loop is None:
            return
        try:
            inside = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            inside = False
        if inside:
            function(*arguments)
        else:
            self.loop.call_soon_threadsafe(function, *arguments)

    def abandon(self, ending: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Begin what ends a client that nobody holds any more; nobody waits for it, or hears how it went. A loop that
        is closed has let go of everything by itself.
        """
        loop = self.loop
        if loop is None or loop.is_closed():
            return
        tasks: set[asyncio.Task[object]] = set()  # the loop alone would hold it weakly

        def begin() -> None:
            task = loop.create_task(ending())
            tasks.add(task)
            task.add_done_callback(end)

        def end(task: asyncio.Task[object]) -> None:
            tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                logger.warning("the end of a client that was not closed failed: %s", error)

        loop.call_soon_threadsafe(begin)
