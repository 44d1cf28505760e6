"""A future for coroutines under a `Driver`: whoever waits goes on at once, not in the loop's next turn.

An asyncio future calls back through the loop, which costs a turn, and with it a system call, for every consumer that
an append wakes. A promise calls back from `set_result`; so it may only be set where the waiting coroutine may run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

Callback = Callable[[Any], object]


class Promise:
    """The part of asyncio.Future's interface that a Driver uses."""

    __slots__ = ("_asyncio_future_blocking", "_callbacks", "_cancelled", "_done", "_result")

    def __init__(self) -> None:
        self._callbacks: list[Callback] = []
        self._done = False
        self._cancelled = False
        self._result: bool = False
        self._asyncio_future_blocking = False

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return self._cancelled

    def add_done_callback(self, callback: Callback) -> None:
        self._callbacks.append(callback)

    def remove_done_callback(self, callback: Callback) -> int:
        before = len(self._callbacks)
        self._callbacks = [one for one in self._callbacks if one != callback]
        return before - len(self._callbacks)

    def set_result(self, result: bool) -> None:
        self._result = result
        self._finish()

    def cancel(self) -> bool:
        if self._done:
            return False
        self._cancelled = True
        self._finish()
        return True

    def _finish(self) -> None:
        self._done = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def __await__(self) -> Generator[Promise, None, bool]:
        if not self._done:
            yield self
        return self._result
