"""Offsets by timestamp and by name."""

from __future__ import annotations

import pytest

from support.offsets import ask_offset, with_three_records
from support.wire import NOW, batch, connected, run, serving
from tidelog.common.errors import ErrorCode


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
