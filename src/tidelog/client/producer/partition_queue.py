"""PartitionQueue: one partition's batches on their way out, in order, a few at once, each written exactly once.

It is the queue that Kafka's RecordAccumulator has for each partition, together with the part of its Sender that
decides what a failed batch means for those behind it (`max.in.flight.requests.per.connection`, here per partition).

Up to `window` batches are under way together. When one fails in a way that a retry may cure, those behind it are
waited for (an idempotent broker has refused them, for their sequence numbers do not follow), and all that failed go out
again in their order, one at a time until one succeeds. The broker remembers the last five batches of a producer, so a
retry of a batch that was written after all is answered as if it were new.

An example, with a window of three and batches 1 to 5. 1, 2 and 3 are under way; the leader moves. 1 fails with
NOT_LEADER_OR_FOLLOWER, and 2 and 3 with it or, if they had reached the new leader first, with
OUT_OF_ORDER_SEQUENCE_NUMBER. When all three are back, the queue is 1, 2, 3, 4, 5 again, and after a wait 1 goes out
alone; once it is written, three at a time.

Without idempotence the sequence numbers are missing: a batch behind a failed one may have been
written, so the order is not kept, as in Kafka.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import NO_OFFSET, TopicPartition
from tidelog.net.pauses import pause

#: Writes one batch and returns its base offset; raises KafkaError.
Write = Callable[[TopicPartition, memoryview], Awaitable[int]]


@dataclass
class ProducerBatch:
    """A batch as it will be sent, with its sequence numbers inside; given up at `deadline` (`delivery.timeout.ms`)."""

    data: memoryview
    records: int
    deadline: float


class PartitionQueue:
    """The queue of one partition. `failed` tells the owner of an error that no retry can cure."""

    def __init__(
        self,
        tp: TopicPartition,
        write: Write,
        *,
        window: int,
        clock: Clock,
        wait_before_retry: Callable[[int], float],
        failed: Callable[[KafkaError], None],
    ) -> None:
        self.topic_partition = tp
        self.first_offset = NO_OFFSET
        self.records_written = 0
        self.queued_bytes = 0
        self._write = write
        self._window = window
        self._clock = clock
        self._wait_before_retry = wait_before_retry
        self._failed = failed
        self._queue: deque[ProducerBatch] = deque()
        self._runner: asyncio.Task[None] | None = None
        self._failures = 0

    def add(self, batch: ProducerBatch) -> None:
        """Put a batch behind the others; begins to send if nothing is under way."""
        self._queue.append(batch)
        self.queued_bytes += len(batch.data)
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())

    async def flushed(self) -> None:
        """Wait until nothing is queued or under way (or the queue has failed)."""
        if self._runner is not None:
            await self._runner

    def discard(self) -> int:
        """Drop what is not under way yet; the number of batches."""
        dropped = len(self._queue)
        self.queued_bytes -= sum(len(batch.data) for batch in self._queue)
        self._queue.clear()
        return dropped

    async def cancel(self) -> None:
        """Stop sending. Batches that are on their way may or may not be written."""
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)

    async def _run(self) -> None:
        """Send until nothing is left. Only the head is waited for: batches behind it are looked at when it is done, as
        they count only in their order.
        """
        under_way: deque[tuple[ProducerBatch, asyncio.Future[int]]] = deque()
        try:
            while self._queue or under_way:
                window = 1 if self._failures else self._window
                while self._queue and len(under_way) < window:
                    batch = self._queue.popleft()
                    under_way.append((batch, asyncio.ensure_future(self._write(self.topic_partition, batch.data))))
                with suppress(KafkaError):  # `_settle` looks at it
                    await under_way[0][1]
                error = self._settle(under_way)
                if error is not None:
                    await self._recover(under_way, error)
        except KafkaError as error:
            self._failed(error)
        finally:
            for _, task in under_way:
                if not task.cancel() and not task.cancelled():
                    task.exception()  # seen: the queue has failed with an earlier one

    def _settle(self, under_way: deque[tuple[ProducerBatch, asyncio.Future[int]]]) -> KafkaError | None:
        """Take the finished batches off the front; the error of the first that failed."""
        while under_way and under_way[0][1].done():
            batch, task = under_way[0]
            try:
                offset = task.result()
            except KafkaError as error:
                if error.code is not ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                    return error
                offset = NO_OFFSET
            under_way.popleft()
            self._written(batch, offset)
        return None

    def _written(self, batch: ProducerBatch, offset: int) -> None:
        """The batch is acknowledged. A duplicate's offset is not known: then -1 stands for it."""
        if self.first_offset == NO_OFFSET:
            self.first_offset = offset
        self.records_written += batch.records
        self.queued_bytes -= len(batch.data)
        self._failures = 0

    async def _recover(self, under_way: deque[tuple[ProducerBatch, asyncio.Future[int]]], error: KafkaError) -> None:
        """Prepare to send what failed again, or raise: when the error will not go away, or the head's
        `delivery.timeout.ms` would be over before the retry.
        """
        head = under_way[0][0]
        wait = self._wait_before_retry(self._failures)
        if not error.retriable or self._clock.monotonic() + wait > head.deadline:
            raise error
        await asyncio.wait([task for _, task in under_way])
        for batch, task in reversed(under_way):
            if task.exception() is None:  # only without idempotence: written, though one before it was not
                self._written(batch, task.result())
            else:
                self._queue.appendleft(batch)
        under_way.clear()
        self._failures += 1
        await pause(wait)
