"""What requests wait for: other replicas (produce, delete records) or more bytes (fetch).

Each operation ends a future, which its handler awaits. When the connection is lost the handler is cancelled, and the
operation with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING

from tidelog.broker.purgatory.delayed import DelayedOperation
from tidelog.broker.purgatory.promise import Promise
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.broker.replication.partition import Partition


class Waiting(DelayedOperation):
    """A delayed operation that ends a future: with True when it was satisfied, with False when its time ran out."""

    __slots__ = ("done",)

    def __init__(self, done: asyncio.Future[bool] | Promise | None = None) -> None:
        super().__init__()
        self.done: asyncio.Future[bool] | Promise = done or asyncio.get_running_loop().create_future()
        self.done.add_done_callback(self._given_up)

    def on_complete(self) -> None:
        if not self.done.done():
            self.done.set_result(not self.expired)

    def _given_up(self, future: asyncio.Future[bool] | Promise) -> None:
        if future.cancelled():
            self.cancel()


class WaitFor(Waiting):
    """Waits until `condition` holds."""

    __slots__ = ("_condition",)

    def __init__(self, condition: Callable[[], bool]) -> None:
        super().__init__()
        self._condition = condition

    def is_satisfied(self, key: Hashable | None = None) -> bool:
        return self._condition()


class DelayedProduce(Waiting):
    """acks=all: until every partition's records are committed, or can no longer be."""

    __slots__ = ("results", "waiting")

    def __init__(self, required: Mapping[TopicPartition, tuple[Partition, int]]) -> None:
        super().__init__()
        self.waiting = dict(required)
        self.results: dict[TopicPartition, ErrorCode] = {}

    def is_satisfied(self, key: Hashable | None = None) -> bool:
        for tp, (partition, offset) in list(self.waiting.items()):
            code = partition.committed(offset)
            if code is not None:
                self.results[tp] = code
                del self.waiting[tp]
        return not self.waiting

    def on_complete(self) -> None:
        for tp in self.waiting:
            self.results[tp] = ErrorCode.REQUEST_TIMED_OUT
        super().on_complete()
