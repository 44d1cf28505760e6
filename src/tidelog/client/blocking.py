"""The blocking face: runs the asynchronous clients in the calling thread, on an event loop of its own.

    with Driver({"bootstrap.servers": "127.0.0.1:9092"}) as driver:
        ends = driver.run(end_offsets(driver.cluster, partitions))

Between two calls the loop stands still: what was sent before goes on in the kernel and at the broker (that is how
`Fetcher` reads ahead), but nothing is received into this process and no timer fires.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, TypeVar

import uvloop

from tidelog.client.cluster_client import ClusterClient
from tidelog.common.clock import SYSTEM_CLOCK, Clock

T = TypeVar("T")


class Driver:
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
            self.run(self.cluster.close())
        finally:
            self._loop.close()

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
