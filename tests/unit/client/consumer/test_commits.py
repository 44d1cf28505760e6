"""Committed offsets against a real broker: alone, as a member, across a rebalance."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from support.group_host import FakeHost
from support.loop import async_test, until
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import consumer as keys
from tidelog.client.config import parse
from tidelog.client.consumer.commits import CommitFailedError, OffsetCommits
from tidelog.client.consumer.errors import InvalidGroupIdError
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("t", 4)
        yield running


def commits_of(cluster: ClusterClient, address: str, group: str | None) -> OffsetCommits:
    settings = {"bootstrap.servers": address} if group is None else {"bootstrap.servers": address, "group.id": group}
    return OffsetCommits(cluster, parse(keys.KEYS, settings))


@async_test
async def test_what_is_committed_without_a_membership_is_read_back(broker: Broker) -> None:
    async with ClusterClient({"bootstrap.servers": broker.address}) as cluster:
        commits = commits_of(cluster, broker.address, "alone")
        await commits.commit({T0: OffsetAndMetadata(5, 3, "half way"), T1: OffsetAndMetadata(0)})
        found = await commits.committed([T0, T1, TopicPartition("t", 2)])
        assert found == {
            T0: OffsetAndMetadata(5, 3, "half way"),
            T1: OffsetAndMetadata(0),
            TopicPartition("t", 2): None,
        }
        await commits.commit({})
        assert await commits.committed([]) == {}


@async_test
async def test_without_a_group_there_is_nothing_to_commit_to(broker: Broker) -> None:
    async with ClusterClient({"bootstrap.servers": broker.address}) as cluster:
        commits = commits_of(cluster, broker.address, None)
        with pytest.raises(InvalidGroupIdError):
            await commits.commit({T0: OffsetAndMetadata(5)})
        with pytest.raises(InvalidGroupIdError):
            await commits.committed([T0])


@async_test
async def test_a_negative_offset_is_refused_here(broker: Broker) -> None:
    async with ClusterClient({"bootstrap.servers": broker.address}) as cluster:
        with pytest.raises(UsageError, match="begin at 0"):
            await commits_of(cluster, broker.address, "negative").commit({T0: OffsetAndMetadata(-1)})


@async_test
async def test_metadata_that_is_too_large_is_the_partitions_error(broker: Broker) -> None:
    async with ClusterClient({"bootstrap.servers": broker.address}) as cluster:
        with pytest.raises(KafkaError, match="t-0") as caught:
            await commits_of(cluster, broker.address, "large").commit({T0: OffsetAndMetadata(1, -1, "x" * 5000)})
        assert caught.value.code is ErrorCode.OFFSET_METADATA_TOO_LARGE


@async_test
async def test_a_member_commits_in_its_generation_and_nobody_else_can(broker: Broker) -> None:
    host = FakeHost({"t"})
    await host.join(broker.address, {"group.id": "member"})
    await until(lambda: len(host.owned()) == 4)
    assert host.commits is not None
    await host.commits.commit({T0: OffsetAndMetadata(9)})
    async with ClusterClient({"bootstrap.servers": broker.address}) as cluster:
        stranger = commits_of(cluster, broker.address, "member")
        with pytest.raises(CommitFailedError) as caught:
            await stranger.commit({T0: OffsetAndMetadata(1)})
        assert caught.value.code is ErrorCode.UNKNOWN_MEMBER_ID
        assert (await stranger.committed([T0]))[T0] == OffsetAndMetadata(9)
    await host.leave()


@async_test
async def test_a_commit_while_partitions_are_revoked_counts(broker: Broker) -> None:
    first, second = FakeHost({"t"}), FakeHost({"t"})
    await first.join(broker.address, {"group.id": "revoking"})
    await until(lambda: len(first.owned()) == 4)
    first.positions = dict.fromkeys(first.owned(), 11)
    await second.join(broker.address, {"group.id": "revoking"})
    await until(lambda: len(second.owned()) == 2)
    assert second.commits is not None
    found = await second.commits.committed(second.owned())
    assert set(found.values()) == {OffsetAndMetadata(11)}
    first.positions = {}
    await first.leave()
    await second.leave()


@async_test
async def test_commits_go_out_in_the_order_they_were_made(broker: Broker) -> None:
    async with ClusterClient({"bootstrap.servers": broker.address}) as cluster:
        commits = commits_of(cluster, broker.address, "order")
        await asyncio.gather(*(commits.commit({T0: OffsetAndMetadata(offset)}) for offset in range(50)))
        assert (await commits.committed([T0]))[T0] == OffsetAndMetadata(49)


class MovingMember:
    """A member whose group rebalances while a commit waits."""

    has_epoch = False

    def __init__(self, keeps: bool) -> None:
        self.generation = 1
        self.keeps = keeps

    def group_metadata(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata("moving", self.generation, "m")

    async def settle(self) -> None:
        self.generation = 2

    def owns(self, partitions: object) -> bool:
        return self.keeps

    def commit_refused(self, code: ErrorCode, sent: ConsumerGroupMetadata) -> None:
        raise AssertionError("nothing was sent")


@async_test
async def test_a_commit_for_what_went_to_others_meanwhile_is_not_sent(broker: Broker) -> None:
    async with ClusterClient({"bootstrap.servers": broker.address}) as cluster:
        commits = commits_of(cluster, broker.address, "moving")
        commits.member = MovingMember(keeps=False)
        with pytest.raises(KafkaError) as caught:
            await commits.commit({T0: OffsetAndMetadata(1)})
        assert caught.value.code is ErrorCode.REBALANCE_IN_PROGRESS
        assert not cluster.is_connected
