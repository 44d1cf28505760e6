"""The messages of the classic protocol, from what a member is to what goes on the wire (pure).

A group's protocol is a contract among its members; the coordinator only passes bytes. For consumers these bytes are
Kafka's ConsumerProtocol (`protocol.consumer_protocol`), which Java, librdkafka and we read alike.

A subscription is sent once per assignor that we support, as each may add bytes of its own. What we own and the
generation it is from go along (KIP-429, KIP-792): a sticky assignor decides by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.consumer.assignors.assignor import Assignment, Assignor, MemberSubscription
from tidelog.client.values import UNKNOWN_GENERATION, UNKNOWN_MEMBER
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.protocol.consumer_protocol import (
    CONSUMER_PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tidelog.protocol.messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)

#: The versions of the two embedded messages that we write; every reader of version 0 and up understands them.
_ASSIGNMENT_VERSION = 1
_LAST_SINGLE_LEAVE = 2
#: What the coordinator keeps of a reason.
_REASON_CHARACTERS = 255


class Generation(NamedTuple):
    """Who we are in a group, since when, and the assignor that the group uses."""

    id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER
    protocol: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether the coordinator has us in a generation."""
        return self.id != UNKNOWN_GENERATION and self.member_id != UNKNOWN_MEMBER


class Group(NamedTuple):
    """What does not change while a consumer lives.

    `session_timeout_ms`: how long the coordinator waits for a heartbeat. `rebalance_timeout_ms`: how long it waits for
    a member to join, once a rebalance has begun; that is `max.poll.interval.ms`, as a member may have to wait for its
    user first.
    """

    id: str
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    rack: str | None


def join_request(
    group: Group,
    me: Generation,
    topics: frozenset[str],
    owned: Iterable[TopicPartition],
    assignors: Iterable[Assignor],
    reason: str,
) -> JoinGroupRequest:
    """One protocol per assignor, in the order of our preference. `reason` is for whoever reads the broker's log.

    What we own is sent in every mode: an eager member owns nothing by now, and a cooperative one must tell, as nothing
    of it may be given to others before it was given back.
    """
    by_topic = _by_topic(owned)
    protocols = []
    for assignor in assignors:
        subscription = ConsumerProtocolSubscription(
            topics=sorted(topics),
            user_data=assignor.subscription_user_data(topics),
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=partitions)
                for topic, partitions in by_topic.items()
            ],
            generation_id=me.id,
            rack_id=group.rack,
        )
        protocols.append(
            JoinGroupRequest.JoinGroupRequestProtocol(name=assignor.name, metadata=encode_subscription(subscription))
        )
    return JoinGroupRequest(
        group_id=group.id,
        session_timeout_ms=group.session_timeout_ms,
        rebalance_timeout_ms=group.rebalance_timeout_ms,
        member_id=me.member_id,
        group_instance_id=group.instance_id,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocols=protocols,
        reason=reason[:_REASON_CHARACTERS],
    )


def sync_request(group: Group, me: Generation, assignments: Mapping[str, Assignment]) -> SyncGroupRequest:
    """Of the leader with everybody's part, of the others with nothing."""
    return SyncGroupRequest(
        group_id=group.id,
        generation_id=me.id,
        member_id=me.member_id,
        group_instance_id=group.instance_id,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=me.protocol,
        assignments=[
            SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=assignment_bytes(part))
            for member, part in assignments.items()
        ],
    )


def heartbeat_request(group: Group, me: Generation) -> HeartbeatRequest:
    """ "I live, and I am in this generation"; the answer says whether the coordinator agrees."""
    return HeartbeatRequest(
        group_id=group.id, generation_id=me.id, member_id=me.member_id, group_instance_id=group.instance_id
    )


def leave_request(group: Group, me: Generation, reason: str, version: int) -> LeaveGroupRequest:
    """Up to version 2 it names one member, from then on a list, with reasons."""
    if version <= _LAST_SINGLE_LEAVE:
        return LeaveGroupRequest(group_id=group.id, member_id=me.member_id)
    identity = LeaveGroupRequest.MemberIdentity(
        member_id=me.member_id, group_instance_id=group.instance_id, reason=reason[:_REASON_CHARACTERS]
    )
    return LeaveGroupRequest(group_id=group.id, members=[identity])


def members_of(response: Any) -> dict[str, MemberSubscription]:
    """Everybody's subscriptions, which only the leader is sent. One that cannot be read raises ProtocolError."""
    found = {}
    for member in response.members:
        said = decode_subscription(bytes(member.metadata))
        found[member.member_id] = MemberSubscription(
            tuple(said.topics),
            None if said.user_data is None else bytes(said.user_data),
            tuple(TopicPartition(t.topic, p) for t in said.owned_partitions for p in t.partitions),
            said.generation_id,
            member.group_instance_id,
            said.rack_id,
        )
    return found


def assignment_bytes(part: Assignment) -> bytes:
    """A member's part, as it will read it from SyncGroup."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=partitions)
            for topic, partitions in _by_topic(part.partitions).items()
        ],
        user_data=part.user_data,
    )
    return encode_assignment(message, _ASSIGNMENT_VERSION)


def assignment_of(data: bytes) -> Assignment:
    """Our part. A leader that gave us none may have sent no bytes at all."""
    if not data:
        return Assignment(())
    message = decode_assignment(data)
    partitions = [TopicPartition(t.topic, p) for t in message.assigned_partitions for p in t.partitions]
    return Assignment(partitions, None if message.user_data is None else bytes(message.user_data))


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Sorted, so that equal sets are equal bytes: a coordinator compares them to find out whether anything changed."""
    found: dict[str, list[int]] = {}
    for tp in sorted(partitions):
        found.setdefault(tp.topic, []).append(tp.partition)
    return found
