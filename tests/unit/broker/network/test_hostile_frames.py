"""Bytes that are no requests, and requests that are nearly right: one connection suffers, and both paths agree."""

from __future__ import annotations

import asyncio
import logging
import random

import pytest

from support.loop import until
from support.wire import NOW, batch, connected, fetch_request, produce_request, run, serving
from tidelog.broker.handlers.records._lane import Lane
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import encode_request
from tidelog.protocol.messages import ApiVersionsRequest, ListOffsetsRequest

MUTATIONS = 400


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def mutated(frame: bytes, rng: random.Random) -> bytes:
    """The frame with a few bytes changed, cut out or put in, under a right length."""
    body = bytearray(frame[4:])
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(body))
        kind = rng.random()
        if kind < 0.7:
            body[at] = rng.choice([0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif kind < 0.85:
            del body[at : at + rng.randrange(1, 9)]
        else:
            body[at:at] = rng.randbytes(rng.randrange(1, 9))
        if not body:
            body = bytearray(b"\x00")
    return len(body).to_bytes(4, "big") + bytes(body)


async def exchange(client, frame: bytes) -> bytes | None:
    """The answers up to that of a request sent behind it, or None when the connection is closed."""
    try:
        client.writer.write(frame)
        client.send(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
        answers = b""
        while True:
            answer = await client.receive_frame()
            answers += answer
            if len(answer) > 10 and answer[4:6] == b"\x00\x00" and int.from_bytes(answer[6:10], "big") > 4:
                return answers
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def produce_frames(rng: random.Random):
    for number in range(MUTATIONS):
        version = rng.randrange(3, 13)
        data = {"t": {0: batch(b"a" * rng.randrange(40), b"b"), 1: batch(b"c")}}
        if rng.random() < 0.3:
            data["t"][0] = batch(b"x", producer_id=5, producer_epoch=0, base_sequence=number)
        frame = encode_request(ApiKey.PRODUCE, version, number, "c", produce_request(data, acks=rng.choice([1, 1, -1])))
        yield mutated(frame, rng) if rng.random() < 0.85 else frame


def test_mutated_produce_requests_fare_alike_on_both_paths(tmp_path):
    async def main():
        async with serving(tmp_path / "hot") as hot, serving(tmp_path / "long", hot=False) as long:
            for broker in (hot, long):
                broker.create_topic("t", 2)
            closed = 0
            for frame in produce_frames(random.Random(11)):
                answers = []
                for broker in (hot, long):
                    async with connected(broker) as client:
                        answers.append(await asyncio.wait_for(exchange(client, frame), 60))
                assert answers[0] == answers[1], frame.hex()
                closed += answers[0] is None
            assert 0 < closed < MUTATIONS
            assert hot.network.sink.taken()[ApiKey.PRODUCE] > MUTATIONS / 10
            ends = [[one.log.log_end_offset for one in broker.replicas.partitions()] for broker in (hot, long)]
            assert ends[0] == ends[1]

    run(main())


def test_mutated_requests_of_other_kinds_leave_the_broker_well(tmp_path):
    def frames(rng):
        asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
        topics = [ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[asked])]
        for number in range(MUTATIONS):
            version = rng.randrange(0, 12)
            request = rng.choice(
                [
                    (ApiKey.FETCH, version, fetch_request({"t": {0: 0}}, max_wait_ms=0)),
                    (ApiKey.LIST_OFFSETS, max(1, version), ListOffsetsRequest(replica_id=-1, topics=topics)),
                    (ApiKey.API_VERSIONS, 0, ApiVersionsRequest()),
                ]
            )
            yield mutated(encode_request(request[0], request[1], number, "c", request[2]), rng)

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as good:
            broker.create_topic("t")
            await good.produce("t", batch(b"a"))
            for frame in frames(random.Random(5)):
                async with connected(broker) as client:
                    client.writer.write(frame)
                    client.writer.write_eof()
                    await asyncio.wait_for(client.reader.read(), 60)
            part = await good.produce("t", batch(b"still here"))
            assert part.error_code == 0
            await until(lambda: len(broker.network.table) == 1)
            assert len(broker.network.dispatcher) == 0

    run(main())


def test_noise_and_half_frames(tmp_path):
    async def main():
        rng = random.Random(3)
        frame = encode_request(ApiKey.PRODUCE, 9, 1, "c", produce_request({"t": {0: batch(b"a", timestamp=NOW)}}))
        async with serving(tmp_path) as broker, connected(broker) as good:
            broker.create_topic("t")
            for _ in range(100):
                async with connected(broker) as client:
                    client.writer.write(rng.randbytes(rng.randrange(1, 3000)))
                async with connected(broker) as client:
                    client.writer.write(frame[: rng.randrange(1, len(frame))])
            assert (await good.produce("t", batch(b"b"))).base_offset == 0

    run(main())


def test_a_request_may_come_byte_by_byte(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            frame = encode_request(ApiKey.PRODUCE, 9, 1, "c", produce_request({"t": {0: batch(b"a")}}))
            for number in range(len(frame)):
                client.writer.write(frame[number : number + 1])
                await asyncio.sleep(0)
            response = await client.receive(ApiKey.PRODUCE, 9)
            assert response.responses[0].partition_responses[0].error_code == 0

    run(main())


def test_a_request_for_many_partitions_takes_the_time_of_each(tmp_path, monkeypatch):
    """Whether a partition is named twice is not found out by comparing all with all."""
    compared = []

    class Counting(Lane):
        def __eq__(self, other):
            compared.append(other)
            return self is other

        __hash__ = None

    monkeypatch.setattr("tidelog.broker.handlers.records.lanes.Lane", Counting)

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 30)
            request = produce_request({"t": {partition: batch(b"v") for partition in range(30)}})
            answer = await client.ask(ApiKey.PRODUCE, 9, request)
            parts = answer.responses[0].partition_responses
            assert [(part.error_code, part.base_offset) for part in parts] == [(0, 0)] * 30
            assert broker.network.sink.taken()[ApiKey.PRODUCE] == 1
            assert not compared
            named = request.topic_data[0].partition_data
            named[1].index = named[0].index
            again = (await client.ask(ApiKey.PRODUCE, 9, request)).responses[0].partition_responses
            assert [part.base_offset for part in again] == [1, 2, *[1] * 28]
            assert broker.network.sink.taken()[ApiKey.PRODUCE] == 1, "a partition that is named twice goes the long way"

    run(main())
