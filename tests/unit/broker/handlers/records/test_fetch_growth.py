"""A fetch holds nothing longer than it must, waits for nothing that cannot come, and tells no more than it returns."""

from __future__ import annotations

import asyncio
import threading

import pytest

from support.appending import append
from support.loop import until
from support.pins import all_given_back, pins
from support.wire import batch, connected, fetch_request, run, serving
from tidelog.broker.handlers.records import fetch as handler
from tidelog.broker.handlers.records._fetch import FetchAnswer
from tidelog.common.errors import ErrorCode
from tidelog.log.append import AppendOrigin
from tidelog.log.segment.segment import Segment
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ListOffsetsRequest
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.control import end_txn_marker

MINUTES = 600_000


def only(response):
    return response.responses[0].partitions[0]


# -- waiting ----------------------------------------------------------------------------------------------------------


def test_what_is_left_of_a_segment_comes_at_once(tmp_path):
    """Each segment holds less than min bytes; nobody waits but at the log's end."""

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            log = broker.replicas.topic("t")[0].log
            for number in range(40):
                await client.produce("t", batch(bytes(1000)))
                if number % 4 == 3:
                    log.roll()
            entered = []
            watch = broker.purgatories.fetch.try_or_watch

            def counting(operation, keys, timeout_ms):
                done = watch(operation, keys, timeout_ms)
                entered.append(done)
                return done

            broker.purgatories.fetch.try_or_watch = counting

            async def records_from(offset):
                fetch = asyncio.ensure_future(client.fetch("t", offset, max_wait_ms=MINUTES, min_bytes=100_000))
                await until(lambda: fetch.done() or False in entered)
                assert False not in entered, "it waits for what lies in the next segment"
                return only(await fetch).records

            offset = 0
            while offset < 40:
                offset = list(iter_batches(await records_from(offset)))[-1].last_offset + 1
            assert entered == [True] * 10
            client.send(ApiKey.FETCH, 12, fetch_request({"t": {0: 40}}, max_wait_ms=MINUTES, min_bytes=100_000))
            await until(lambda: broker.purgatories.fetch)

    run(main())


def test_a_wait_ends_when_the_segment_does(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as producer:
            broker.create_topic("t")
            await producer.produce("t", batch(bytes(1000)))
            request = fetch_request({"t": {0: 0}}, max_wait_ms=MINUTES, min_bytes=100_000)
            client.send(ApiKey.FETCH, 12, request)
            await until(lambda: broker.purgatories.fetch)
            broker.replicas.topic("t")[0].log.roll()
            await producer.produce("t", batch(b"in the next one"))
            assert len(list(iter_batches(only(await client.receive(ApiKey.FETCH, 12)).records))) == 1

    run(main())


def test_a_partition_counts_no_more_than_its_own_limit(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as producer:
            broker.create_topic("t", 2)
            offsets = {"t": {0: 0, 1: 0}}
            request = fetch_request(offsets, max_wait_ms=MINUTES, min_bytes=5000, partition_max_bytes=3000)
            client.send(ApiKey.FETCH, 12, request)
            for _ in range(6):
                await producer.produce("t", batch(bytes(1000)))
            assert len(broker.purgatories.fetch) == 1
            for _ in range(2):
                await producer.produce("t", batch(bytes(1000)), partition=1)
            assert len((await client.receive(ApiKey.FETCH, 12)).responses[0].partitions) == 2

    run(main())


# -- aborted transactions ---------------------------------------------------------------------------------------------


def test_the_aborted_list_ends_with_what_is_returned(tmp_path):
    """A reader of a backlog is told of each aborted transaction about once, however many there are behind it."""
    count = 300

    async def main():
        async with serving(tmp_path, {"log.index.interval.bytes": "100"}) as broker, connected(broker) as client:
            broker.create_topic("t")
            (tp,) = broker.replicas.hosted("t")
            for producer in range(count):
                data = batch(bytes(50), producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True)
                await client.produce("t", data, transactional_id=f"t{producer}", acks=-1)
                marker = end_txn_marker(
                    producer_id=producer, producer_epoch=0, committed=False, coordinator_epoch=0, timestamp=1
                )
                await append(broker.replicas, tp, marker, origin=AppendOrigin.COORDINATOR)
                if producer % 100 == 99:
                    broker.replicas.topic("t")[0].log.roll()
            offset, told, fetches = 0, [], 0
            while offset < 2 * count:
                part = only(await client.fetch("t", offset, isolation_level=1, partition_max_bytes=1000))
                batches = [one for one in iter_batches(part.records) if one.last_offset >= offset]
                known = {(one.producer_id, one.first_offset) for one in part.aborted_transactions}
                for one in batches:
                    if not one.is_control:
                        assert (one.producer_id, one.base_offset) in known
                told += known
                offset = batches[-1].last_offset + 1
                fetches += 1
            assert fetches > 50
            assert len(told) < 2 * count

    run(main())


# -- what is held -----------------------------------------------------------------------------------------------------


def test_a_client_that_leaves_during_conversion_leaves_no_file_pinned(tmp_path, monkeypatch):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as other:
            broker.create_topic("t", 3)
            for partition in range(3):
                await other.produce("t", batch(b"a", b"b"), partition=partition)
            begun, go, held = threading.Event(), threading.Event(), []
            convert = handler.down_convert

            def slow(data, *args):
                begun.set()
                go.wait(60)
                held.append(pins(broker.log_manager))
                return convert(data, *args)

            monkeypatch.setattr(handler, "down_convert", slow)
            async with connected(broker) as client:
                client.send(ApiKey.FETCH, 2, fetch_request({"t": {0: 0, 1: 0, 2: 0}}))
                await until(begun.is_set)
                assert pins(broker.log_manager) == 3
            await until(lambda: len(broker.network.dispatcher) == 0)
            assert len(broker.network.workers) == 1  # the thread works on, and counts
            go.set()
            await all_given_back(broker.log_manager)
            await until(lambda: len(broker.network.workers) == 0)
            assert held == [1]  # its file stays open while it reads

    run(main())


def test_an_answer_that_cannot_be_encoded_leaves_no_file_pinned(tmp_path, monkeypatch):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"a"))
            answer = handler._answer

            def broken(*args):
                made = answer(*args)
                made.topics.append((5, b"", []))  # no name
                return made

            monkeypatch.setattr(handler, "_answer", broken)
            client.send(ApiKey.FETCH, 12, fetch_request({"t": {0: 0}}))
            assert await client.closed()
            await all_given_back(broker.log_manager)

    run(main())


def test_a_session_that_another_connection_went_on_with_is_told_so(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as second:
            broker.create_topic("t", 2)
            full = await client.fetch("t", 0, session_epoch=0)
            session = {"session_id": full.session_id}
            first = fetch_request({}, **session, session_epoch=1, max_wait_ms=MINUTES)
            client.send(ApiKey.FETCH, 12, first)
            await until(lambda: broker.purgatories.fetch)
            change = fetch_request({"t": {1: 0}}, **session, session_epoch=2, forgotten={"t": [0]})
            assert (await second.ask(ApiKey.FETCH, 12, change)).error_code == 0
            await second.produce("t", batch(b"for the one that waits"))
            answer = await client.receive(ApiKey.FETCH, 12)
            assert answer.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
            assert (answer.session_id, answer.responses) == (full.session_id, [])
            await all_given_back(broker.log_manager)
            after = await second.ask(ApiKey.FETCH, 12, fetch_request({}, **session, session_epoch=3))
            assert after.error_code == 0

    run(main())


@pytest.mark.parametrize("version", [2, 12])
def test_a_client_that_leaves_at_any_time_leaves_no_file_pinned(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as other:
            broker.create_topic("t", 4)
            for partition in range(4):
                for _ in range(20):  # more than a socket takes at once
                    await other.produce("t", batch(bytes(100_000)), partition=partition)
            held = set()
            for steps in range(30):
                async with connected(broker) as client:
                    client.send(ApiKey.FETCH, version, fetch_request({"t": dict.fromkeys(range(4), 0)}))
                    for _ in range(steps):
                        await asyncio.sleep(0)
                    held.add(pins(broker.log_manager))
                    client.writer.transport.abort()
            assert len(held) > 1, "some have left with nothing in their hands, and others with files"
            await until(lambda: len(broker.network.table.connections) == 1)
            await all_given_back(broker.log_manager)

    run(main())


def test_release_of_an_answer_gives_its_files_back(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"a"))
            found = broker.replicas.topic("t")[0].log.read(0, 1000)
            answer = FetchAnswer()
            data = handler.failed(handler.PartitionFetch(broker.replicas.hosted("t")[0], b"", 0, 1), 0)
            data.records = found.slice
            answer.topics.append(("t", b"", [data]))
            answer.release()
            assert pins(broker.log_manager) == 0

    run(main())


# -- times ------------------------------------------------------------------------------------------------------------


def test_times_are_looked_up_beside_the_loop(tmp_path, monkeypatch):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            log = broker.replicas.topic("t")[0].log
            for number in range(50):
                await client.produce("t", batch(b"x", timestamp=1000 + number))
                log.roll()
            for segment in log.segments[:-1]:
                segment._timestamps_known = False  # as after a restart
            threads = set()
            load = Segment._load_timestamps

            def noting(segment):
                threads.add(threading.current_thread())
                load(segment)

            monkeypatch.setattr(Segment, "_load_timestamps", noting)
            for timestamp, offset in ((1020, 20), (-3, 49), (5000, -1)):
                request = ListOffsetsRequest(
                    replica_id=-1,
                    topics=[
                        ListOffsetsRequest.ListOffsetsTopic(
                            name="t",
                            partitions=[
                                ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
                            ],
                        )
                    ],
                )
                answer = await client.ask(ApiKey.LIST_OFFSETS, 7, request)
                assert answer.topics[0].partitions[0].offset == offset
            assert threads
            assert threading.main_thread() not in threads

    run(main())
