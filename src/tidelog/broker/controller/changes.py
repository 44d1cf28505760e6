"""Changes of the cluster's state: each one is the broker's own, whoever asked for it.

A change reads, decides, writes to the store and applies what it wrote; in between it waits for the store's disk. Who
asked may leave at any moment, and its request is given up then. So a change runs as a task of its own, and the one who
asked only waits for it: a client that hangs up stops waiting, nothing else.

Changes run one at a time, in the order in which they were asked for: what one of them has read still holds when it
writes. What fails before the write has not happened, and is the answer. What fails after it (`applying`) leaves the
broker's memory behind its store: that is the broker's failure, and a restart reads the store again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tidelog.broker.detached import outcome_of
from tidelog.common.errors import ErrorCode, KafkaError

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Changes:
    """Those under way, and the queue in front of them. Kafka's controller has one thread and a queue of events for the
    same end; here it is a lock, which asyncio grants in the order in which it was asked for."""

    def __init__(self, on_broken: Callable[[BaseException], None]) -> None:
        """`on_broken` is told when memory and store disagree."""
        self._on_broken = on_broken
        self._lock = asyncio.Lock()
        self._under_way: set[asyncio.Task[Any]] = set()
        self._stopped = False

    def __len__(self) -> int:
        """How many wait or run."""
        return len(self._under_way)

    async def run(self, name: str, change: Callable[[], Awaitable[T]]) -> T:
        """Make a change, and wait for its outcome. Whoever is cancelled here stops waiting; the change goes on."""
        if self._stopped:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "The broker is stopping.")
        task = asyncio.get_running_loop().create_task(self._one(change), name=f"change: {name}")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await outcome_of(task)

    async def _one(self, change: Callable[[], Awaitable[T]]) -> T:
        async with self._lock:
            return await change()

    @contextmanager
    def applying(self, what: str) -> Iterator[None]:
        """Around the effects of what is durable already: an error in there ends the broker."""
        try:
            yield
        except Exception as error:
            logger.critical("%s: it is in the store, but could not be carried out", what, exc_info=error)
            self._on_broken(error)
            raise

    async def stop(self) -> None:
        """Refuse new changes, and wait until those under way have ended."""
        self._stopped = True
        while self._under_way:
            await asyncio.wait(self._under_way)
