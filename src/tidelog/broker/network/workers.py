"""Work that takes longer than the event loop can spare: unpacking, packing anew, converting, cold reads.

At most `limit` pieces (queued.max.requests) wait or run at a time. When there are so many, `hold(True)` is called and
the connections stop looking at new requests, until there is room again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Workers:
    def __init__(self, threads: int, limit: int, hold: Callable[[bool], None]) -> None:
        self.executor = ThreadPoolExecutor(threads, "tidelog-worker")
        self._limit = limit
        self._hold = hold
        self._queued = 0

    def __len__(self) -> int:
        """How many pieces of work wait or run."""
        return self._queued

    async def run(self, work: Callable[[], T]) -> T:
        """The outcome of `work`, done on a thread."""
        self._queued += 1
        if self._queued == self._limit:
            self._hold(True)
        try:
            return await asyncio.get_running_loop().run_in_executor(self.executor, work)
        finally:
            self._queued -= 1
            if self._queued == self._limit - 1:
                self._hold(False)

    def stop(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
