"""The user's turn: code of the user's (listeners, callbacks) waits here until the user is inside a call.

Listeners and commit callbacks are the user's code: they may be slow, block, throw, or call the consumer again. Run from
a heartbeat or a socket event they would stop the loop. So the loop's side leaves them here (`run` waits for the end,
`post` does not), and the user's side takes them one by one, in order, from within `poll`, `commit` or `close`, in the
user's own thread or task. What they throw is raised from that call.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

#: A function without arguments; in the asyncio face it may return an awaitable.
Function = Callable[[], Any]


class Turn:
    """One thing to run. `done` is resolved on the loop when it has been."""

    __slots__ = ("done", "function")

    def __init__(self, function: Function | None, done: asyncio.Future[None] | None) -> None:
        self.function = function
        self.done = done

    def finish(self) -> None:
        """On the loop: whoever waits for it goes on, also if it threw; that is the user's to see."""
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


class Turns:
    """First in, first out, callbacks before listeners. Appending and taking are atomic, so the two sides need no
    lock.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._waited_for: deque[Turn] = deque()
        self._posted: deque[Turn] = deque()
        self._wake = wake

    def __bool__(self) -> bool:
        return bool(self._posted or self._waited_for)

    async def run(self, function: Function | None) -> None:
        """Wait until the user has run it; None only waits until the user is inside a call."""
        turn = Turn(function, asyncio.get_running_loop().create_future())
        self._waited_for.append(turn)
        self._wake()
        assert turn.done is not None
        try:
            await turn.done
        except asyncio.CancelledError:
            turn.function = None  # the user finds nothing to do, if it was not taken yet
            raise

    def post(self, function: Function) -> None:
        """Leave a callback for the user's next call."""
        self._posted.append(Turn(function, None))
        self._wake()

    def take(self, *, callbacks_only: bool = False) -> Turn | None:
        try:
            return self._posted.popleft()
        except IndexError:
            if callbacks_only or not self._waited_for:
                return None
            return self._waited_for.popleft()
