"""A group that changes its kind does it by records: a shard that loads them has the same group."""

from __future__ import annotations

from support.coordinator import GroupHarness
from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.result import Caller
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m

CALLER = Caller("c", "/h", 3)


def subscription(*topics: str) -> bytes:
    return (1).to_bytes(2, "big") + m.ConsumerProtocolSubscription(topics=list(topics)).encode(1)


def classic_group() -> tuple[GroupHarness, str]:
    """A stable classic group of one member that supports two assignors."""
    harness = GroupHarness(GroupConfig(initial_rebalance_delay_ms=0), topics={"a": 2})
    protocols = [
        m.JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=subscription("a"))
        for name in ("range", "roundrobin")
    ]
    request = m.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=protocols,
    )
    joined = harness.request("g", lambda machine, reply: machine.join(request, CALLER, reply))
    harness.advance(0)
    member = joined.response.member_id
    assigned = m.ConsumerProtocolAssignment(
        assigned_partitions=[m.ConsumerProtocolAssignment.TopicPartition(topic="a", partitions=[0, 1])]
    )
    part = m.SyncGroupRequest.SyncGroupRequestAssignment(
        member_id=member, assignment=(1).to_bytes(2, "big") + assigned.encode(1)
    )
    sync = m.SyncGroupRequest(group_id="g", member_id=member, generation_id=1, assignments=[part])
    assert harness.request("g", lambda machine, reply: machine.sync(sync, reply)).code.name == "NONE"
    return harness, member


def beat(harness: GroupHarness, member: str, epoch: int) -> None:
    request = m.ConsumerGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch)
    if epoch == 0:
        request.rebalance_timeout_ms, request.subscribed_topic_names, request.topic_partitions = 1000, ["a"], []
    answer = harness.write("g", lambda machine: machine.consumer_heartbeat(request, CALLER._replace(api_version=1)))
    assert answer.code.name == "NONE"


def test_both_ways_are_ways_that_replay_goes() -> None:
    harness, member = classic_group()
    beat(harness, "new", 0)
    assert isinstance(harness.machine().state.groups["g"], ConsumerGroup)
    assert harness.machine().state.durable_view() == harness.replayed().state.durable_view()

    beat(harness, "new", -1)
    group = harness.machine().state.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert harness.machine().state.durable_view() == harness.replayed().state.durable_view()
    # Soft, beyond what the record says: the assignors that the member did not use still count for the next generation.
    assert group.candidate_protocols() == {"range", "roundrobin"}
    assert [entry.name for entry in group.members[member].protocols] == ["range", "roundrobin"]


def test_a_classic_group_that_cannot_be_upgraded_stays_as_it_is() -> None:
    harness, _ = classic_group()
    before = harness.machine().state.groups["g"]
    request = m.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="new", rebalance_timeout_ms=1000, subscribed_topic_names=["a"], topic_partitions=[]
    )
    before.protocol_type = "connect"
    answer = harness.write("g", lambda machine: machine.consumer_heartbeat(request, CALLER._replace(api_version=1)))
    assert answer.code.name == "GROUP_ID_NOT_FOUND"
    assert harness.machine().state.groups["g"] is before


def test_a_classic_member_that_dies_at_the_upgrade_times_out() -> None:
    """Its session begins anew with the new kind: nobody will hear of it again, and its partitions must become free."""
    harness, member = classic_group()
    beat(harness, "new", 0)
    group = harness.machine().state.groups["g"]
    assert member in group.members
    harness.advance(29_000)
    assert member in group.members
    beat(harness, "new", group.members["new"].epoch)
    harness.advance(2_000)
    assert list(group.members) == ["new"]


def test_an_upgrade_that_cannot_be_written_leaves_no_id_waited_for_for_ever() -> None:
    """The group is what it was; an id that was handed out before still ends when nobody uses it."""
    harness, member = classic_group()
    request = m.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription("a"))],
    )
    caller = CALLER._replace(api_version=4)
    answer = harness.request("g", lambda machine, reply: machine.join(request, caller, reply))
    assert answer.response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    harness.log.limit = 200
    upgrade = m.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="new", rebalance_timeout_ms=1000, subscribed_topic_names=["a"], topic_partitions=[]
    )
    answer = harness.write("g", lambda machine: machine.consumer_heartbeat(upgrade, CALLER._replace(api_version=1)))
    assert answer.code.name == "UNKNOWN_SERVER_ERROR"
    harness.log.limit = 1 << 20
    group = harness.machine().state.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert (list(group.members), len(group.pending_join)) == ([member], 1)
    harness.advance(harness.config.new_member_join_timeout_ms)
    assert not group.pending_join
