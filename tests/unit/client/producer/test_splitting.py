"""Batches that are larger than their topic takes: cut in two until they fit, each record written once and in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from support.fake_cluster import TOPIC
from tidelog.aio import Producer
from tidelog.client.producer._batch import BufferPool, ProducerBatch
from tidelog.client.producer._partition_batches import PartitionBatches
from tidelog.client.producer.splitting import is_curable, split
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.testing import Broker
from unit.client.producer.test_delivery import FAST, Leader, close_quietly, values

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
LARGE: dict[str, Any] = {**FAST, "batch.size": 4000, "linger.ms": 5}


class Narrow(Leader):
    """Takes batches of up to `limit` bytes. As Apache Kafka does, it looks at the size before the sequence."""

    limit = 1000
    knows_wholes = False  # of what it has, it recognises only batches that are the same as a whole

    def _write(self, part: Any, error: ErrorCode | None) -> Any:
        if error is None and len(part.records) > self.limit:
            error = ErrorCode.MESSAGE_TOO_LARGE
        header = next(iter(iter_batches(bytes(part.records)))).header
        if error is None and self.knows_wholes and header.base_sequence < self.expected.get((0, header.producer_id), 0):
            error = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return super()._write(part, error)


def run(scenario: Callable[[Narrow, Producer], Awaitable[None]], **more: Any) -> None:
    async def main() -> None:
        async with Narrow() as leader:
            settings = LARGE | {key.replace("_", "."): value for key, value in more.items()}
            producer = Producer({"bootstrap.servers": leader.address, **settings})
            try:
                await scenario(leader, producer)
            finally:
                await close_quietly(producer)

    asyncio.run(main())


def sequences(leader: Leader) -> list[tuple[int, int]]:
    """Of all batches that came, with the number of their records."""
    parts = [part for request in leader.asked(ApiKey.PRODUCE) for part in request.topic_data[0].partition_data]
    headers = [next(iter(iter_batches(bytes(part.records)))).header for part in parts]
    return [(header.base_sequence, header.record_count) for header in headers]


@pytest.mark.parametrize("in_flight", [1, 5])
def test_they_are_written_in_parts_each_once_and_in_order(in_flight: int) -> None:
    async def scenario(leader: Narrow, producer: Producer) -> None:
        told: list[int] = []
        for number, value in enumerate(values(1000)):
            producer.send(TOPIC, value, partition=0, on_delivery=lambda metadata, _, n=number: told.append(n))
        futures = [producer.send(TOPIC, value, partition=0) for value in values(100, 1000)]
        await producer.flush()
        assert leader.written == values(1100)
        assert told == list(range(1000))
        assert [(await future).offset for future in futures] == list(range(1000, 1100))
        assert leader.ids == 5, "the broker never lost count of our sequence"
        assert producer.metrics()["batch-split-total"] > 3
        if in_flight == 1:
            assert producer.metrics()["record-retry-total"] == 0, "a part is no retry"
        assert producer.metrics()["buffer-available-bytes"] == producer.metrics()["buffer-total-bytes"]

    run(scenario, max_in_flight_requests_per_connection=in_flight)


def test_the_parts_have_the_sequence_numbers_of_the_whole() -> None:
    async def scenario(leader: Narrow, producer: Producer) -> None:
        for value in values(100):
            producer.send(TOPIC, value, partition=0)
        await producer.flush()
        (whole, first, *_) = sequences(leader)
        assert whole == (0, 100)
        assert first[0] == 0
        assert 40 <= first[1] <= 60
        written = {at: count for at, count in sequences(leader) if count <= 60}
        assert all(at + count == following for (at, count), (following, _) in pairwise(sorted(written.items())))

    run(scenario, max_in_flight_requests_per_connection=1)


def test_a_record_that_is_too_large_by_itself_fails_alone() -> None:
    async def scenario(leader: Narrow, producer: Producer) -> None:
        wanted = [*values(40), b"x" * 2000, *values(40, 40)]
        futures = [producer.send(TOPIC, value, partition=0) for value in wanted]
        later = [producer.send(TOPIC, value, partition=0) for value in values(40, 80)]
        await producer.flush()
        errors = [future.exception() for future in futures]
        assert [index for index, error in enumerate(errors) if error is not None] == [40]
        assert isinstance(errors[40], KafkaError)
        assert errors[40].code is ErrorCode.MESSAGE_TOO_LARGE
        assert "1 record" in errors[40].message
        assert all(future.exception() is None for future in later)
        assert leader.written == values(120)
        assert leader.ids == 5

    run(scenario)


@pytest.mark.parametrize("settings", [{"enable.idempotence": False}, {"retries": 0, "enable.idempotence": False}])
def test_without_idempotence_and_without_retries(settings: dict[str, Any]) -> None:
    """A part is no retry: nothing that was sent has failed to arrive."""

    async def scenario(leader: Narrow, producer: Producer) -> None:
        for value in values(300):
            producer.send(TOPIC, value, partition=0)
        await producer.flush()
        assert leader.written == values(300)

    run(scenario, **{key.replace(".", "_"): value for key, value in settings.items()})


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(codec: str) -> None:
    async def scenario(leader: Narrow, producer: Producer) -> None:
        leader.limit = 300 if codec != "none" else 1000
        for value in values(200):
            producer.send(TOPIC, value, partition=0)
        await producer.flush()
        assert leader.written == values(200)
        assert producer.metrics()["batch-split-total"]

    run(scenario, compression_type=codec)


def test_faults_between_the_parts() -> None:
    async def scenario(leader: Narrow, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = [None, None, ErrorCode.NOT_LEADER_OR_FOLLOWER, "write and hang up", None, "hang up"] * 4
        for value in values(800):
            producer.send(TOPIC, value, partition=0)
        await producer.flush()
        assert leader.written == values(800)

    run(scenario)


def test_whole_tables() -> None:
    async def scenario(leader: Narrow, producer: Producer) -> None:
        rows = await (await producer.send_arrow(TOPIC, {"value": pa.array(values(500), pa.binary())}))
        assert leader.written == values(500)
        assert [one.offset for one in rows] == [sum(one.rows for one in rows[:at]) for at in range(len(rows))]
        assert sum(one.rows for one in rows) == 500

    run(scenario)


def test_it_is_said_once_what_to_set(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(leader: Narrow, producer: Producer) -> None:
        for value in values(1000):
            producer.send(TOPIC, value, partition=0)
        await producer.flush()

    with caplog.at_level(logging.WARNING, "tidelog.client.producer"):
        run(scenario)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "batch.size" in said
    assert "max.message.bytes" in said


def whole(pool: BufferPool, sizes: list[int], *, codec: Codec = Codec.NONE) -> ProducerBatch:
    """A sealed batch of values of these sizes."""
    tp = TopicPartition(TOPIC, 0)
    builder = BatchBuilder(codec=codec)
    for number, size in enumerate(sizes):
        builder.append(1000 + number, b"k%d" % number, bytes(size), [("n", b"%d" % number), ("none", None)])
    batch = ProducerBatch.ready_made(pool, PartitionBatches(tp), tp, memoryview(bytearray(builder.build())), 7.0)
    batch.seal(5, 1, 2**31 - 3)
    return batch


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [([10] * 8, [4, 4]), ([10, 10], [1, 1]), ([1000, 10, 10], [1, 2]), ([10, 10, 1000], [2, 1]), ([0] * 3, [2, 1])],
)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_both_halves_have_about_the_same_bytes(sizes: list[int], counts: list[int], codec: Codec) -> None:
    pool = BufferPool(1 << 20, 100)
    batch = whole(pool, sizes, codec=codec)
    before = [record for one in iter_batches(bytes(batch)) for record in one.records()]
    parts = split(batch)
    assert [part.count for part in parts] == counts
    assert {(part.created, part.codec) for part in parts} == {(7.0, int(codec))}
    after = [record for part in parts for one in iter_batches(bytes(part), check_crc=True) for record in one.records()]
    shown = [[(r.timestamp, r.key, r.value, r.headers) for r in records] for records in (before, after)]
    assert shown[0] == shown[1]


def test_sequence_numbers_begin_anew_after_the_largest() -> None:
    parts = split(whole(BufferPool(1 << 20, 100), [10] * 10))
    assert [part.base_sequence for part in parts] == [2**31 - 3, 2]


def test_who_waits_for_the_whole_waits_for_all_parts() -> None:
    pool = BufferPool(1 << 20, 100)
    batch = whole(pool, [10] * 8)
    woken: list[str] = []
    batch.when_done(lambda: woken.append("whole"))
    first, second = split(batch)
    inner, last = split(second)
    assert batch.leaves() == [first, inner, last]
    first.succeed(10, -1)
    last.succeed(16, -1)
    assert not batch.done
    assert not woken
    inner.fail(KafkaError(ErrorCode.MESSAGE_TOO_LARGE))
    assert batch.done
    assert woken == ["whole"]
    assert pool.available == pool.total


def test_what_is_refused_for_its_size_alone_is_split() -> None:
    batch = whole(BufferPool(1 << 20, 100), [10] * 8)
    too_large = KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
    assert is_curable(batch, too_large)
    assert not is_curable(batch, KafkaError(ErrorCode.INVALID_RECORD))
    assert not is_curable(whole(BufferPool(1 << 20, 100), [10]), too_large)
    batch.fail(too_large)
    assert not is_curable(batch, too_large)


def test_parts_of_what_was_written_after_all_are_not_written_again() -> None:
    """The whole is written, its answer is lost, and the limit is made smaller: nobody can tell, so it fails."""

    async def scenario(leader: Narrow, producer: Producer) -> None:
        await producer.send(TOPIC, b"first", partition=0)
        leader.limit, leader.knows_wholes = 1 << 20, True

        class Script(list[Any]):
            def pop(self, index: Any = -1) -> Any:
                """When the first has been written, the limit becomes smaller."""
                found = super().pop(index)
                asyncio.get_running_loop().call_soon(setattr, leader, "limit", 400)
                return found

        leader.script = Script(["write and hang up"])
        futures = [producer.send(TOPIC, value, partition=0) for value in values(50)]
        await producer.flush()
        assert leader.written == [b"first", *values(50)]
        errors = [future.exception() for future in futures]
        assert {isinstance(error, KafkaError) and error.code for error in errors} == {
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        }
        await producer.send(TOPIC, b"last", partition=0)
        assert leader.written == [b"first", *values(50), b"last"]
        assert leader.ids == 6

    run(scenario)


def test_on_tidelog() -> None:
    """Its own broker refuses them as Kafka does."""

    async def main(address: str) -> None:
        async with Producer(bootstrap_servers=address, batch_size=50_000, linger_ms=5) as producer:
            futures = [producer.send("narrow", b"%0100d" % number) for number in range(5000)]
            await producer.flush()
            assert [(await future).offset for future in futures] == list(range(5000))
            assert producer.metrics()["batch-split-total"]

    with Broker() as broker:
        broker.create_topic("narrow", 1, config={"max.message.bytes": "5000"})
        asyncio.run(main(broker.address))
