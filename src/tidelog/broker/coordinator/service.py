"""A runtime as the request handlers see it: await a write or a read of the shard that has the key.

Shards speak in callbacks, because most of their callers (compiled requests, timers, markers) have no use for a
coroutine. Handlers are coroutines. This is where the two meet, and it costs a future only when somebody has to wait: a
read of a settled shard, or a refusal, is known before the call returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tidelog.broker.coordinator.result import Reply, Result
from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.coordinator.shard import Shard
from tidelog.broker.purgatory.promise import Handoff
from tidelog.common.errors import KafkaError


class Service:
    """What the group and the transaction coordinator have in common."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    async def write(self, key: str, handler: Callable[[Any], Result | None]) -> Any:
        """The answer of a handler, once what it wrote is committed. Raises KafkaError."""
        return await self.write_to(self.runtime.shard_for(key), handler)

    async def write_to(self, shard: Shard, handler: Callable[[Any], Result | None]) -> Any:
        """The same for a shard that is at hand already."""
        outcome = PendingAnswer()
        shard.write(handler, outcome)
        return outcome.get() if outcome.known else await outcome.wait(Handoff())

    async def read(self, key: str, handler: Callable[[Any], Any]) -> Any:
        """The answer of a handler that writes nothing, once everything before it is committed."""
        return await self.write_to(self.runtime.shard_for(key), lambda machine: Result(response=handler(machine)))

    async def request(self, key: str, handler: Callable[[Any, Reply], Result | None]) -> Any:
        """For a handler that answers through its reply, now or when others have come.

        Replies come from the midst of the machine, which must not be asked anything new then: the loop wakes who waits.
        """
        outcome = PendingAnswer()
        self.runtime.shard_for(key).write(lambda machine: handler(machine, outcome), outcome)
        return outcome.get() if outcome.known else await outcome.wait(asyncio.get_running_loop().create_future())


class PendingAnswer:
    """The answer of one write, for whom it is called: often it is known before anybody has to wait for it."""

    __slots__ = ("_error", "_future", "_response", "known")

    def __init__(self) -> None:
        self.known = False
        self._future: asyncio.Future[Any] | None = None
        self._response: Any = None
        self._error: KafkaError | None = None

    def __call__(self, response: Any, error: KafkaError | None = None) -> None:
        """The shard's side: called once. Nobody may be there to hear it any more; that is not an error."""
        if self._future is None:
            self.known, self._response, self._error = True, response, error
        elif self._future.done():  # the client is gone and its request was cancelled
            return
        elif error is not None:
            self._future.set_exception(error)
        else:
            self._future.set_result(response)

    def get(self) -> Any:
        """What is known. Raises KafkaError."""
        if self._error is not None:
            raise self._error
        return self._response

    def wait(self, future: asyncio.Future[Any]) -> asyncio.Future[Any]:
        """`future`, which gets what is not known yet."""
        self._future = future
        return future
