"""What replay makes of records, also of those that only older brokers wrote."""

from __future__ import annotations

from support.coordinator import GroupHarness
from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Caller
from tidelog.protocol import messages as m


def commit(group: str = "g") -> CoordinatorRecord:
    return CoordinatorRecord(
        m.OffsetCommitKey(group=group, topic="a", partition=0),
        m.OffsetCommitValue(offset=5, metadata="", commit_timestamp=1),
    )


def test_commits_keyed_as_before_0_9_count() -> None:
    state = GroupHarness().machine().state
    key = m.LegacyOffsetCommitKey(group="g", topic="a", partition=3)
    state.replay(CoordinatorRecord(key, m.LegacyOffsetCommitValue(offset=9, metadata="m", commit_timestamp=7)))
    found = state.offsets.get("g", ("a", 3))
    assert found is not None
    assert (found.offset, found.metadata, found.leader_epoch, found.expire_timestamp) == (9, "m", -1, -1)
    state.replay(CoordinatorRecord(key))
    assert state.offsets.get("g", ("a", 3)) is None


def test_offsets_of_a_group_that_changed_its_kind_are_not_orphaned() -> None:
    """Without a group of any kind nobody would look whether they have expired."""
    state = GroupHarness().machine().state
    state.replay(commit())
    assert isinstance(state.groups["g"], ClassicGroup)
    key = m.ConsumerGroupMetadataKey(group_id="g")
    state.replay(CoordinatorRecord(key, m.ConsumerGroupMetadataValue(epoch=1)))
    assert isinstance(state.groups["g"], ConsumerGroup)
    state.replay(CoordinatorRecord(key))
    assert isinstance(state.groups["g"], ClassicGroup)
    assert state.groups["g"].is_simple


def test_the_topics_that_kafka_4_0_recorded_are_read_over() -> None:
    state = GroupHarness().machine().state
    key = m.ConsumerGroupPartitionMetadataKey(group_id="g")
    state.replay(CoordinatorRecord(key, m.ConsumerGroupPartitionMetadataValue()))
    state.replay(CoordinatorRecord(key))
    assert state.groups == {}


def test_a_member_state_of_a_newer_broker_must_start_anew() -> None:
    harness = GroupHarness(topics={"a": 1})

    def heartbeat(epoch: int, **fields: object) -> m.ConsumerGroupHeartbeatRequest:
        request = m.ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=epoch)
        for name, value in fields.items():
            setattr(request, name, value)
        return request

    first = heartbeat(0, rebalance_timeout_ms=1000, subscribed_topic_names=["a"], topic_partitions=[])
    caller = Caller("c", "/h", 1)
    assert harness.write("g", lambda machine: machine.consumer_heartbeat(first, caller)).error is None
    newer = m.ConsumerGroupCurrentMemberAssignmentValue(member_epoch=2, previous_member_epoch=2, state=99)
    harness.machine().replay(
        CoordinatorRecord(m.ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m"), newer)
    )
    again = heartbeat(2)
    harness.set_topics({"a": 2})
    answer = harness.write("g", lambda machine: machine.consumer_heartbeat(again, caller))
    assert answer.code.name == "FENCED_MEMBER_EPOCH"
    # The group's new epoch, which this heartbeat brought about, is true nevertheless: it is written, not lost.
    assert harness.machine().state.groups["g"].epoch == harness.replayed().state.groups["g"].epoch == 3


def test_configs_of_single_groups() -> None:
    overrides = {"slow": {"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "15000"}}
    config = GroupConfig(overrides=overrides)
    assert (config.session_timeout_of("slow"), config.heartbeat_interval_of("slow")) == (60_000, 15_000)
    assert (config.session_timeout_of("other"), config.heartbeat_interval_of("other")) == (45_000, 5_000)
    overrides["other"] = {"consumer.heartbeat.interval.ms": "7000"}
    assert config.heartbeat_interval_of("other") == 7_000
