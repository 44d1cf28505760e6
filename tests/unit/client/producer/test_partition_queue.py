"""A partition's queue against brokers that fail: every batch once, in order."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.client.producer.partition_queue import PartitionQueue, ProducerBatch
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition as TP
from tidelog.testing.clock import ManualClock


class Partition:
    """An idempotent leader: takes a batch only when it is the next, and fails as told before or after writing it."""

    def __init__(self, failures: dict[int, str]) -> None:
        self.log: list[int] = []
        self.failures = failures
        self.calls = 0

    async def write(self, tp: TP, data: memoryview) -> int:
        call, self.calls = self.calls, self.calls + 1
        await asyncio.sleep(0)
        failure = self.failures.get(call)
        if failure == "before":
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        number = int(bytes(data))
        if number < len(self.log):
            return number  # a duplicate: answered as if it were new
        if number > len(self.log):
            raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.log.append(number)
        if failure == "after":
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        return number


def run(partition: Partition, count: int, *, window: int = 5) -> list[KafkaError]:
    errors: list[KafkaError] = []

    async def scenario() -> None:
        queue = PartitionQueue(
            TP("t", 0),
            partition.write,
            window=window,
            clock=SYSTEM_CLOCK,
            wait_before_retry=lambda attempt: 0.0,
            failed=errors.append,
        )
        for number in range(count):
            queue.add(ProducerBatch(memoryview(str(number).encode()), 1, SYSTEM_CLOCK.monotonic() + 60))
        await queue.flushed()
        if not errors:
            assert queue.records_written == count
            assert queue.queued_bytes == 0

    asyncio.run(scenario())
    return errors


@settings(max_examples=60)
@given(st.dictionaries(st.integers(0, 30), st.sampled_from(["before", "after"])), st.integers(1, 5))
def test_every_batch_is_written_once_and_in_order(failures: dict[int, str], window: int) -> None:
    partition = Partition(failures)
    assert run(partition, 12, window=window) == []
    assert partition.log == list(range(12))


def test_an_error_that_no_retry_cures_is_told_and_stops_the_queue() -> None:
    class Fenced(Partition):
        async def write(self, tp: TP, data: memoryview) -> int:
            if int(bytes(data)) == 3:
                raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
            return await super().write(tp, data)

    partition = Fenced({})
    (error,) = run(partition, 10, window=1)
    assert error.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert partition.log == [0, 1, 2]


def test_a_batch_that_is_too_old_is_given_up() -> None:
    async def scenario() -> None:
        partition = Partition(dict.fromkeys(range(100), "before"))
        errors: list[KafkaError] = []
        clock = ManualClock()

        def wait_before_retry(attempt: int) -> float:
            clock.advance(10)
            return 0.0

        queue = PartitionQueue(
            TP("t", 0),
            partition.write,
            window=5,
            clock=clock,
            wait_before_retry=wait_before_retry,
            failed=errors.append,
        )
        queue.add(ProducerBatch(memoryview(b"0"), 1, clock.monotonic() + 50))
        await queue.flushed()
        assert [error.code for error in errors] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert partition.calls == 6

    asyncio.run(scenario())
