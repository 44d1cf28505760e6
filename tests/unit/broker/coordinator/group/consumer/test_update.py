"""When a pattern bumps the group's epoch: as Apache Kafka 4.3.1 does, with real clients' heartbeats tried beside it."""

from __future__ import annotations

from typing import Any

from support.coordinator import GroupHarness
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.result import Caller
from tidelog.protocol import messages as m


class Group:
    """Members that do at once what they are told."""

    def __init__(self) -> None:
        self.harness = GroupHarness(topics={"a": 2, "b": 2})

    @property
    def present(self) -> ConsumerGroup:
        group = self.harness.machine().state.groups["g"]
        assert isinstance(group, ConsumerGroup)
        return group

    def join(self, member: str, **subscription: Any) -> None:
        self._beat(member, 0, [], rebalance_timeout_ms=1000, **subscription)

    def beat(self, member: str, **subscription: Any) -> None:
        known = self.present.members[member]
        owned = [
            m.ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic, partitions=sorted(partitions))
            for topic, partitions in known.assigned.items()
        ]
        self._beat(member, known.epoch, owned, **subscription)

    def _beat(self, member: str, epoch: int, owned: list[Any], **fields: Any) -> None:
        request = m.ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=member, member_epoch=epoch, topic_partitions=owned, **fields
        )
        caller = Caller("c", "/h", 1)
        answer = self.harness.write("g", lambda machine: machine.consumer_heartbeat(request, caller))
        assert answer.code.name == "NONE"


def test_the_last_who_wants_a_topic_changes_to_a_pattern_that_finds_nothing() -> None:
    """The group has other topics than before, so it needs another target: without it, the member would be told at its
    next join that the topics are still its own.
    """
    group = Group()
    group.join("m1", subscribed_topic_regex="a.*")
    epoch = group.present.epoch
    group.beat("m1", subscribed_topic_regex="none.*")
    assert group.present.epoch == epoch + 1
    group.beat("m1")
    assert group.present.target_of("m1") == {}
    assert group.present.members["m1"].assigned == {}
    assert group.present.members["m1"].epoch == epoch + 1


def test_who_changes_to_a_pattern_that_finds_nothing_beside_others_asks_for_nothing() -> None:
    group = Group()
    group.join("m1", subscribed_topic_regex="a.*")
    group.join("m2", subscribed_topic_regex="a.*")
    epoch = group.present.epoch
    group.beat("m1", subscribed_topic_regex="none.*")
    assert group.present.epoch == epoch
    group.beat("m1", subscribed_topic_regex="nothing.*")
    assert group.present.epoch == epoch


def test_who_joins_with_a_pattern_that_finds_nothing_asks_for_nothing() -> None:
    group = Group()
    group.join("m1", subscribed_topic_regex="none.*")
    assert group.present.epoch == 1
    group.join("m2", subscribed_topic_names=["a"])
    assert group.present.epoch == 2
    group.join("m3", subscribed_topic_regex="nothing.*")
    assert group.present.epoch == 2
    group.join("m4", subscribed_topic_regex="none.*")  # resolved already: whether it finds something is not looked at
    assert group.present.epoch == 3
    group.join("m5", subscribed_topic_regex="b.*")
    assert group.present.epoch == 4
