"""Positions are compared with their new leaders' logs, each partition for itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from support.loop import async_test
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.consumer.reset import EARLIEST
from tidelog.client.consumer.subscription import Mode, SubscriptionState
from tidelog.client.consumer.validation import needs_validation, validate
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import NO_NODE, TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import OffsetForLeaderEpochResponse

#: Of partitions 0 to 4: no leader, one who cannot be reached, one who answers; the last two share one leader.
LEADERS = [NO_NODE, 1, 2, 3, 3]


class FakeCluster:
    """Leaders that answer, do not, or are not there."""

    def __init__(self) -> None:
        info = {n: SimpleNamespace(leader_epoch=5, leader=leader) for n, leader in enumerate(LEADERS)}
        self.stale: set[str] = set()
        self.metadata: Any = SimpleNamespace(
            topics={"t": SimpleNamespace(partitions=info)}, leader=self.leader, mark_stale=self.stale.update
        )

    def leader(self, tp: TopicPartition) -> Any:
        if LEADERS[tp.partition] == NO_NODE:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        return SimpleNamespace(id=LEADERS[tp.partition])

    async def ensure_topics(self, topics: set[str]) -> None:
        assert topics == {"t"}

    async def node(self, node_id: int) -> Any:
        if node_id == 1:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION)
        return SimpleNamespace(versions={ApiKey.OFFSET_FOR_LEADER_EPOCH: SimpleNamespace(high=4)}, send=self.answer)

    async def answer(self, request: Any) -> Any:
        Answer = OffsetForLeaderEpochResponse.EpochEndOffset
        answers = [
            Answer(
                partition=entry.partition,
                error_code=ErrorCode.FENCED_LEADER_EPOCH if entry.partition == 3 else ErrorCode.NONE,
                leader_epoch=entry.leader_epoch,
                end_offset=100,
            )
            for entry in request.topics[0].partitions
        ]
        Topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
        return OffsetForLeaderEpochResponse(topics=[Topic(topic="t", partitions=answers)])


@async_test
async def test_what_is_wrong_with_some_does_not_hold_up_the_others() -> None:
    cluster, subscription = FakeCluster(), SubscriptionState()
    subscription.choose(Mode.MANUAL)
    parts = subscription.replace(TopicPartition("t", n) for n in range(len(LEADERS)))
    for part in parts:
        part.move(10, 1)
    metadata: ClusterMetadata = cluster.metadata
    problems: list[Exception] = []
    with pytest.raises(KafkaError):
        await validate(cluster, subscription, EARLIEST, problems.append)  # type: ignore[arg-type]  # a fake of three methods
    assert [needs_validation(metadata, part) for part in parts] == [True, True, False, True, False]
    assert cluster.stale == {"t"}
    assert not problems
