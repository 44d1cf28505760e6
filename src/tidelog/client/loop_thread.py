"""The blocking clients' event loop: uvloop on a daemon thread, started with the first use.

    loop = LoopThread("tidelog-producer")
    offset = loop.run(core.position(partition), timeout=5)

Whoever waits here waits on a lock that Python interrupts: Ctrl-C is answered at once, and cancels what was waited for.
The thread goes on between two calls, so heartbeats and sending never depend on what the caller does meanwhile.

After a fork the child has this object, but no thread, and sockets that it shares with its parent. Nothing could be
right from there, so every call says so at once instead of hanging: clients are made in the process that uses them.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import uvloop

from tidelog.common.errors import ErrorCode, KafkaError, UsageError

logger = logging.getLogger("tidelog.client")
T = TypeVar("T")


class LoopThread:
    """An event loop that runs by itself. `run`, `start` and `call` may be used from any thread but its own."""

    def __init__(self, name: str = "tidelog-client") -> None:
        self._name = name
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called; what was begun before may still be ending."""
        return self._closed

    @property
    def is_begun(self) -> bool:
        """Whether there is a thread of ours that somebody should end."""
        return self._loop is not None and not self._closed and not self.is_of_parent

    @property
    def is_current(self) -> bool:
        """Whether the caller is on the loop's own thread: in a callback."""
        return self._thread is not None and threading.current_thread() is self._thread

    @property
    def is_of_parent(self) -> bool:
        """Whether this is a forked child's copy: there is nothing here that the child could end or wait for."""
        return os.getpid() != self._process

    def __reduce__(self) -> str | tuple[Any, ...]:
        """A client is a thread and sockets: neither goes into a pickle, and so no client does."""
        raise TypeError("clients cannot be pickled: make one in each process")

    def run(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Its result or its exception. When the time is up it is cancelled, and that is a KafkaError
        (REQUEST_TIMED_OUT); when the wait is interrupted, it is cancelled, too.
        """
        if self.is_current:
            coroutine.close()
            raise UsageError("a callback must not wait for its own client: use what returns a future")
        future = self.start(coroutine)
        try:
            return future.result(timeout)
        except concurrent.futures.TimeoutError:
            if future.done() and not future.cancelled():
                raise  # its own
            future.cancel()
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"not done within {timeout} seconds") from None
        except concurrent.futures.CancelledError:
            if self._closed:
                raise UsageError("the client was closed meanwhile") from None
            raise
        except BaseException:
            future.cancel()  # without effect where it is done
            raise

    def start(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Begin it; the future has its outcome, and cancelling the future cancels it."""
        try:
            loop = self._running()
        except BaseException:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, loop)

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function on the loop's thread, some time soon."""
        self._running().call_soon_threadsafe(function, *arguments)

    def close(self, timeout: float | None = None) -> None:
        """Cancel what is still under way, and end the thread. Afterwards every call is a UsageError; closing again is
        not. In a forked child only the object is marked: loop and sockets are the parent's.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or os.getpid() != self._process:
            return
        loop.call_soon_threadsafe(loop.stop)
        if threading.current_thread() is not thread:
            thread.join(timeout)

    def abandon(self, ending: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """For a client that nobody holds any more: its thread ends by itself, after `ending`. Waits for nothing, and
        may be called from any thread, as the garbage collector does. Nobody hears how it went.
        """
        self._closed = True
        loop = self._loop
        if loop is None or self.is_of_parent or loop.is_closed():
            return

        def begin() -> None:
            loop.create_task(ending()).add_done_callback(end)

        def end(task: asyncio.Task[object]) -> None:
            loop.stop()
            if not task.cancelled() and (error := task.exception()) is not None:
                logger.warning("the end of a client that was not closed failed: %s", error)

        loop.call_soon_threadsafe(begin)

    def _running(self) -> asyncio.AbstractEventLoop:
        """The loop, begun if it is not yet. Asking for the process costs a system call of a tenth of a microsecond,
        and is what turns a hang in a forked child into a sentence.
        """
        if os.getpid() != self._process:
            raise UsageError(
                f"this client was made in process {self._process}, before the fork: make a new one in each child"
            )
        if self._closed:
            raise UsageError("the client is closed")
        if self._loop is None:
            with self._lock:
                if self._loop is None:
                    self._begin()
        assert self._loop is not None
        return self._loop

    def _begin(self) -> None:
        loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=_live, args=(loop,), name=self._name, daemon=True)
        self._thread.start()
        self._loop = loop


def _live(loop: asyncio.AbstractEventLoop) -> None:
    """The thread: the loop until it is stopped, then the end of everything that was begun on it."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        rest = asyncio.all_tasks(loop)
        for task in rest:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
