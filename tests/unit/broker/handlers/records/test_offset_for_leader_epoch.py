"""Where epochs end."""

from __future__ import annotations

import pytest

from support.wire import batch, connected, run, serving
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    OffsetForLeaderEpochRequest,
)


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
