"""Compaction keeps __consumer_offsets small, and a broker that loads what it left knows the same offsets."""

from __future__ import annotations

import asyncio
from pathlib import Path

from support.patience import eventually
from tidelog.common.errors import ErrorCode
from tidelog.net.node_client import NodeClient
from tidelog.protocol import messages as m
from tidelog.testing import Broker

PARTITIONS = 100
COMMITS = 600
SEGMENT = 1 << 20
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": str(SEGMENT),
    "log.cleaner.backoff.ms": "20",
    "num.partitions": str(PARTITIONS),
    "auto.create.topics.enable": "true",
}


async def commit(node: NodeClient, offset: int) -> None:
    entries = [
        m.OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata=""
        )
        for index in range(PARTITIONS)
    ]
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="a", partitions=entries)
    answer = await node.send(m.OffsetCommitRequest(group_id="g", topics=[topic]), 8)
    assert {entry.error_code for entry in answer.topics[0].partitions} == {0}


async def committed(node: NodeClient) -> set[int]:
    request = m.OffsetFetchRequest(group_id="g", topics=None)
    while (answer := await node.send(request, 7)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:  # noqa: ASYNC110  # no event for it
        await asyncio.sleep(0.01)
    assert answer.error_code == 0
    return {entry.committed_offset for topic in answer.topics for entry in topic.partitions}


def test_offsets_after_compaction(tmp_path: Path) -> None:
    async def fill(port: int) -> None:
        node = await NodeClient.connect("127.0.0.1", port)
        await node.send(m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name="a")]), 9)
        await node.send(m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
        for offset in range(1, COMMITS + 1):
            await commit(node, offset)
        await node.close()

    async def read(port: int) -> set[int]:
        node = await NodeClient.connect("127.0.0.1", port)
        await node.send(m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
        found = await committed(node)
        await node.close()
        return found

    def size() -> int:
        return sum(path.stat().st_size for path in (tmp_path / "__consumer_offsets-0").glob("*.log"))

    with Broker(tmp_path, config=SETTINGS) as broker:
        asyncio.run(fill(broker.port))
        # the active one, which is not compacted, and what is left of the others
        eventually(size, lambda left: left <= 1.2 * SEGMENT, seconds=300)
        assert asyncio.run(read(broker.port)) == {COMMITS}
    with Broker(tmp_path, config=SETTINGS) as broker:
        assert asyncio.run(read(broker.port)) == {COMMITS}
