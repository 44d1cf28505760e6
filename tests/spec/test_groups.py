"""Consumer groups and committed offsets: 004 核心概念/Consumer Group, Consumer (消费者与消费者组, 位移提交, 再平衡)."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from support.blocking_wire import BlockingWire
from support.coordinator import Answer, GroupHarness, topic_id
from tidelog.broker.coordinator.result import Caller
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker

CALLER = Caller("client", "/127.0.0.1", 1)
Partitions = set[tuple[str, int]]


class Member:
    """A consumer of the protocol in which the coordinator assigns (KIP-848); it gives back what it is told to."""

    def __init__(self, coordinator: GroupHarness, group: str, name: str, *topics: str) -> None:
        self.coordinator = coordinator
        self.group = group
        self.name = name
        self.epoch = 0
        self.partitions: Partitions = set()
        self.join(*topics)

    def join(self, *topics: str) -> None:
        self._ask(rebalance_timeout_ms=60_000, subscribed_topic_names=list(topics))

    def poll(self) -> None:
        """A heartbeat that says what is owned, by which the coordinator learns what has been given back."""
        self._ask()

    def leave(self) -> None:
        self.epoch = -1
        self._ask()

    def _ask(self, **fields: Any) -> None:
        owned = itertools.groupby(sorted(self.partitions), key=lambda one: one[0])
        request = m.ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.name,
            member_epoch=self.epoch,
            topic_partitions=[
                m.ConsumerGroupHeartbeatRequest.TopicPartitions(
                    topic_id=topic_id(topic), partitions=[number for _, number in numbers]
                )
                for topic, numbers in owned
            ],
            **fields,
        )
        answer = self.coordinator.write(self.group, lambda machine: machine.consumer_heartbeat(request, CALLER))
        assert answer.code is ErrorCode.NONE
        self.epoch = answer.response.member_epoch
        if answer.response.assignment is not None:
            self.partitions = {
                (part.topic_id.rstrip(b"\0").decode(), number)
                for part in answer.response.assignment.topic_partitions
                for number in part.partitions
            }


def settle(*members: Member) -> None:
    """Heartbeats until everybody has what is meant for them."""
    for _ in range(4):
        for member in members:
            member.poll()


@pytest.fixture
def coordinator() -> GroupHarness:
    return GroupHarness(topics={"t": 4})


ALL = {("t", number) for number in range(4)}


def test_each_partition_belongs_to_one_member_of_a_group(coordinator: GroupHarness) -> None:
    """004 核心概念/Consumer Group: a message goes to one consumer of a group; partitions are shared out, none twice."""
    members = [Member(coordinator, "g", name, "t") for name in ("a", "b")]
    settle(*members)
    first, second = (member.partitions for member in members)
    assert first | second == ALL
    assert not first & second
    assert (len(first), len(second)) == (2, 2)


def test_another_group_gets_everything_again(coordinator: GroupHarness) -> None:
    """004 核心概念/Consumer Group: the same partition may also be assigned in other groups."""
    one, other = Member(coordinator, "g1", "a", "t"), Member(coordinator, "g2", "b", "t")
    assert one.partitions == other.partitions == ALL


def test_more_consumers_than_partitions_leave_some_without(coordinator: GroupHarness) -> None:
    """004 消费者与消费者组: with more consumers than partitions, some get none and consume nothing."""
    members = [Member(coordinator, "g", f"m{number}", "t") for number in range(6)]
    settle(*members)
    assert sorted(len(member.partitions) for member in members) == [0, 0, 1, 1, 1, 1]
    assert set.union(*(member.partitions for member in members)) == ALL


def test_several_topics_are_subscribed_at_once(coordinator: GroupHarness) -> None:
    """004 订阅主题与分区: a consumer can subscribe to one or more topics."""
    coordinator.set_topics({"t": 4, "u": 1})
    member = Member(coordinator, "g", "a", "t", "u")
    assert member.partitions == ALL | {("u", 0)}


def test_members_that_come_and_go_cause_a_rebalance(coordinator: GroupHarness) -> None:
    """004 再平衡: a consumer joins or leaves: partitions are assigned anew."""
    first = Member(coordinator, "g", "a", "t")
    assert first.partitions == ALL
    second = Member(coordinator, "g", "b", "t")
    settle(first, second)
    assert len(first.partitions) == len(second.partitions) == 2
    second.leave()
    settle(first)
    assert first.partitions == ALL


def test_new_partitions_cause_a_rebalance(coordinator: GroupHarness) -> None:
    """004 再平衡: the partitions of a subscribed topic change: partitions are assigned anew."""
    member = Member(coordinator, "g", "a", "t")
    coordinator.set_topics({"t": 6})
    settle(member)
    assert member.partitions == ALL | {("t", 4), ("t", 5)}


def test_a_group_is_not_available_while_it_rebalances(coordinator: GroupHarness) -> None:
    """004 再平衡: during a rebalance the group cannot be used (the classic protocol)."""

    def join(member: str) -> Answer:
        request = m.JoinGroupRequest(
            group_id="g",
            member_id=member,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            protocol_type="consumer",
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")],
        )
        caller = Caller("client", "/127.0.0.1", 3)
        return coordinator.request("g", lambda machine, reply: machine.join(request, caller, reply))

    first = join("")
    coordinator.advance(10_000)
    member, generation = first.response.member_id, first.response.generation_id
    sync = m.SyncGroupRequest(group_id="g", member_id=member, generation_id=generation)
    assert coordinator.request("g", lambda machine, reply: machine.sync(sync, reply)).code is ErrorCode.NONE

    def heartbeat() -> int:
        request = m.HeartbeatRequest(group_id="g", member_id=member, generation_id=generation)
        answer = coordinator.write("g", lambda machine: machine.heartbeat(request))
        code: int = answer.response.error_code if answer.error is None else answer.error.code
        return code

    assert heartbeat() == ErrorCode.NONE
    second = join("")
    assert heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert not second.done
    assert join(member).response.generation_id == generation + 1
    assert second.done


# --- offsets --------------------------------------------------------------------------------------------------------


def commit(coordinator: GroupHarness, group: str, offset: int) -> Answer:
    part = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=[part])
    request = m.OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=[topic])
    return coordinator.write(group, lambda machine: machine.commit(request, 9))


def committed(coordinator: GroupHarness, group: str) -> int:
    topic = m.OffsetFetchRequest.OffsetFetchRequestTopics(name="t", partition_indexes=[0])
    request = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=[topic])
    offset: int = coordinator.machine(group).fetch(request, False).topics[0].partitions[0].committed_offset
    return offset


def test_each_group_keeps_its_own_position_durably(coordinator: GroupHarness) -> None:
    """004 位移提交: positions are committed to an internal topic, so that whoever comes next goes on from there."""
    assert commit(coordinator, "g1", 23).code is ErrorCode.NONE
    assert commit(coordinator, "g2", 7).code is ErrorCode.NONE
    assert commit(coordinator, "g1", 42).code is ErrorCode.NONE
    assert {tp.topic for tp in coordinator.log.batches} == {"__consumer_offsets"}
    coordinator.reload()
    assert (committed(coordinator, "g1"), committed(coordinator, "g2")) == (42, 7)


def test_a_new_group_has_no_position(coordinator: GroupHarness) -> None:
    """004 指定位移消费: a new group has no committed offset (-1): the consumer decides by auto.offset.reset."""
    assert committed(coordinator, "new") == -1


def test_a_group_needs_a_name(tmp_path: Path) -> None:
    """004 必要的参数配置/group.id: an empty group id is refused as invalid (InvalidGroupIdException)."""
    request = m.JoinGroupRequest(group_id="", session_timeout_ms=10_000, protocol_type="consumer")
    with Broker(tmp_path) as broker, BlockingWire(broker.address) as wire:
        assert wire.ask(ApiKey.JOIN_GROUP, 5, request).error_code == ErrorCode.INVALID_GROUP_ID
