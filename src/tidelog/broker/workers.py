"""Work that takes longer than the event loop can spare: unpacking, packing anew, converting, cold reads.

At most `limit` pieces (queued.max.requests) wait or run at a time. When there are so many, `on_full(True)` is called
and the connections stop looking at new requests, until there is room again. A piece counts until its thread has let go
of it, whether or not its client is still there: a thread cannot be stopped, so who asks and leaves makes no room. One
that no thread has begun is dropped with its client.

Which threads is a seam: on a loop whose time is virtual the executor does the work where it is asked for
(`tidelog.testing.loop.InPlace`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from tidelog.broker import config as keys

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig

T = TypeVar("T")

#: More threads than this only take the event loop's time.
MAX_THREADS = 8


def worker_threads(config: BrokerConfig) -> int:
    """`background.threads`, as far as they help: they share the interpreter's lock with the event loop."""
    return min(config[keys.BACKGROUND_THREADS], MAX_THREADS)


def _nothing_to_hold(held: bool) -> None:
    """Where no requests come in."""


def _threads(count: int) -> Executor:
    return ThreadPoolExecutor(count, "tidelog-worker")


class Workers:
    def __init__(
        self,
        threads: int,
        limit: int,
        on_full: Callable[[bool], None] | None = None,
        make_executor: Callable[[int], Executor] = _threads,
    ) -> None:
        """`on_full` may be set later: whoever holds back requests is made of parts that need these workers."""
        self.threads = threads
        self._make_executor = make_executor
        self.executor = make_executor(threads)
        self._limit = limit
        self.on_full = on_full or _nothing_to_hold
        self._queued = 0

    def resize(self, threads: int) -> None:
        """Have so many threads from now on; the others end with what they have been given."""
        if threads != self.threads:
            before, self.threads = self.executor, threads
            self.executor = self._make_executor(threads)
            before.shutdown(wait=False)

    def __len__(self) -> int:
        """How many pieces of work wait or run."""
        return self._queued

    async def run(self, work: Callable[[], T], after: Callable[[], None] | None = None) -> T:
        """The outcome of `work`, done on a thread.

        `after` is called on the loop once the work is over, also when nobody waits for it any more: it gives back what
        the work used.
        """
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()
        try:
            job = self.executor.submit(work)
        except BaseException:
            if after is not None:
                after()
            raise
        self._queued += 1
        if self._queued == self._limit:
            self.on_full(True)

        def over(ended: Future[T]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._over, ended, outcome, after)

        outcome.add_done_callback(lambda waiting: job.cancel() if waiting.cancelled() else None)
        job.add_done_callback(over)
        return await outcome

    def _over(self, job: Future[Any], outcome: asyncio.Future[Any], after: Callable[[], None] | None) -> None:
        """A thread is done with a piece, or will not begin it."""
        self._queued -= 1
        if after is not None:
            after()
        if not outcome.done():
            if job.cancelled():
                outcome.cancel()
            elif error := job.exception():
                outcome.set_exception(error)
            else:
                outcome.set_result(job.result())
        if self._queued == self._limit - 1:
            self.on_full(False)

    def stop(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
