"""The blocking face: runs the asynchronous clients in the calling thread, on an event loop of its own.

    with BlockingClient({"bootstrap.servers": "127.0.0.1:9092"}) as client:
        ends = client.run(end_offsets(client.cluster, partitions))

Between two calls the loop of a `BlockingClient` stands still: what was sent before goes on in the kernel and at the
broker (that is how `Fetcher` reads ahead), but nothing is received into this process and no timer fires. A
`BackgroundClient` gets a thread for its loop: what was begun with `start` goes on while the caller does something else.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

import uvloop

from tidelog.client.cluster.client import ClusterClient
from tidelog.common.clock import SYSTEM_CLOCK, Clock

T = TypeVar("T")


class BlockingClient:
    """A cluster client and the loop that it lives in. Use from one thread."""

    def __init__(self, raw: Mapping[str, object], *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.cluster = ClusterClient(raw, clock=clock, dedicated=True)
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()

    def run(self, operation: Coroutine[Any, Any, T]) -> T:
        """Run to its end; its result or its exception is ours."""
        return self._loop.run_until_complete(operation)

    def close(self) -> None:
        if self._loop.is_closed():
            return
        try:
            self.run(self._close())
        finally:
            self._end_loop()

    async def _close(self) -> None:
        """Drop what is still under way."""
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await self.cluster.close()

    def _end_loop(self) -> None:
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BackgroundClient(BlockingClient):
    """One whose loop gets a thread of its own with the first `start`; until then it is like the other."""

    _thread: threading.Thread | None = None

    def start(self, operation: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin it; the future has its outcome."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop.run_forever, name="tidelog-client", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(operation, self._loop)

    def run(self, operation: Coroutine[Any, Any, T]) -> T:
        return super().run(operation) if self._thread is None else self.start(operation).result()

    def _end_loop(self) -> None:
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        super()._end_loop()
