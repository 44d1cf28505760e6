"""Futures for coroutines under a `Stepper`: whoever waits goes on at once, not in the loop's next turn.

An asyncio future calls back through the loop, which costs a turn, and with it a system call, for every consumer that
an append wakes. These call back from `set_result`; so they may only be set where the waiting coroutine may run.
A `Promise` is for steppers alone; a `Handoff` is an asyncio future, which tasks can await as well (and are woken by the
loop, as ever).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

Callback = Callable[[Any], object]


class Handoff(asyncio.Future[Any]):
    """`taker` is the stepper's way to go on."""

    taker: Callback | None = None

    def set_result(self, result: Any) -> None:
        super().set_result(result)
        if self.taker is not None:
            self.taker(self)

    def set_exception(self, error: type | BaseException) -> None:
        super().set_exception(error)
        if self.taker is not None:
            self.taker(self)


class Promise:
    """The part of asyncio.Future's interface that a Stepper uses."""

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
