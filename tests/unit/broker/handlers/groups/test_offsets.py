"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeProducers, ApiVersions."""

from __future__ import annotations

import pytest

from support.loop import until
from support.wire import NOW, batch, connected, run, serving
from tidelog.broker.handlers import HANDLERS
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request
from tidelog.protocol.messages import (
    ApiVersionsRequest,
    DeleteRecordsRequest,
    DescribeProducersRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
)


def list_request(version, timestamp, *, topic="t", partition=0, isolation=0, epoch=-1, twice=False):
    asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    if version >= 4:
        asked.current_leader_epoch = epoch
    if version == 0:
        asked.max_num_offsets = 10
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[asked, asked] if twice else [asked])],
    )
    if version >= 2:
        request.isolation_level = isolation
    return request


async def ask_offset(client, version, timestamp, **fields):
    response = await client.ask(ApiKey.LIST_OFFSETS, version, list_request(version, timestamp, **fields))
    return response.topics[0].partitions[0]


async def with_three_records(broker, client, epoch=3):
    broker.create_topic("t", leader_epoch=epoch)
    for number, data in enumerate([b"a", b"b", b"c"]):
        await client.produce("t", batch(data, timestamp=NOW - 3000 + number * 1000))


@pytest.mark.parametrize("version", range(1, 12))
def test_special_and_plain_timestamps(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            await with_three_records(broker, client)
            epoch = 3 if version >= 4 else -1
            cases = {
                -1: (-1, 3, epoch),
                -2: (-1, 0, epoch),
                0: (NOW - 3000, 0, epoch),
                NOW - 2500: (NOW - 2000, 1, epoch),
                NOW - 1000: (NOW - 1000, 2, epoch),
                NOW: (-1, -1, -1),
            }
            if version >= 7:
                cases[-3] = (NOW - 1000, 2, epoch)
            if version >= 8:
                cases[-4] = (-1, 0, epoch)
            if version >= 9:
                cases[-5] = (-1, -1, -1)
            for timestamp, expected in cases.items():
                found = await ask_offset(client, version, timestamp)
                assert found.error_code == 0
                assert (found.timestamp, found.offset, found.leader_epoch) == expected
            for timestamp in {-3, -4, -5, -6, -7} - set(cases):
                if timestamp == -6 and version >= 11:
                    continue
                found = await ask_offset(client, version, timestamp)
                assert found.error_code == ErrorCode.UNSUPPORTED_VERSION

    run(main())


def test_version_0_lists_segment_starts(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            await with_three_records(broker, client)
            assert list((await ask_offset(client, 0, -1)).old_style_offsets) == [3, 0]
            assert list((await ask_offset(client, 0, -2)).old_style_offsets) == [0]
            assert list((await ask_offset(client, 0, 5)).old_style_offsets) == []

    run(main())


def test_errors_of_list_offsets(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            await with_three_records(broker, client)
            broker.create_topic("elsewhere", leader=2, replicas=(1, 2), isr=(1, 2))

            async def code(version=5, **fields):
                return (await ask_offset(client, version, -1, **fields)).error_code

            assert await code(topic="nope") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert await code(partition=4) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert await code(topic="elsewhere") == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert await code(epoch=2) == ErrorCode.FENCED_LEADER_EPOCH
            assert await code(epoch=4) == ErrorCode.UNKNOWN_LEADER_EPOCH
            assert await code(twice=True) == ErrorCode.INVALID_REQUEST

    run(main())


def test_the_high_watermark_after_an_election(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", replicas=(1, 2), isr=(1, 2))
            await client.produce("t", batch(b"a"))
            broker.create_topic("t", leader_epoch=1, replicas=(1, 2), isr=(1, 2))
            assert (await ask_offset(client, 5, -1)).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
            assert (await ask_offset(client, 4, -1)).error_code == ErrorCode.LEADER_NOT_AVAILABLE
            assert (await ask_offset(client, 5, -2)).offset == 0

    run(main())


@pytest.mark.parametrize("version", range(5))
def test_where_epochs_end(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", leader_epoch=1)
            await client.produce("t", batch(b"a", b"b"))
            broker.create_topic("t", leader_epoch=4)
            await client.produce("t", batch(b"c"))

            async def end(epoch, topic="t", current=-1):
                asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
                if version >= 2:
                    asked.current_leader_epoch = current
                topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[asked])]
                response = await client.ask(
                    ApiKey.OFFSET_FOR_LEADER_EPOCH, version, OffsetForLeaderEpochRequest(topics=topics)
                )
                part = response.topics[0].partitions[0]
                return part.error_code, part.leader_epoch if version else None, part.end_offset

            def told(epoch, offset):
                return (0, epoch if version else None, offset)

            assert await end(1) == told(1, 2)
            assert await end(3) == told(1, 2)
            assert await end(4) == told(4, 3)
            assert await end(0) == told(-1, -1) or await end(0) == told(0, 0)
            assert await end(9) == told(-1, -1)
            assert (await end(1, topic="nope"))[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if version >= 2:
                assert (await end(1, current=3))[0] == ErrorCode.FENCED_LEADER_EPOCH

    run(main())


def delete_request(offset, *, topic="t", partition=0, timeout_ms=5000):
    asked = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=partition, offset=offset)
    return DeleteRecordsRequest(
        topics=[DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[asked])], timeout_ms=timeout_ms
    )


@pytest.mark.parametrize("version", range(3))
def test_delete_records(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            await with_three_records(broker, client)
            broker.create_topic("compacted", 1, {"cleanup.policy": "compact"})

            async def delete(offset, **fields):
                response = await client.ask(ApiKey.DELETE_RECORDS, version, delete_request(offset, **fields))
                part = response.topics[0].partitions[0]
                return part.error_code, part.low_watermark

            assert await delete(1) == (0, 1)
            assert await delete(0) == (0, 1)
            assert (await ask_offset(client, 5, -2)).offset == 1
            assert (await delete(4))[0] == ErrorCode.OFFSET_OUT_OF_RANGE
            assert (await delete(-5))[0] == ErrorCode.OFFSET_OUT_OF_RANGE
            assert (await delete(0, topic="compacted"))[0] == ErrorCode.POLICY_VIOLATION
            assert (await delete(0, topic="__consumer_offsets"))[0] == ErrorCode.INVALID_TOPIC_EXCEPTION
            assert (await delete(0, topic="nope"))[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert await delete(-1) == (0, 3)

    run(main())


def test_delete_records_waits_for_the_followers(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as follower:
            broker.create_topic("t", replicas=(1, 2), isr=(1, 2))
            await client.produce("t", batch(b"a", b"b"))
            await follower.fetch("t", 2, version=12, replica_id=2, log_start_offset=0)
            client.send(ApiKey.DELETE_RECORDS, 2, delete_request(1))
            await until(lambda: len(broker.purgatories.delete_records) == 1)
            await follower.fetch("t", 2, version=12, replica_id=2, log_start_offset=1)
            part = (await client.receive(ApiKey.DELETE_RECORDS, 2)).topics[0].partitions[0]
            assert (part.error_code, part.low_watermark) == (0, 1)
            late = await client.ask(ApiKey.DELETE_RECORDS, 2, delete_request(2, timeout_ms=30))
            assert late.topics[0].partitions[0].error_code == ErrorCode.REQUEST_TIMED_OUT

    run(main())


def test_describe_producers(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"a", b"b", producer_id=9, producer_epoch=2, base_sequence=0))
            request = DescribeProducersRequest(
                topics=[DescribeProducersRequest.TopicRequest(name="t", partition_indexes=[0, 5])]
            )
            known, unknown = (await client.ask(ApiKey.DESCRIBE_PRODUCERS, 0, request)).topics[0].partitions
            (state,) = known.active_producers
            assert (state.producer_id, state.producer_epoch, state.last_sequence) == (9, 2, 1)
            assert state.current_txn_start_offset == -1
            assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run(main())


#: Answered, but not offered: nobody here takes the metrics.
TELEMETRY = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_every_advertised_handler(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            request = ApiVersionsRequest()
            if version >= 3:
                request = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
            response = await client.ask(ApiKey.API_VERSIONS, version, request)
            served = {one.api_key: (one.min_version, one.max_version) for one in response.api_keys}
            assert served == {row.key: (row.min_version, row.max_version) for row in HANDLERS if row.advertised}
            assert {row.key for row in HANDLERS if not row.advertised} == TELEMETRY
            assert served[ApiKey.PRODUCE][0] == 0

    run(main())


def test_api_versions_from_the_future_and_with_a_bad_name(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            frame = bytearray(encode_request(ApiKey.API_VERSIONS, 0, 5, "c", ApiVersionsRequest()))
            frame[6:8] = (99).to_bytes(2, "big")
            frame += b"\x00junk that only the future understands"
            frame[:4] = (len(frame) - 4).to_bytes(4, "big")
            client.writer.write(bytes(frame))
            response = decode_response(ApiKey.API_VERSIONS, 0, await client.receive_frame())[1]
            assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
            assert [one.api_key for one in response.api_keys] == [ApiKey.API_VERSIONS]
            bad = ApiVersionsRequest(client_software_name="no spaces allowed", client_software_version="1")
            assert (await client.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())).error_code == 0
            client.send(ApiKey.API_VERSIONS, 3, bad)
            again = decode_response(ApiKey.API_VERSIONS, 3, await client.receive_frame())[1]
            assert again.error_code == ErrorCode.INVALID_REQUEST

    run(main())
