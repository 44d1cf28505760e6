"""What cannot be written concerns the group that wanted it, nobody else; and everybody who asked is answered."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from support.coordinator import Answer, GroupHarness, topic_id
from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.result import Caller, Result
from tidelog.broker.coordinator.shard import ShardState
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol import messages as m

#: More than a batch may hold.
TOO_MUCH = bytes(2 << 20)
CALLER = Caller("c", "/h", 3)


class Groups(GroupHarness):
    """One shard with a group `other`, whose member must not notice anything."""

    def __init__(self) -> None:
        config = GroupConfig(initial_rebalance_delay_ms=0, consumer_session_timeout_ms=45_000)
        super().__init__(config, topics={"a": 4})
        self.shard = self.runtime.active(0)
        self.bystander = self.join("other").response.member_id
        assert self.sync("other", self.bystander).response.error_code == 0

    def join(self, group: str, member_id: str = "", *, metadata: bytes = b"", instance: str | None = None) -> Answer:
        protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=metadata or subscription())
        request = m.JoinGroupRequest(
            group_id=group,
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[protocol],
        )
        answer = self.request(group, lambda machine, reply: machine.join(request, CALLER, reply))
        self.advance(0)
        return answer

    def sync(
        self, group: str, member_id: str, generation: int = 1, *, assignment: bytes | None = None, **fields: Any
    ) -> Answer:
        given = [] if assignment is None else [(member_id, assignment)]
        entries = [m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=one, assignment=a) for one, a in given]
        request = m.SyncGroupRequest(
            group_id=group, generation_id=generation, member_id=member_id, assignments=entries, **fields
        )
        return self.request(group, lambda machine, reply: machine.sync(request, reply))

    def heartbeat(self, group: str, member_id: str, generation: int = 1, instance: str | None = None) -> int:
        request = m.HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        answer = self.write(group, lambda machine: machine.heartbeat(request))
        return answer.code if answer.error else answer.response.error_code

    def consume(self, group: str, member_id: str, epoch: int = 0, topics: list[str] | None = None) -> Answer:
        joining = epoch == 0
        request = m.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if joining else -1,
            topic_partitions=[] if joining else None,
            subscribed_topic_names=["a"] if topics is None and joining else topics,
        )
        return self.write(group, lambda machine: machine.consumer_heartbeat(request, CALLER))

    def check_bystander(self) -> None:
        """The shard is the same, it works, and what it knows is what its log says."""
        assert self.runtime.active(0) is self.shard
        assert self.heartbeat("other", self.bystander) == ErrorCode.NONE
        assert self.machine().state.durable_view() == self.replayed().state.durable_view()


def subscription(padding: int = 0) -> bytes:
    body = m.ConsumerProtocolSubscription(topics=["a"], user_data=bytes(padding))
    return b"\0\0" + body.encode(0)


@pytest.fixture
def groups() -> Groups:
    return Groups()


# --- too large a record ---------------------------------------------------------------------------------------------


def test_an_assignment_that_no_batch_holds_is_its_own_groups_trouble(groups: Groups) -> None:
    leader = groups.join("big").response.member_id
    second = groups.join("big")
    assert groups.join("big", leader).response.generation_id == 2
    waiting = groups.sync("big", second.response.member_id, 2)
    refused = groups.sync("big", leader, 2, assignment=TOO_MUCH)
    assert refused.response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert waiting.response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert groups.heartbeat("big", leader, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    groups.join("big", second.response.member_id)
    assert groups.join("big", leader).response.generation_id == 3
    assert groups.sync("big", leader, 3, assignment=b"small").response.assignment == b"small"
    groups.check_bystander()


def test_a_static_member_that_comes_back_too_large_leaves_the_old_one_in_place(groups: Groups) -> None:
    member = groups.join("big", instance="i").response.member_id
    assert groups.sync("big", member, assignment=b"part", group_instance_id="i").response.error_code == 0
    refused = groups.join("big", instance="i", metadata=subscription(2 << 20))
    assert refused.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert groups.heartbeat("big", member, instance="i") == ErrorCode.NONE
    groups.check_bystander()
    again = groups.join("big", instance="i").response
    assert (again.error_code, again.generation_id) == (0, 1)
    assert groups.heartbeat("big", member, instance="i") == ErrorCode.FENCED_INSTANCE_ID
    groups.check_bystander()


@pytest.mark.parametrize("present", ["nobody", "a consumer", "a classic member"])
def test_too_large_a_subscription_leaves_the_group_as_it_was(groups: Groups, present: str) -> None:
    member, epoch = "", 0
    if present == "a consumer":
        epoch = groups.consume("big", "first").response.member_epoch
    elif present == "a classic member":
        member = groups.join("big").response.member_id
        assert groups.sync("big", member).response.error_code == 0
    refused = groups.consume("big", "second", topics=[f"{number:0249d}" for number in range(8000)])
    assert refused.code is ErrorCode.UNKNOWN_SERVER_ERROR
    groups.check_bystander()
    if present == "nobody":
        assert "big" not in groups.machine().state.groups
    elif present == "a consumer":
        assert groups.consume("big", "first", epoch).response.member_epoch == epoch
    else:
        assert groups.heartbeat("big", member) == ErrorCode.NONE
        groups.advance(299_000)
        assert groups.heartbeat("big", member) == ErrorCode.NONE
        groups.advance(301_000)  # its session runs on as well
        assert groups.heartbeat("big", member) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("silent", [False, True])
def test_a_downgrade_that_no_batch_holds_is_not_half_done(groups: Groups, silent: bool) -> None:
    """The members' own records fit, the one record of the whole classic group does not."""
    epoch = groups.consume("big", "new").response.member_epoch
    classic = [groups.join("big", metadata=subscription(400_000)).response.member_id for _ in range(3)]
    assert all(classic)
    if silent:
        groups.advance(50_000)
    else:
        assert groups.consume("big", "new", -1).code is ErrorCode.UNKNOWN_SERVER_ERROR
    group = groups.machine().state.groups["big"]
    assert (group.type, sorted(group.members)) == ("consumer", sorted(["new", *classic]))
    assert groups.consume("big", "new", epoch).done
    groups.check_bystander()


def test_a_member_that_expires_for_nothing_is_tried_again(groups: Groups) -> None:
    groups.consume("big", "new")
    classic = [groups.join("big", metadata=subscription(400_000)).response.member_id for _ in range(3)]
    groups.advance(50_000)
    assert groups.write("big", lambda machine: leave(machine, classic[0])).response.members[0].error_code == 0
    groups.advance(100_000)  # the record of two fits
    assert "new" not in groups.machine().state.groups["big"].members


def leave(machine: Any, member_id: str) -> Result:
    member = m.LeaveGroupRequest.MemberIdentity(member_id=member_id)
    result: Result = machine.leave(m.LeaveGroupRequest(group_id="big", members=[member]))
    return result


# --- an append that fails -------------------------------------------------------------------------------------------


def test_a_returning_static_member_is_answered_when_the_append_fails(groups: Groups) -> None:
    member = groups.join("g", instance="i").response.member_id
    assert groups.sync("g", member, group_instance_id="i").response.error_code == 0
    groups.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    answer = groups.join("g", instance="i")
    assert answer.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.advance(1000)
    assert groups.heartbeat("g", member, instance="i") == ErrorCode.NONE  # nothing of it was written


def test_a_name_too_long_for_a_member_id_makes_no_member(groups: Groups) -> None:
    """Members' ids are in everybody's answers: one that no answer can hold would cut off the group's leader."""
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription())
    for instance, client in ((None, "c" * 32_760), ("i" * 32_760, "c"), (None, "ü" * 16_380)):
        request = m.JoinGroupRequest(
            group_id="long",
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[protocol],
        )
        caller = Caller(client, "/h", 3)
        answer = groups.request("long", lambda machine, reply, r=request, c=caller: machine.join(r, c, reply))  # type: ignore[misc]  # bound default
        assert answer.code is ErrorCode.INVALID_REQUEST
    member = groups.join("long").response
    assert (member.generation_id, len(member.members)) == (1, 1)
    assert groups.sync("long", member.member_id).response.error_code == 0
    groups.check_bystander()


def test_a_record_that_cannot_be_encoded_is_refused_as_one_too_large(groups: Groups) -> None:
    epoch = groups.consume("g", "first").response.member_epoch
    refused = groups.consume("g", "m" * 40_000)
    assert refused.code is ErrorCode.UNKNOWN_SERVER_ERROR
    groups.check_bystander()
    assert groups.consume("g", "first", epoch).response.member_epoch == epoch
    assert list(groups.machine().state.groups["g"].members) == ["first"]


@pytest.mark.parametrize("present", [False, True], ids=["new", "known"])
def test_a_handler_that_breaks_leaves_the_group_as_it_was(
    groups: Groups, present: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if present:
        assert groups.consume("g", "first").error is None

    def broken(self: GroupConfig, group_id: str) -> int:
        raise ValueError("a fault")

    with monkeypatch.context() as patch:
        patch.setattr(GroupConfig, "heartbeat_interval_of", broken)
        with pytest.raises(ValueError, match="a fault"):
            groups.consume("g", "second")
    assert ("g" in groups.machine().state.groups) is present
    groups.check_bystander()
    assert groups.consume("g", "second").error is None
    groups.check_bystander()


def test_a_writer_that_breaks_is_heard_of(groups: Groups, caplog: pytest.LogCaptureFixture) -> None:
    leader = groups.join("g").response.member_id
    groups.log.break_next = RuntimeError("the writer's own trouble")
    with caplog.at_level(logging.ERROR):
        answer = groups.sync("g", leader, assignment=b"part")
    assert answer.response.error_code == ErrorCode.NOT_COORDINATOR
    assert "the writer's own trouble" in caplog.text
    groups.advance(1000)
    assert groups.heartbeat("other", groups.bystander) == ErrorCode.NONE


@pytest.mark.parametrize("fails", [False, True])
def test_one_answer_that_cannot_be_given_keeps_nobody_elses(
    groups: Groups, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(response: Any, error: KafkaError | None) -> None:
        raise RuntimeError("the client's own trouble")

    shard, other = groups.shard, Answer()
    request = m.OffsetCommitRequest(group_id="offsets", topics=[], generation_id_or_member_epoch=-1)
    request.topics.append(
        m.OffsetCommitRequest.OffsetCommitRequestTopic(
            name="a",
            topic_id=topic_id("a"),
            partitions=[m.OffsetCommitRequest.OffsetCommitRequestPartition(committed_offset=1)],
        )
    )
    shard.write(lambda machine: machine.commit(request, 8), broken)
    shard.write(lambda machine: machine.commit(request, 8), other)
    groups.log.fail_next = ErrorCode.NOT_LEADER_OR_FOLLOWER if fails else None
    with caplog.at_level(logging.ERROR):
        groups.scheduler.run()
    assert other.code is (ErrorCode.NOT_COORDINATOR if fails else ErrorCode.NONE)
    assert "the client's own trouble" in caplog.text
    assert shard.state is (ShardState.CLOSED if fails else ShardState.ACTIVE)
