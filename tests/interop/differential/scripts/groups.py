"""Groups of the classic protocol, and of the new one: joining, syncing, beating, leaving, describing."""

from __future__ import annotations

from typing import Any, NamedTuple

from interop.differential.mutate import mutations
from interop.differential.session import Session
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

Protocol = JoinGroupRequest.JoinGroupRequestProtocol
Assignment = SyncGroupRequest.SyncGroupRequestAssignment
#: ConsumerProtocolSubscription v0 of one topic named "t", and an assignment of its partition 0.
SUBSCRIPTION = b"\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff"
ASSIGNMENT = b"\x00\x00\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff"
GENERATIONS = [-2, -1, 0, 2, 2**31 - 1]
MEMBERS = ["", "no-such-member"]


class Member(NamedTuple):
    group: str
    id: str
    generation: int
    instance: str | None = None


def join_request(group: str, member: str = "", instance: str | None = None) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=600_000,  # nobody beats in the scripts
        rebalance_timeout_ms=600_000,
        member_id=member,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[Protocol(name="range", metadata=SUBSCRIPTION), Protocol(name="roundrobin", metadata=SUBSCRIPTION)],
    )


def member(s: Session, *, instance: str | None = None, synced: bool = True) -> Member:
    """The only member of a new group, in its first generation."""
    group = s.fresh("g")
    s.coordinator(group)
    joined = s.do(join_request(group, instance=instance), 7)
    if joined.error_code == 79:
        joined = s.do(join_request(group, joined.member_id, instance), 7)
    assert joined.error_code == 0, joined
    if synced:
        request = SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=instance,
            assignments=[Assignment(member_id=joined.member_id, assignment=ASSIGNMENT)],
        )
        assert s.do(request, 4).error_code == 0
    return Member(group, joined.member_id, joined.generation_id, instance)


def find_coordinator(s: Session) -> None:
    for version in s.versions(ApiKey.FIND_COORDINATOR):

        def base(version: int = version) -> FindCoordinatorRequest:
            if version >= 4:
                return FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
            return FindCoordinatorRequest(key="g")

        s.ask("as it should be", base(), version)
        values = {"key_type": [-1, 1, 2, 3, 127], "coordinator_keys": ["", "a b", "x" * 300]}
        for mutation in mutations(base(), version, values=values):
            s.ask(mutation.label, mutation.apply(base()), version)


def join(s: Session) -> None:
    for version in s.versions(ApiKey.JOIN_GROUP):
        instances: list[str | None] = [None, "instance-1"] if version >= 5 else [None]
        for instance in instances:
            _join_mutations(s, version, instance)
        _rejoin(s, version)


def _join_mutations(s: Session, version: int, instance: str | None) -> None:
    kind = "static" if instance else "dynamic"
    values = {
        "session_timeout_ms": [-1, 0, 5999, 6000, 1_800_001, 2**31 - 1],
        "rebalance_timeout_ms": [-1, 0, 1, 2**31 - 1],
        "member_id": ["no-such-member", "x" * 300],
        "group_instance_id": ["", ".", "..", "bad name!", "long" * 63],
        "group_id": ["", " ", "x" * 300, "a b"],
        "protocol_type": ["", "connect", "x" * 300],
        "name": ["", "x" * 300],
        "metadata": [b""],  # bytes that are no subscription make Kafka 4.3 forget to answer
    }
    sample = join_request("g", instance=instance)
    for mutation in [None, *mutations(sample, version, values=values)]:
        group = s.fresh("g")
        request = join_request(group, instance=instance)
        label = "as it should be"
        if mutation is not None:
            label = mutation.label
            if label.startswith("group_id='") and label != "group_id=''":
                request.group_id = f"{group}{' ' if 'a b' in label else '-long' * 9}"
            else:
                mutation.apply(request)
        first = s.ask(f"{kind}: {label}", request, version)
        if first is not None and first.error_code == 79:
            request.member_id = first.member_id
            s.ask(f"{kind}, with id: {label}", request, version)


def _rejoin(s: Session, version: int) -> None:
    """A member that is there already joins again, as it was and otherwise."""
    who = member(s)
    s.ask("again", join_request(who.group, who.id), version)
    request = join_request(who.group, who.id)
    request.protocols[0].metadata += b"more"
    s.ask("again with other metadata", request, version)
    request = join_request(who.group, who.id)
    request.protocol_type = "connect"
    s.ask("again with another type", request, version)
    request = join_request(who.group, who.id)
    request.protocols = [Protocol(name="other", metadata=b"")]
    s.ask("again with other protocols", request, version)
    s.ask("another member", join_request(who.group, "no-such-member"), version)
    if version >= 5:
        static = member(s, instance="i1")
        s.ask("static, again with id", join_request(static.group, static.id, "i1"), version)
        s.ask("static, again without id", join_request(static.group, "", "i1"), version)
        s.ask("static, wrong id", join_request(static.group, "other", "i1"), version)
        s.ask("static, unknown instance", join_request(static.group, static.id, "i2"), version)


def sync(s: Session) -> None:
    values = {
        "generation_id": GENERATIONS,
        "member_id": MEMBERS,
        "group_id": ["", "no-such-group"],
        "protocol_type": ["", "connect", "consumer"],
        "protocol_name": ["", "roundrobin", "range"],
        "group_instance_id": ["", "i2"],
    }
    for version in s.versions(ApiKey.SYNC_GROUP):
        for synced in (False, True):

            def base(who: Member, version: int = version) -> SyncGroupRequest:
                request = SyncGroupRequest(
                    group_id=who.group,
                    generation_id=who.generation,
                    member_id=who.id,
                    assignments=[Assignment(member_id=who.id, assignment=ASSIGNMENT)],
                )
                if version >= 5:
                    request.protocol_type, request.protocol_name = "consumer", "range"
                return request

            state = "stable" if synced else "completing"
            s.ask(f"{state}: as it should be", base(member(s, synced=synced)), version)
            sample = base(Member("g", "m", 1))
            shared = member(s, synced=True) if synced else None
            for mutation in mutations(sample, version, values=values):
                who = shared or member(s, synced=synced)
                s.ask(f"{state}: {mutation.label}", mutation.apply(base(who)), version)


def heartbeat(s: Session) -> None:
    values = {
        "generation_id": GENERATIONS,
        "member_id": MEMBERS,
        "group_id": ["", "no-such-group"],
        "group_instance_id": ["", "i1", "i2"],
    }
    stable, completing, static = member(s), member(s, synced=False), member(s, instance="i1")
    for version in s.versions(ApiKey.HEARTBEAT):
        for label, who in (("stable", stable), ("completing", completing), ("static", static)):

            def base(who: Member = who, version: int = version) -> HeartbeatRequest:
                instance = who.instance if version >= 3 else None
                return HeartbeatRequest(
                    group_id=who.group, generation_id=who.generation, member_id=who.id, group_instance_id=instance
                )

            s.ask(f"{label}: as it should be", base(), version)
            for mutation in mutations(base(), version, values=values):
                s.ask(f"{label}: {mutation.label}", mutation.apply(base()), version)


def leave(s: Session) -> None:
    Identity = LeaveGroupRequest.MemberIdentity
    values = {
        "member_id": [*MEMBERS, "m" * 300],
        "group_id": ["", "no-such-group"],
        "group_instance_id": ["", "i1", "i2"],
        "reason": ["", "because", "x" * 500],
    }
    for version in s.versions(ApiKey.LEAVE_GROUP):
        for instance in (None, "i1"):

            def base(who: Member, version: int = version) -> LeaveGroupRequest:
                if version < 3:
                    return LeaveGroupRequest(group_id=who.group, member_id=who.id)
                identity = Identity(member_id=who.id, group_instance_id=who.instance)
                return LeaveGroupRequest(group_id=who.group, members=[identity])

            who = member(s, instance=instance)
            s.ask(f"{instance}: as it should be", base(who), version)
            s.ask(f"{instance}: once more", base(who), version)
            sample = base(Member("g", "m", 1, instance))
            for mutation in mutations(sample, version, values=values):
                s.ask(f"{instance}: {mutation.label}", mutation.apply(base(member(s, instance=instance))), version)


def describe(s: Session) -> None:
    stable, completing, static = member(s), member(s, synced=False), member(s, instance="i1")
    for version in s.versions(ApiKey.DESCRIBE_GROUPS):
        for label, who in (("stable", stable), ("completing", completing), ("static", static)):
            s.ask(label, DescribeGroupsRequest(groups=[who.group]), version)
        for mutation in mutations(DescribeGroupsRequest(groups=[stable.group]), version):
            s.ask(mutation.label, mutation.apply(DescribeGroupsRequest(groups=[stable.group])), version)
    for version in s.versions(ApiKey.LIST_GROUPS):
        if version >= 4:
            s.ask("unknown state", ListGroupsRequest(states_filter=["NoSuchState"]), version)
        if version >= 5:
            s.ask("unknown type", ListGroupsRequest(types_filter=["nosuchtype"]), version)
            s.ask("share type", ListGroupsRequest(types_filter=["Share"]), version)
        found = s.do(ListGroupsRequest(), version)
        ours = sorted(
            (g for g in found.groups if g.group_id.startswith(f"{s.prefix}-{s.script}")), key=lambda g: g.group_id
        )
        s.note("what is listed", ApiKey.LIST_GROUPS, version, [group.to_dict() for group in ours])


def delete(s: Session) -> None:
    values = {"groups_names": ["", "no-such-group", "x" * 300]}
    for version in s.versions(ApiKey.DELETE_GROUPS):
        who = member(s)
        s.ask("with a member", DeleteGroupsRequest(groups_names=[who.group]), version)
        s.do(LeaveGroupRequest(group_id=who.group, members=[LeaveGroupRequest.MemberIdentity(member_id=who.id)]), 4)
        s.ask("empty", DeleteGroupsRequest(groups_names=[who.group]), version)
        s.ask("deleted", DeleteGroupsRequest(groups_names=[who.group]), version)
        for mutation in mutations(DeleteGroupsRequest(groups_names=["no-such-group"]), version, values=values):
            s.ask(mutation.label, mutation.apply(DeleteGroupsRequest(groups_names=["no-such-group"])), version)


# -- the new protocol ------------------------------------------------------------------------------------------------


def new_group(s: Session, topic: str) -> str:
    """The name of a group of the new protocol whose coordinator knows the topic."""
    group = s.fresh("c")
    s.coordinator(group)
    s.await_topic(group, topic)
    return group


def beat_request(s: Session, group: str, topic: str, version: int) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="" if version == 0 else "AAAAAAAAAAAAAAAAAAAAAA",
        member_epoch=0,
        rebalance_timeout_ms=600_000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )


def consumer_heartbeat(s: Session) -> None:
    topic = s.topic(2)
    values = {
        "group_id": ["", " "],
        "member_id": ["", "no-such-member", "x" * 300],
        "member_epoch": [-3, -2, -1, 1, 5, 2**31 - 1],
        "instance_id": ["", "i1"],
        "rack_id": ["", "rack"],
        "rebalance_timeout_ms": [-2, -1, 0, 1],
        "subscribed_topic_names": [topic, "", "no-such-topic"],
        "subscribed_topic_regex": ["", "no-such.*", f"{topic}.*", "(", "[a-", "a{2000}", "\\p{L}+"],
        "server_assignor": ["", "uniform", "range", "no-such"],
    }
    for version in s.versions(ApiKey.CONSUMER_GROUP_HEARTBEAT):

        def base(version: int = version) -> ConsumerGroupHeartbeatRequest:
            return beat_request(s, new_group(s, topic), topic, version)

        s.ask("as it should be", base(), version)
        for mutation in mutations(base(), version, values=values):
            s.ask(f"first: {mutation.label}", mutation.apply(base()), version)
        for mutation in mutations(base(), version, values=values, skip={"group_id"}):
            request = base()
            joined = s.do(request, version)
            assert joined.error_code == 0, joined
            request.member_id, request.member_epoch = joined.member_id, joined.member_epoch
            request.rebalance_timeout_ms = -1
            request.subscribed_topic_names = None
            request.topic_partitions = None
            if mutation.label.startswith(
                ("subscribed_topic_names=twice", "topic_partitions=[]", "subscribed_topic_names=null")
            ):
                continue
            if mutation.label.startswith("topic_partitions=null"):
                continue
            s.ask(f"member: {mutation.label}", mutation.apply(request), version)
        _consumer_life(s, version, topic, base())
        _consumer_epochs(s, version)


def _consumer_epochs(s: Session, version: int) -> None:
    """Two members share a topic; what they may commit at which epoch; then both leave."""
    topic = s.topic(2)
    group = new_group(s, topic)
    Owned = ConsumerGroupHeartbeatRequest.TopicPartitions
    CommitTopic, Part = OffsetCommitRequest.OffsetCommitRequestTopic, OffsetCommitRequest.OffsetCommitRequestPartition

    def join(letter: str) -> Any:
        request = beat_request(s, group, topic, version)
        request.member_id = "" if version == 0 else letter + "A" * 21
        return s.ask(f"epochs: {letter} joins", request, version)

    def beat(who: Any, epoch: int, *owned: int) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=who.member_id, member_epoch=epoch)
        if owned:
            request.topic_partitions = [Owned(topic_id=s.topic_id(topic), partitions=list(owned))]
        return s.ask(f"epochs: beats at {epoch} with {owned}", request, version)

    def commit(who: Any, epoch: int, *partitions: int) -> None:
        parts = [Part(partition_index=number, committed_offset=epoch, committed_metadata="") for number in partitions]
        request = OffsetCommitRequest(
            group_id=group,
            member_id=who.member_id,
            generation_id_or_member_epoch=epoch,
            topics=[CommitTopic(name=topic, partitions=parts)],
        )
        s.ask(f"epochs: commits {partitions} at {epoch}", request, 9)

    first = join("A")
    commit(first, first.member_epoch, 0, 1)
    second = join("B")
    beat(first, first.member_epoch, 0)
    beat(second, second.member_epoch)
    for who in (first, second):
        for epoch in range(first.member_epoch - 1, second.member_epoch + 2):
            for partitions in ((0,), (1,), (0, 1)):
                commit(who, epoch, *partitions)
    for who in (first, second):
        beat(who, -1)
    s.ask("epochs: described empty", ConsumerGroupDescribeRequest(group_ids=[group]), 0)
    join("C")


def _consumer_life(s: Session, version: int, topic: str, request: Any) -> None:
    group = request.group_id
    joined = s.ask("life: joins", request, version)
    s.ask("life: joins again", request, version)
    beat = ConsumerGroupHeartbeatRequest(group_id=group, member_id=joined.member_id, member_epoch=joined.member_epoch)
    s.ask("life: beats", beat, version)
    Owned = ConsumerGroupHeartbeatRequest.TopicPartitions
    beat.topic_partitions = [Owned(topic_id=s.topic_id(topic), partitions=[0, 1])]
    s.ask("life: owns", beat, version)
    beat.topic_partitions = [Owned(topic_id=s.unknown_id, partitions=[0, 1])]
    s.ask("life: owns what it should not", beat, version)
    for classic in (
        join_request(group, "x"),
        HeartbeatRequest(group_id=group, generation_id=1, member_id=joined.member_id),
    ):
        s.ask("life: classic request", classic, 7 if isinstance(classic, JoinGroupRequest) else 4)
    s.ask("life: described", ConsumerGroupDescribeRequest(group_ids=[group]), 0)
    s.ask("life: described the old way", DescribeGroupsRequest(groups=[group]), 5)
    s.ask("life: delete while there", DeleteGroupsRequest(groups_names=[group]), 2)
    beat.topic_partitions, beat.member_epoch = None, -1
    s.ask("life: leaves", beat, version)
    s.ask("life: leaves again", beat, version)
    s.ask("life: described empty", ConsumerGroupDescribeRequest(group_ids=[group]), 0)
    s.ask("life: deleted", DeleteGroupsRequest(groups_names=[group]), 2)
    s.ask("life: described after", ConsumerGroupDescribeRequest(group_ids=[group]), 0)


def consumer_describe(s: Session) -> None:
    if not s.versions(ApiKey.CONSUMER_GROUP_HEARTBEAT):
        return
    topic = s.topic(2)
    group = new_group(s, topic)
    s.do(beat_request(s, group, topic, 1), 1 if 1 in s.versions(ApiKey.CONSUMER_GROUP_HEARTBEAT) else 0)
    classic = member(s)
    for version in s.versions(ApiKey.CONSUMER_GROUP_DESCRIBE):
        s.ask("as it should be", ConsumerGroupDescribeRequest(group_ids=[group]), version)
        s.ask("classic group", ConsumerGroupDescribeRequest(group_ids=[classic.group]), version)
        s.ask("several", ConsumerGroupDescribeRequest(group_ids=[group, "no-such-group", "", group]), version)
        for mutation in mutations(ConsumerGroupDescribeRequest(group_ids=[group]), version):
            s.ask(mutation.label, mutation.apply(ConsumerGroupDescribeRequest(group_ids=[group])), version)
