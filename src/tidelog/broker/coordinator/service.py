"""A runtime as the request handlers see it: await a write or a read of the shard that has the key."""

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
        future = Handoff()
        shard.write(handler, _settle(future))
        return await future

    async def read(self, key: str, handler: Callable[[Any], Any]) -> Any:
        return await self.write_to(self.runtime.shard_for(key), lambda machine: Result(response=handler(machine)))

    async def request(self, key: str, handler: Callable[[Any, Reply], Result | None]) -> Any:
        """For a handler that answers through its reply, now or when others have come.

        Replies come from the midst of the machine, which must not be asked anything new then: the loop wakes who waits.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        done = _settle(future)
        self.runtime.shard_for(key).write(lambda machine: handler(machine, lambda response: done(response, None)), done)
        return await future


def _settle(future: asyncio.Future[Any]) -> Callable[[Any, KafkaError | None], None]:
    def done(response: Any, error: KafkaError | None) -> None:
        if future.done():  # the client is gone and its request was cancelled
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(response)

    return done
