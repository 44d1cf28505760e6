"""Records are deleted from the front, on all replicas."""

from __future__ import annotations

import pytest

from support.loop import until
from support.offsets import ask_offset, with_three_records
from support.wire import batch, connected, run, serving
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    DeleteRecordsRequest,
)


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
