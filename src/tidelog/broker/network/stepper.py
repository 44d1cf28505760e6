"""Runs a handler's coroutine: step by step without a task (`Stepper`), or as a task (`Later`).

A task costs more than most Produce and Fetch requests do, and would put each off to the loop's next turn. So what comes
often is stepped: the first step happens while the frame is read, and many requests are answered before it returns. The
price is a rule. A stepped coroutine awaits nothing but futures: those of asyncio (a task is one), a `Handoff` or a
`Promise`. `asyncio.sleep(0)` yields no future and is refused here; `asyncio.timeout` asks for the task that it is in,
finds none, and is refused by asyncio. Who needs either does it in a task and awaits that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from inspect import CORO_CREATED, getcoroutinestate
from types import CoroutineType
from typing import Any

from tidelog.broker.purgatory.promise import Handoff, Promise

Done = Callable[[Any, "Exception | None"], None]


class NotAFutureError(TypeError):
    """A stepped coroutine awaited something else than a future."""


class Stepper:
    """Goes on with a coroutine whenever the future that it waits for is done.

    A `Handoff` or `Promise` wakes it from within `set_result`, in the same turn of the loop; an asyncio future through
    the loop, in the next. Errors of the coroutine reach `done`, never whoever happened to wake it.
    """

    __slots__ = ("_coroutine", "_done", "_waiting")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], done: Done) -> None:
        self._coroutine = coroutine
        self._done = done
        self._waiting: asyncio.Future[Any] | Promise | None = None

    def step(self) -> bool:
        """Run until the coroutine waits or ends (then `done` has been called); whether it has ended."""
        while True:
            try:
                future = self._coroutine.send(None)
            except StopIteration as end:
                self._done(end.value, None)
                return True
            except Exception as error:  # noqa: BLE001  # the caller decides what a failure means
                self._done(None, error)
                return True
            try:
                future._asyncio_future_blocking = False  # what a task does, too: it says that somebody took the future
            except AttributeError:
                return self._refuse(future)
            if not future.done():
                self._waiting = future
                if type(future) is Handoff:
                    future.taker = self._wake
                else:
                    future.add_done_callback(self._wake)
                return False

    def _refuse(self, awaited: object) -> bool:
        """End what broke the rule: nothing would ever wake it."""
        self._coroutine.close()
        self._done(
            None, NotAFutureError(f"{self._coroutine!r} awaited {awaited!r}: without a task it may await futures")
        )
        return True

    def cancel(self) -> None:
        """Give up: `done` is not called any more."""
        self._done = _forget
        if self._waiting is not None:
            if isinstance(self._waiting, Handoff):
                self._waiting.taker = None
            else:
                self._waiting.remove_done_callback(self._wake)
            self._waiting.cancel()
            self._waiting = None
        self._coroutine.close()

    def _wake(self, future: asyncio.Future[Any] | Promise) -> None:
        """Called by what was waited for."""
        self._waiting = None
        self.step()


class Later:
    """What a handler awaits as a task does: begun in the loop's next turn."""

    __slots__ = ("_awaitable", "_done", "task")

    def __init__(self, awaitable: Awaitable[Any], done: Done) -> None:
        self._awaitable = awaitable
        self._done = done
        self.task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            result = await self._awaitable
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # the caller decides what a failure means
            self._done(None, error)
        else:
            self._done(result, None)

    def cancel(self) -> None:
        """Give up: `done` is not called any more."""
        self.task.cancel()
        if isinstance(self._awaitable, CoroutineType) and getcoroutinestate(self._awaitable) == CORO_CREATED:
            self._awaitable.close()  # the task will not come to it, and Python would complain


def _forget(result: Any, error: Exception | None) -> None:
    """Nobody waits for the answer any more."""
