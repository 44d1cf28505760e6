"""The sink: frames that takers note, and those of others that must not overtake them."""

from __future__ import annotations

import asyncio
import random
import socket

import pytest

from support.loop import until
from support.wire import batch, connected, fetch_request, produce_request, run, serving
from tidelog.broker.handlers.records.lanes import lanes_of
from tidelog.broker.network._sink import RequestSink
from tidelog.broker.replication.partition import Partition
from tidelog.broker.requests._taker import Taker
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import encode_request
from tidelog.protocol.messages import ListOffsetsRequest
from tidelog.records.format.batch import iter_batches


def frame(key: ApiKey, version: int, correlation: int, request) -> bytes:
    return encode_request(key, version, correlation, "c", request)


def produce(correlation: int, partition: int = 0) -> bytes:
    return frame(ApiKey.PRODUCE, 9, correlation, produce_request({"t": {partition: batch(b"v")}}))


def end_of(partition: int) -> ListOffsetsRequest:
    asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=-1)
    topic = ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[asked])
    return ListOffsetsRequest(replica_id=-1, topics=[topic])


def test_what_was_noted_is_done_before_a_request_of_another_kind(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            frames = []
            for number in range(5):
                frames += [produce(2 * number), frame(ApiKey.LIST_OFFSETS, 1, 2 * number + 1, end_of(0))]
            client.writer.write(b"".join(frames))
            for number in range(5):
                assert int.from_bytes((await client.receive_frame())[:4], "big") == 2 * number
                answer = await client.receive(ApiKey.LIST_OFFSETS, 1)
                assert answer.topics[0].partitions[0].offset == number + 1
            assert broker.network.sink.taken() == {ApiKey.PRODUCE: 5}

    run(main())


def test_who_is_woken_by_a_flush_may_bring_the_next_request(tmp_path, monkeypatch):
    """A fetch waits; the same client has sent a produce request behind it. An append completes the fetch while others
    are still to be appended and answered: what the client sent next must not be mixed with them."""

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as waiting, connected(broker) as writing:
            broker.create_topic("t", 2)
            first, second = sorted(broker.replicas.partitions(), key=lambda one: one.tp.partition)
            fetch = fetch_request({"t": {1: 0}}, max_wait_ms=60_000, min_bytes=1)
            waiting.writer.write(frame(ApiKey.FETCH, 11, 1, fetch) + produce(2))
            await until(lambda: len(broker.purgatories.fetch) == 1)
            appended = []

            def appending(partition, run, *args, **kwargs):
                appended.append(partition)
                if len(appended) == 1:
                    second.append_client(batch(b"for the one who waits"))
                    broker.replicas.waking.on_moved(second)  # as a failing disk does it, in the middle of an append
                return append(partition, run, *args, **kwargs)

            append = Partition.append_checked
            monkeypatch.setattr(Partition, "append_checked", appending)
            writing.writer.write(produce(3) + produce(4))
            fetched = await waiting.receive(ApiKey.FETCH, 11)
            assert fetched.responses[0].partitions[0].high_watermark == 1
            offsets = []
            for client in (waiting, writing, writing):
                answer = await client.receive(ApiKey.PRODUCE, 9)
                part = answer.responses[0].partition_responses[0]
                assert part.error_code == 0
                offsets.append(part.base_offset)
            assert offsets == [0, 1, 2]
            assert broker.network.sink.taken()[ApiKey.PRODUCE] == 2
            assert first.log.log_end_offset == 3

    run(asyncio.wait_for(main(), 60))


def test_what_was_noted_of_a_connection_that_fails_is_not_written_over(tmp_path, monkeypatch):
    """One connection's second request cannot even be looked at. The next connection's bytes come in the same turn of
    the loop, and would lie where the first one's noted batch does."""

    def failing(replicas, key, by_id):
        if key == b"?":
            raise OSError("a disk that fails to say so")
        return lanes_of(replicas, key, by_id)

    monkeypatch.setattr("tidelog.broker.handlers.takers.lanes_of", failing)

    def named(topic: str, value: bytes) -> bytes:
        return frame(ApiKey.PRODUCE, 9, 1, produce_request({topic: {0: batch(value)}}))

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as first, connected(broker) as second:
            broker.create_topic("t")
            await until(lambda: len(broker.network.table) == 2)
            await first.produce("t", batch(b"0"))
            await second.produce("t", batch(b"0"))
            first.writer.write(named("t", b"of the one") + named("?", b"lost"))
            second.writer.write(named("t", b"of the two"))
            assert (await second.receive(ApiKey.PRODUCE, 9)).responses[0].partition_responses[0].error_code == 0
            assert await first.closed()
            async with connected(broker) as reader:
                answer = await reader.fetch("t", 2)
            records = bytes(answer.responses[0].partitions[0].records)
            values = sorted(record.value for one in iter_batches(records) for record in one)
            assert values == [b"of the one", b"of the two"]

    run(main())


def test_an_answer_behind_one_that_a_thread_sends_waits_for_it(tmp_path):
    """Readers of much at the same time, some of whose answers threads send; behind each fetch comes a produce request,
    whose answer must not set the loop to sending as well."""
    large = 4 << 20

    def read(address, value: bytes):
        """Blocking, on a thread of its own: who reads fast enough has the loop's turn end before the socket is full."""
        fetch = fetch_request({"t": {0: 0}}, max_bytes=2 * large, partition_max_bytes=2 * large)
        with socket.create_connection(address) as client:
            stream = client.makefile("rb", buffering=1 << 20)
            for number in range(0, 20, 2):
                client.sendall(frame(ApiKey.FETCH, 11, number, fetch) + produce(number + 1, 1))
                fetched, produced = (stream.read(int.from_bytes(stream.read(4), "big")) for _ in range(2))
                assert int.from_bytes(fetched[:4], "big") == number
                assert value in fetched
                assert int.from_bytes(produced[:4], "big") == number + 1

    async def main():
        settings = {"message.max.bytes": str(2 * large), "socket.send.buffer.bytes": "-1"}
        async with serving(tmp_path, settings) as broker, connected(broker) as client:
            broker.create_topic("t", 2)
            value = random.Random(3).randbytes(large)
            assert (await client.produce("t", batch(value))).error_code == 0
            address = (broker.host, broker.port)
            await asyncio.gather(*(asyncio.to_thread(read, address, value) for _ in range(4)))

    run(main())


def test_keys_of_no_api_have_no_taker() -> None:
    sink = RequestSink(None, None)
    for key in (-1, 128):
        with pytest.raises(ValueError, match="the key of no API"):
            sink.set_takers({key: Taker()})
    taker = Taker()
    sink.set_takers({ApiKey.FETCH: taker})
    assert sink.taker(ApiKey.FETCH) is taker
    assert sink.taken() == {ApiKey.FETCH: 0}
