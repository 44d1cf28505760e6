"""Delivery against a leader that fails on demand: order, retries, sequence numbers, doubts, and what limits them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.fake_broker import HangUp
from support.fake_cluster import TOPIC, FakeCluster
from tidelog.aio import Producer
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import InitProducerIdResponse, MetadataResponse, ProduceResponse
from tidelog.records.format.batch import iter_batches

FAST: dict[str, Any] = {"retry.backoff.ms": 1, "retry.backoff.max.ms": 5, "linger.ms": 0, "batch.size": 200}

#: What the leader does with a Produce: an error code to answer, "write and hang up", "hang up", "silence", None: serve.
Fault = ErrorCode | str | None


class Leader(FakeCluster):
    """Counts sequence numbers as a broker does, and lets each Produce meet the next fault of the script."""

    def __init__(self, partitions: int = 1) -> None:
        super().__init__(partitions)
        self.script: list[Fault] = []
        self.expected: dict[tuple[int, int], int] = {}
        self.ids = 4
        self.written: list[bytes] = []
        self.under_way = self.most_under_way = 0

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        key = ApiKey(header.api_key)
        if key is ApiKey.INIT_PRODUCER_ID:
            self.ids += 1
            return InitProducerIdResponse(producer_id=self.ids, producer_epoch=0)
        if key is not ApiKey.PRODUCE:
            return super()._handle(header, request)
        fault = self.script.pop(0) if self.script else None
        if fault == "hang up":
            raise HangUp
        if fault == "silence":
            return None
        error = fault if isinstance(fault, ErrorCode) else None
        entries = [self._write(part, error) for topic in request.topic_data for part in topic.partition_data]
        if fault == "write and hang up":
            raise HangUp
        if request.acks == 0:
            return None
        answer = ProduceResponse.TopicProduceResponse(name=TOPIC, partition_responses=entries)
        return ProduceResponse(responses=[answer])

    def _write(self, part: Any, error: ErrorCode | None) -> Any:
        entry = ProduceResponse.PartitionProduceResponse
        (batch,) = iter_batches(bytes(part.records))
        header = batch.header
        lane = (part.index, header.producer_id)
        if error is None and header.producer_id >= 0:
            expected = self.expected.get(lane, 0)
            if header.base_sequence < expected:
                return entry(index=part.index, error_code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER, base_offset=-1)
            if header.base_sequence > expected:
                error = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if error is not None:
            return entry(index=part.index, error_code=error, base_offset=-1)
        self.expected[lane] = header.base_sequence + header.record_count
        self.written += [record.value or b"" for record in batch.records()]
        return entry(index=part.index, error_code=0, base_offset=self.append(part.index, bytes(part.records)))

    @property
    def produced(self) -> int:
        return len(self.asked(ApiKey.PRODUCE))


class OneOfTwo(Leader):
    """Says that another broker leads partition 1, which is not there, until it is alone."""

    alone = False

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        answer = super()._handle(header, request)
        if header.api_key == ApiKey.METADATA and not self.alone:
            answer.brokers.append(MetadataResponse.MetadataResponseBroker(node_id=2, host="127.0.0.1", port=1))
            answer.topics[0].partitions[1].leader_id = 2
        return answer


def run(scenario: Callable[[Leader, Producer], Awaitable[None]], partitions: int | Leader = 1, **more: Any) -> Leader:
    """Run the scenario with a producer that has few records in each batch."""

    async def main() -> Leader:
        async with Leader(partitions) if isinstance(partitions, int) else partitions as leader:
            settings = {"bootstrap.servers": leader.address, **FAST}
            settings |= {key.replace("_", "."): value for key, value in more.items()}
            producer = Producer(settings)
            try:
                await scenario(leader, producer)
            finally:
                await close_quietly(producer)
            return leader

    return asyncio.run(main())


async def close_quietly(producer: Producer) -> None:
    try:
        await producer.close(timeout=0)
    except KafkaError:
        return


async def until(condition: Callable[[], bool]) -> None:
    """Turn by turn of the loop, until it holds."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - the condition is the fake leader's, on this loop
            await asyncio.sleep(0.001)


def values(count: int, start: int = 0) -> list[bytes]:
    return [b"%04d" % number for number in range(start, start + count)]


async def send_all(producer: Producer, wanted: list[bytes]) -> list[Any]:
    futures = [producer.send(TOPIC, value, partition=0) for value in wanted]
    await producer.flush()
    return [future.exception() for future in futures]


CURABLE: list[Fault] = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
    "hang up",
    "write and hang up",
]


@pytest.mark.parametrize("fault", CURABLE)
@pytest.mark.parametrize("position", [0, 1, 3])
def test_nothing_is_lost_doubled_or_reordered(fault: Fault, position: int) -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = [None] * position + [fault]
        assert set(await send_all(producer, values(200))) == {None}
        assert leader.written == values(200)
        assert leader.ids == 5

    run(scenario)


def test_several_faults_in_a_row() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        leader.script = [ErrorCode.NOT_LEADER_OR_FOLLOWER, "hang up", None, "write and hang up", None, "hang up"] * 3
        assert set(await send_all(producer, values(300))) == {None}
        assert leader.written == values(300)

    run(scenario)


def test_a_batch_that_is_refused_for_good_leaves_no_gap() -> None:
    """Its sequence numbers go to the next: those behind it are written, under the same id."""

    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = [None, ErrorCode.INVALID_RECORD]
        errors = await send_all(producer, values(100))
        lost = [value for value, error in zip(values(100), errors, strict=True) if error is not None]
        assert 0 < len(lost) < 20
        assert leader.written == [value for value in values(100) if value not in lost]
        assert leader.ids == 5

    run(scenario)


def test_after_an_indefinite_error_the_id_is_renewed() -> None:
    """Nobody knows whether the batch was written: no sequence number of the old id may follow it."""

    async def scenario(leader: Leader, producer: Producer) -> None:
        assert set(await send_all(producer, values(5))) == {None}
        leader.script = [ErrorCode.UNKNOWN_SERVER_ERROR]
        errors = await send_all(producer, values(5, 5))
        assert {error.code for error in errors} == {ErrorCode.UNKNOWN_SERVER_ERROR}
        assert leader.ids == 5
        assert set(await send_all(producer, values(5, 10))) == {None}
        assert leader.ids == 6
        assert leader.written == values(5) + values(5, 10)

    run(scenario)


def test_a_broker_that_lost_count_gets_a_new_id() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        assert set(await send_all(producer, values(5))) == {None}
        leader.expected.clear()
        leader.expected[0, 5] = -100  # it remembers something else
        leader.script = [ErrorCode.UNKNOWN_PRODUCER_ID]
        assert set(await send_all(producer, values(5, 5))) == {None}
        assert leader.ids == 6
        assert leader.written == values(10)

    run(scenario)


def test_retries_are_limited() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = [ErrorCode.NOT_ENOUGH_REPLICAS] * 3
        (error,) = await send_all(producer, [b"x"])
        assert error.code is ErrorCode.NOT_ENOUGH_REPLICAS
        assert leader.produced == 3
        assert set(await send_all(producer, [b"y"])) == {None}

    run(scenario, retries=2)


def test_without_retries_an_error_is_final() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = [ErrorCode.NOT_ENOUGH_REPLICAS]
        (error,) = await send_all(producer, [b"x"])
        assert error.code is ErrorCode.NOT_ENOUGH_REPLICAS
        assert leader.ids == 4  # no idempotence, no id

    run(scenario, retries=0)


def test_delivery_timeout_ends_the_retries() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = [ErrorCode.NOT_ENOUGH_REPLICAS] * 100_000
        (error,) = await send_all(producer, [b"x"])
        assert error.code in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS)
        assert leader.produced > 2

    run(scenario, delivery_timeout_ms=300, request_timeout_ms=200)


def test_delivery_timeout_counts_while_a_request_is_under_way() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = ["silence"] * 100
        (error,) = await send_all(producer, [b"x"])
        assert error.code is ErrorCode.REQUEST_TIMED_OUT

    run(scenario, delivery_timeout_ms=300, request_timeout_ms=200)


def test_request_timeout_leads_to_another_try() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = ["silence"]
        assert set(await send_all(producer, [b"x"])) == {None}
        assert leader.produced == 2

    run(scenario, request_timeout_ms=100)


@pytest.mark.parametrize("limit", [1, 3])
def test_requests_in_flight_are_limited(limit: int) -> None:
    """The leader keeps its answers: no more requests come than are allowed."""

    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        leader.script = ["silence"] * 1000
        for value in values(200):
            producer.send(TOPIC, value, partition=0)
        await until(lambda: leader.produced >= limit)
        for _ in range(100):
            await asyncio.sleep(0)
        assert leader.produced == limit

    run(scenario, max_in_flight_requests_per_connection=limit)


def test_acks_0_waits_for_nobody() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        assert (await producer.send(TOPIC, b"x", partition=0)).offset == -1

    leader = run(scenario, acks=0)
    assert {request.acks for request in leader.asked(ApiKey.PRODUCE)} <= {0}
    assert leader.ids == 4


@pytest.mark.parametrize(("acks", "wire"), [("all", -1), ("1", 1), ("-1", -1)])
def test_acks_and_the_time_out_go_with_the_request(acks: str, wire: int) -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.send(TOPIC, b"x", partition=0)
        request = leader.asked(ApiKey.PRODUCE)[0]
        assert (request.acks, request.timeout_ms) == (wire, 12_345)

    run(scenario, acks=acks, request_timeout_ms=12_345)


def test_idempotence_gives_sequence_numbers() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await send_all(producer, values(40))
        batches = [part for request in leader.asked(ApiKey.PRODUCE) for part in request.topic_data[0].partition_data]
        headers = [next(iter(iter_batches(bytes(batch.records)))).header for batch in batches]
        assert {header.producer_id for header in headers} == {5}
        counts = [header.record_count for header in headers]
        assert [header.base_sequence for header in headers] == [sum(counts[:at]) for at in range(len(counts))]

    run(scenario)


def test_sequence_numbers_wrap() -> None:
    """From 2^31 - 1 to 0, as brokers count."""

    async def scenario(leader: Leader, producer: Producer) -> None:
        assert await send_all(producer, values(1)) == [None]
        (queue,) = producer.accumulator.topics[TOPIC].partitions
        queue.next_sequence = leader.expected[0, leader.ids] = 2**31 - 1
        await send_all(producer, values(1, 1))
        assert queue.next_sequence == 0

    run(scenario)


def test_a_leader_that_cannot_be_reached_holds_nobody_else_back() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        assert isinstance(leader, OneOfTwo)
        stuck = producer.send(TOPIC, b"stuck", partition=1)
        assert (await producer.send(TOPIC, b"there", partition=0)).offset == 0
        assert not stuck.done()
        leader.alone = True
        assert (await stuck).offset == 0

    run(scenario, OneOfTwo(2))


@pytest.mark.parametrize("left_out", [False, True])
def test_what_goes_wrong_with_one_partition_is_not_told_to_another(left_out: bool) -> None:
    """An answer may refuse one batch and take another; one that says nothing of a batch is an error for it alone."""

    async def scenario(leader: Leader, producer: Producer) -> None:
        write = leader._write

        def refuse_the_second(part: Any, error: ErrorCode | None) -> Any:
            entry = write(part, ErrorCode.INVALID_RECORD if part.index == 1 else error)
            if left_out and part.index == 1:
                entry.index = 99
            return entry

        leader._write = refuse_the_second  # type: ignore[method-assign]
        futures = [producer.send(TOPIC, b"x", partition=number) for number in (0, 1)]
        await producer.flush()
        assert futures[0].exception() is None
        error = futures[1].exception()
        assert isinstance(error, KafkaError)
        assert error.code is (ErrorCode.UNKNOWN_SERVER_ERROR if left_out else ErrorCode.INVALID_RECORD)

    run(scenario, partitions=2, retries=0, enable_idempotence=False)


def test_a_request_holds_one_batch_of_each_partition_up_to_its_size() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        for number in range(8):
            producer.send(TOPIC, b"x" * 100, partition=number)
        await producer.flush()
        requests = leader.asked(ApiKey.PRODUCE)
        sizes = [[len(part.records) for part in request.topic_data[0].partition_data] for request in requests]
        assert sum(len(each) for each in sizes) == 8
        assert max(sum(each) for each in sizes) <= 600
        assert len(sizes) == 3

    run(scenario, partitions=8, max_request_size=600, linger_ms=20)


def test_metadata_is_asked_again_when_the_leader_has_moved() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.partitions_for(TOPIC)
        before = len(leader.asked(ApiKey.METADATA))
        leader.script = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert set(await send_all(producer, [b"x"])) == {None}
        assert len(leader.asked(ApiKey.METADATA)) > before

    run(scenario)


def test_metadata_that_is_old_is_asked_for_anew_and_idle_topics_are_forgotten() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.send(TOPIC, b"x", partition=0)
        before = len(leader.asked(ApiKey.METADATA))
        await until(lambda: len(leader.asked(ApiKey.METADATA)) >= before + 2)

    run(scenario, metadata_max_age_ms=30)


def test_the_count_of_a_topic_that_was_forgotten_goes_on() -> None:
    """Brokers remember sequence numbers for days: a count that began again would be taken for a repetition."""

    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.send(TOPIC, b"first", partition=0)
        core = producer._core
        core.sender.leaders.refresh_all(core.cluster.clock.monotonic() + 1e6)
        assert TOPIC not in core.accumulator.topics
        assert TOPIC not in core.cluster.metadata.topics
        await producer.send(TOPIC, b"second", partition=0)
        assert leader.written == [b"first", b"second"]
        assert leader.ids == 5  # the id is still the first one

    run(scenario)


def test_added_partitions_are_found() -> None:
    async def scenario(leader: Leader, producer: Producer) -> None:
        await producer.send(TOPIC, b"x", partition=0)
        leader.widen = 3
        assert (await producer.send(TOPIC, b"x", partition=3)).partition == 3

    run(scenario)
