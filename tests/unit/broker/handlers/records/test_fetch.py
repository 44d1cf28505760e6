"""Fetch: limits, waiting, isolation, epochs, sessions, old clients."""

from __future__ import annotations

import asyncio

import pytest

from support.appending import append
from support.loop import until
from support.wire import batch, connected, fetch_request, produce_request, run, serving
from tidelog.broker.requests._session import View
from tidelog.common.errors import ErrorCode
from tidelog.log.append import AppendOrigin
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import FetchRequest
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.control import end_txn_marker


def values(data):
    return [record.value for one in iter_batches(data) for record in one.records()] if data else []


def only(response):
    return response.responses[0].partitions[0]


@pytest.mark.parametrize("version", range(19))
def test_every_version_reads_what_was_written(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            topic_id = broker.create_topic("t", 2)
            await client.produce("t", batch(b"a", b"b"))
            await client.produce("t", batch(b"c"), partition=1)
            topic = topic_id if version >= 13 else "t"
            response = await client.ask(ApiKey.FETCH, version, fetch_request({topic: {0: 0, 1: 0}}))
            (answer,) = response.responses
            assert answer.topic_id == topic_id if version >= 13 else answer.topic == "t"
            first, second = answer.partitions
            assert (first.error_code, first.high_watermark) == (0, 2)
            assert first.log_start_offset == (0 if version >= 5 else -1)
            assert first.last_stable_offset == (2 if version >= 4 else -1)
            assert values(first.records) == [b"a", b"b"]
            assert values(second.records) == [b"c"]
            assert {one.magic for one in iter_batches(first.records)} == {{0: 0, 1: 0, 2: 1, 3: 1}.get(version, 2)}

    run(main())


@pytest.mark.parametrize(
    ("topic", "partition", "offset", "fields", "code"),
    [
        ("nope", 0, 0, {}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 9, 0, {}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 0, 4, {}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("t", 0, -1, {}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("t", 0, 0, {"current_leader_epoch": 4}, ErrorCode.FENCED_LEADER_EPOCH),
        ("t", 0, 0, {"current_leader_epoch": 6}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ("t", 0, 0, {"current_leader_epoch": 5}, ErrorCode.NONE),
        ("elsewhere", 0, 0, {}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (bytes(range(16)), 0, 0, {}, ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_error_codes(tmp_path, topic, partition, offset, fields, code):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            topic_id = broker.create_topic("t", 1, leader_epoch=5)
            elsewhere = broker.create_topic("elsewhere", 1, leader=2, leader_epoch=3, replicas=(1, 2), isr=(1, 2))
            await client.produce("t", batch(b"a", b"b", b"c"))
            for version in (11, 17):
                ids = {"t": topic_id, "elsewhere": elsewhere, "nope": b"\x07" * 16}
                name = ids.get(topic, topic) if version == 17 else topic
                if isinstance(name, bytes) and version < 13:
                    continue
                part = only(await client.fetch(name, offset, version=version, partition=partition, **fields))
                wanted = code
                if version == 17 and topic == "nope":
                    wanted = ErrorCode.UNKNOWN_TOPIC_ID
                assert part.error_code == wanted
                if wanted:
                    assert (part.high_watermark, part.log_start_offset, bytes(part.records)) == (-1, -1, b"")
                if wanted == ErrorCode.NOT_LEADER_OR_FOLLOWER and version == 17:
                    assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (2, 3)

    run(main())


def test_a_wait_ends_with_the_first_record_and_with_the_deadline(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as producer:
            broker.create_topic("t", 2)
            loop = asyncio.get_running_loop()
            client.send(ApiKey.FETCH, 12, fetch_request({"t": {0: 0, 1: 0}}, max_wait_ms=600_000))
            await until(lambda: broker.purgatories.fetch)
            await producer.produce("t", batch(b"a"), partition=1)
            response = await asyncio.wait_for(client.receive(ApiKey.FETCH, 12), 60)
            assert [values(part.records) for part in response.responses[0].partitions] == [[], [b"a"]]
            started = loop.time()
            empty = await client.fetch("t", 0, max_wait_ms=60)
            assert loop.time() - started >= 0.055  # a busy machine makes it longer, never shorter
            assert bytes(only(empty).records) == b""
            assert not broker.purgatories.fetch
            assert broker.purgatories.fetch.watched_keys == 0

    run(main())


def test_min_bytes_counts_what_has_come_over_all_partitions(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as producer:
            broker.create_topic("t", 2)
            client.send(ApiKey.FETCH, 12, fetch_request({"t": {0: 0, 1: 0}}, max_wait_ms=20_000, min_bytes=3000))
            for partition in (0, 1, 0):
                await producer.produce("t", batch(bytes(800)), partition=partition)
            assert len(broker.purgatories.fetch) == 1
            await producer.produce("t", batch(bytes(800)), partition=1)
            response = await client.receive(ApiKey.FETCH, 12)
            assert [len(values(part.records)) for part in response.responses[0].partitions] == [2, 2]

    run(main())


def test_a_lost_consumer_leaves_the_purgatory(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as other:
            broker.create_topic("t")
            async with connected(broker) as client:
                client.send(ApiKey.FETCH, 12, fetch_request({"t": {0: 0}}, max_wait_ms=60_000))
                await other.produce("nope", batch(b"x"))
                await until(lambda: broker.purgatories.fetch)
            await until(lambda: not broker.purgatories.fetch)
            assert len(broker.purgatories.timer) == 0

    run(main())


def test_the_first_batch_comes_whole_and_the_limit_holds_for_the_rest(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 3)
            big = batch(bytes(10_000))
            for partition in range(3):
                await client.produce("t", batch(bytes(10_000)), partition=partition)
            request = fetch_request({"t": {0: 0, 1: 0, 2: 0}}, max_bytes=100, partition_max_bytes=50)
            parts = (await client.ask(ApiKey.FETCH, 12, request)).responses[0].partitions
            assert [len(part.records) for part in parts] == [len(big), 0, 0]
            request = fetch_request({"t": {0: 0, 1: 0, 2: 0}}, max_bytes=25_000)
            parts = (await client.ask(ApiKey.FETCH, 12, request)).responses[0].partitions
            assert [len(part.records) for part in parts][:2] == [len(big), len(big)]
            assert sum(len(part.records) for part in parts) <= 25_000
            old = await client.fetch("t", 0, version=2, partition_max_bytes=50)
            assert len(only(old).records) <= 50

    run(main())


def test_read_committed_stops_at_the_open_transaction_and_lists_aborted_ones(tmp_path):
    def in_txn(producer, sequence, *data):
        return batch(*data, producer_id=producer, producer_epoch=0, base_sequence=sequence, transactional=True)

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            (tp,) = broker.replicas.hosted("t")
            await client.produce("t", in_txn(7, 0, b"a"), transactional_id="seven", acks=-1)
            await client.produce("t", batch(b"plain"))
            assert only(await client.fetch("t", 0, isolation_level=1)).last_stable_offset == 0
            assert values(only(await client.fetch("t", 0, isolation_level=1)).records) == []
            assert values(only(await client.fetch("t", 0)).records) == [b"a", b"plain"]
            marker = end_txn_marker(producer_id=7, producer_epoch=0, committed=False, coordinator_epoch=0, timestamp=1)
            await append(broker.replicas, tp, marker, origin=AppendOrigin.COORDINATOR)
            part = only(await client.fetch("t", 0, isolation_level=1))
            assert part.last_stable_offset == part.high_watermark == 3
            assert [(one.producer_id, one.first_offset) for one in part.aborted_transactions] == [(7, 0)]
            assert only(await client.fetch("t", 0)).aborted_transactions is None

    run(main())


def test_a_diverging_epoch_is_told(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", leader_epoch=2)
            await client.produce("t", batch(b"a", b"b"))
            broker.create_topic("t", leader_epoch=5)
            await client.produce("t", batch(b"c"))
            part = only(await client.fetch("t", 3, last_fetched_epoch=2))
            assert (part.diverging_epoch.epoch, part.diverging_epoch.end_offset) == (2, 2)
            assert bytes(part.records) == b""
            assert values(only(await client.fetch("t", 2, last_fetched_epoch=2)).records) == [b"c"]

    run(main())


def test_down_conversion_can_be_refused(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"message.downconversion.enable": "false"})
            broker.create_topic("z")
            await client.produce("t", batch(b"a"))
            await client.produce("z", batch(b"a", codec=Codec.ZSTD))
            assert only(await client.fetch("t", version=3)).error_code == ErrorCode.UNSUPPORTED_VERSION
            assert only(await client.fetch("z", version=3)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE

    run(main())


# -- sessions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [7, 12, 13, 17])
def test_a_session_tells_only_what_changed(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            topic_id = broker.create_topic("t", 3)
            name = topic_id if version >= 13 else "t"
            await client.produce("t", batch(b"a"))
            request = fetch_request({name: {0: 0, 1: 0}}, session_epoch=0)
            first = await client.ask(ApiKey.FETCH, version, request)
            assert first.session_id > 0
            assert len(first.responses[0].partitions) == 2

            async def go_on(epoch, offsets=None, **fields):
                asked = fetch_request(offsets or {}, session_id=first.session_id, session_epoch=epoch, **fields)
                return await client.ask(ApiKey.FETCH, version, asked)

            moved = await go_on(1, {name: {0: 1}})
            assert moved.session_id == first.session_id
            assert moved.responses == []
            await client.produce("t", batch(b"b"), partition=1)
            changed = await go_on(2)
            assert [part.partition_index for part in changed.responses[0].partitions] == [1]
            await client.produce("t", batch(b"c"), partition=2)
            added = await go_on(3, {name: {2: 0}}, forgotten={name: [1]})
            assert [part.partition_index for part in added.responses[0].partitions] == [2]
            assert (await go_on(3)).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
            other = fetch_request({}, session_id=first.session_id + 1, session_epoch=1)
            unknown = await client.ask(ApiKey.FETCH, version, other)
            assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            closing = fetch_request({name: {0: 0}}, session_id=first.session_id, session_epoch=-1)
            closed = await client.ask(ApiKey.FETCH, version, closing)
            assert closed.session_id == 0
            assert len(broker.services.sessions) == 0

    run(main())


def test_a_session_is_not_found_by_who_sees_something_else(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            first = await client.fetch("t", version=12, session_epoch=0)
            (connection,) = broker.network.table.connections
            view, connection.session.view = connection.session.view, View("other")
            request = fetch_request({}, session_id=first.session_id, session_epoch=1)
            assert (await client.ask(ApiKey.FETCH, 12, request)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            dropping = fetch_request({"t": {0: 0}}, session_id=first.session_id, session_epoch=-1)
            assert (await client.ask(ApiKey.FETCH, 12, dropping)).error_code == 0
            connection.session.view = view
            assert (await client.ask(ApiKey.FETCH, 12, request)).session_id == first.session_id, "it is still there"

    run(main())


def test_a_session_keeps_to_ids_or_names(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            first = await client.fetch("t", version=12, session_epoch=0)
            mixed = fetch_request({}, session_id=first.session_id, session_epoch=1)
            assert (await client.ask(ApiKey.FETCH, 13, mixed)).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR

    run(main())


def test_a_session_that_is_emptied_ends(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            first = await client.fetch("t", version=12, session_epoch=0)
            request = fetch_request({}, session_id=first.session_id, session_epoch=1, forgotten={"t": [0]})
            assert (await client.ask(ApiKey.FETCH, 12, request)).session_id == 0
            assert len(broker.services.sessions) == 0

    run(main())


def test_an_error_in_a_session_is_told_once_and_its_end_too(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            first = await client.fetch("t", version=12, session_epoch=0)
            assert only(first).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

            async def go_on(epoch):
                request = fetch_request({}, session_id=first.session_id, session_epoch=epoch)
                return await client.ask(ApiKey.FETCH, 12, request)

            assert only(await go_on(1)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            broker.create_topic("t")
            healed = await go_on(2)
            assert (only(healed).error_code, only(healed).high_watermark) == (0, 0)
            assert (await go_on(3)).responses == []

    run(main())


def test_pipelined_fetches_are_answered_in_order(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"a"))
            client.send(ApiKey.FETCH, 12, fetch_request({"t": {0: 1}}, max_wait_ms=50))
            client.send(ApiKey.FETCH, 12, fetch_request({"t": {0: 0}}))
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"b")}}))
            assert bytes(only(await client.receive(ApiKey.FETCH, 12)).records) == b""
            assert values(only(await client.receive(ApiKey.FETCH, 12)).records) == [b"a"]
            produced = await client.receive(ApiKey.PRODUCE, 9)
            assert produced.responses[0].partition_responses[0].base_offset == 1

    run(main())


def test_an_empty_request_is_answered_at_once(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            response = await client.ask(ApiKey.FETCH, 4, FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[]))
            assert response.responses == []

    run(main())
