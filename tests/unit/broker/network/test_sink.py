"""The sink: frames that takers note, and those of others that must not overtake them."""

from __future__ import annotations

import asyncio

import pytest

from support.loop import until
from support.wire import batch, connected, fetch_request, produce_request, run, serving
from tidelog.broker.network._sink import RequestSink
from tidelog.broker.replication.partition import Partition
from tidelog.broker.requests._taker import Taker
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import encode_request
from tidelog.protocol.messages import ListOffsetsRequest


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


def test_keys_of_no_api_have_no_taker() -> None:
    sink = RequestSink(None, None)
    for key in (-1, 128):
        with pytest.raises(ValueError, match="the key of no API"):
            sink.set_takers({key: Taker()})
    taker = Taker()
    sink.set_takers({ApiKey.FETCH: taker})
    assert sink.taker(ApiKey.FETCH) is taker
    assert sink.taken() == {ApiKey.FETCH: 0}
