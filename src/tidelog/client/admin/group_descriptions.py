"""Groups of consumers and share consumers, described: members, assignments, epochs.

A consumer group may be of the classic type or of KIP-848's. Nobody knows before asking: the newer request comes first,
and a group that is not of its kind (or a broker that has no such request) is asked for in the older one. There, before
Kafka 4.0, a group that does not exist looks like a dead one without members.

In a classic group the coordinator knows the members' assignments as bytes only: one of the members has shared out the
partitions, and what the bytes mean is between members. Those of consumers are decoded here. In the newer groups the
coordinator shares out itself, so it can tell what a member has (`assignment`) and what it will have when all others
have let go of it (`target_assignment`); a group whose members all have their target is stable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.call import Call
from tidelog.client.admin.group_values import GroupDescription, GroupState, GroupType, MemberDescription
from tidelog.client.admin.hints import failure, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import GROUP
from tidelog.client.admin.shapes import operations
from tidelog.client.cluster.client import CoordinatorType
from tidelog.client.values import Node
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages
from tidelog.protocol.consumer_protocol import decode_assignment

_CONSUMER = "consumer"
#: What says that a group is not one of KIP-848's, or that the broker knows none.
_NOT_OF_THE_NEW_KIND = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
_CLASSIC_MEMBER = 0


class GroupDescriptionAdmin(AdminBase):
    """The part of the Admin that describes groups."""

    async def describe_consumer_group(
        self, group_id: str, *, authorized_operations: bool = False, timeout: float | None = None
    ) -> GroupDescription:
        """One group of consumers, of either type."""
        found = await self.describe_consumer_groups(
            [group_id], authorized_operations=authorized_operations, timeout=timeout
        )
        return found.of(group_id)

    async def describe_consumer_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Outcomes[str, GroupDescription]:
        """Groups of consumers, of either type. A group of something else is INVALID_GROUP_ID."""
        call = self._call(timeout)
        found = await _describe_new(call, group_ids, messages.ConsumerGroupDescribeRequest, authorized_operations)
        others = [key for key, error in found.failed.items() if error.code in _NOT_OF_THE_NEW_KIND]
        found |= await _describe_classic(call, others, authorized_operations)
        for key, group in found.ok.items():
            if group.protocol_type not in ("", _CONSUMER):
                text = f"it is a group of type {group.protocol_type}; describe_classic_groups shows it"
                found[key] = failure(ErrorCode.INVALID_GROUP_ID, text, f"group {key}")
        return found

    async def describe_classic_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Outcomes[str, GroupDescription]:
        """Groups of the classic type, whatever they are used for (consumers, Connect, a schema registry).

        `protocol_type` tells what that is; assignments are only known of consumers.
        """
        return await _describe_classic(self._call(timeout), group_ids, authorized_operations)

    async def describe_share_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Outcomes[str, GroupDescription]:
        """Share groups (Kafka 4.1 on)."""
        call = self._call(timeout)
        return await _describe_new(call, group_ids, messages.ShareGroupDescribeRequest, authorized_operations)


async def _describe_new(
    call: Call, group_ids: Iterable[str], request: Callable[..., Any], authorized_operations: bool
) -> Outcomes[str, GroupDescription]:
    """ConsumerGroupDescribe or ShareGroupDescribe, which tell nearly the same."""
    kind = GroupType.CONSUMER if request is messages.ConsumerGroupDescribeRequest else GroupType.SHARE

    def ask(keys: list[str]) -> Any:
        return request(group_ids=keys, include_authorized_operations=authorized_operations)

    def read(response: Any, keys: list[str]) -> Answers[str, GroupDescription]:
        for group in response.groups:
            described = GroupDescription(
                group.group_id,
                kind,
                GroupState(group.group_state),
                tuple(map(_new_member, group.members)),
                kind.value,
                group.assignor_name,
                coordinator_of(call, group.group_id),
                group.group_epoch,
                group.assignment_epoch,
                operations(group.authorized_operations),
            )
            about = f"group {group.group_id}"
            yield group.group_id, outcome(described, group.error_code, group.error_message, about)

    return await call.each(group_ids, GROUP, ask, read)


async def _describe_classic(
    call: Call, group_ids: Iterable[str], authorized_operations: bool
) -> Outcomes[str, GroupDescription]:
    """DescribeGroups. A group of KIP-848 is told here, too, by newer brokers, but without its epochs."""

    def ask(keys: list[str]) -> messages.DescribeGroupsRequest:
        return messages.DescribeGroupsRequest(groups=keys, include_authorized_operations=authorized_operations)

    def read(response: Any, keys: list[str]) -> Answers[str, GroupDescription]:
        for group in response.groups:
            consumers = group.protocol_type == _CONSUMER
            described = GroupDescription(
                group.group_id,
                GroupType.CLASSIC,
                GroupState(group.group_state),
                tuple(_classic_member(member, consumers) for member in group.members),
                group.protocol_type,
                group.protocol_data,
                coordinator_of(call, group.group_id),
                authorized_operations=operations(group.authorized_operations),
            )
            about = f"group {group.group_id}"
            yield group.group_id, outcome(described, group.error_code, group.error_message, about)

    return await call.each(group_ids, GROUP, ask, read)


def coordinator_of(call: Call, group_id: str) -> Node | None:
    """The broker that has just answered for the group."""
    return call.cluster.known_coordinator(CoordinatorType.GROUP, group_id)


def _new_member(member: Any) -> MemberDescription:
    """Members of share groups have no target assignment, and no instance."""
    target = getattr(member, "target_assignment", None)
    kind = getattr(member, "member_type", -1)
    return MemberDescription(
        member.member_id,
        member.client_id,
        member.client_host,
        _assigned(member.assignment),
        getattr(member, "instance_id", None),
        member.rack_id,
        None if target is None else _assigned(target),
        member.member_epoch,
        tuple(member.subscribed_topic_names),
        getattr(member, "subscribed_topic_regex", None),
        None if kind < 0 else kind == _CLASSIC_MEMBER,
    )


def _classic_member(member: Any, consumers: bool) -> MemberDescription:
    """What a member of another kind was given is that kind's own business."""
    assignment: tuple[TopicPartition, ...] = ()
    if consumers and member.member_assignment:
        found = decode_assignment(bytes(member.member_assignment)).assigned_partitions
        assignment = tuple(TopicPartition(topic.topic, number) for topic in found for number in topic.partitions)
    return MemberDescription(
        member.member_id, member.client_id, member.client_host, assignment, member.group_instance_id, is_classic=True
    )


def _assigned(assignment: Any) -> tuple[TopicPartition, ...]:
    """Flat, as our values are."""
    topics = assignment.topic_partitions
    return tuple(TopicPartition(topic.topic_name, number) for topic in topics for number in topic.partitions)
