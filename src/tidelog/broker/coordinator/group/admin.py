"""ListGroups, DescribeGroups, ConsumerGroupDescribe, DeleteGroups: what administrators ask of a shard.

ListGroups is asked of every broker, and each lists what it coordinates; the others are asked of the group's own
coordinator. States and types (KIP-518, KIP-848) are those of now; nobody is promised that they last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.group import tombstone as classic_tombstone
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.member import Assignment, ConsumerMember
from tidelog.broker.coordinator.group.state import Group, GroupShardState
from tidelog.broker.coordinator.metadata import MetadataView
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import ConsumerGroupDescribeResponse, DescribeGroupsResponse, ListGroupsResponse


class GroupDescriber:
    """Reads, but for the tombstones of a group that is deleted."""

    def __init__(self, state: GroupShardState, view: MetadataView, default_assignor: str) -> None:
        self._state = state
        self._view = view
        self._default_assignor = default_assignor

    # -- list ------------------------------------------------------------------------------------------------------

    def list(self, states: Collection[str], types: Collection[str]) -> list[ListGroupsResponse.ListedGroup]:
        """Filters compare without regard to case; an empty filter lets everything pass."""
        wanted_states = {state.lower() for state in states}
        wanted_types = {kind.lower() for kind in types}
        return [
            ListGroupsResponse.ListedGroup(
                group_id=group.group_id,
                protocol_type=_protocol_type(group),
                group_state=group.state.value,
                group_type=group.type,
            )
            for group in self._state.groups.values()
            if (not wanted_states or group.state.value.lower() in wanted_states)
            and (not wanted_types or group.type in wanted_types)
        ]

    # -- describe --------------------------------------------------------------------------------------------------

    def describe_classic(self, group_id: str, version: int) -> DescribeGroupsResponse.DescribedGroup:
        """DescribeGroups. Subscriptions and assignments are shown of a stable group only: in a rebalance they are those
        of no generation. A consumer group is not described here, but by ConsumerGroupDescribe.
        """
        group = self._state.groups.get(group_id)
        if not isinstance(group, ClassicGroup) or group.is_in(ClassicState.DEAD):
            # Up to version 5 an unknown group is a dead one; from 6 on it is an error.
            missing = DescribeGroupsResponse.DescribedGroup(group_id=group_id, group_state=ClassicState.DEAD.value)
            if version >= 6:
                missing.error_code = ErrorCode.GROUP_ID_NOT_FOUND
                known = group is not None and not isinstance(group, ClassicGroup)
                missing.error_message = f"Group {group_id} {'is not a classic group' if known else 'not found'}."
            return missing
        stable = group.is_in(ClassicState.STABLE)
        return DescribeGroupsResponse.DescribedGroup(
            group_id=group_id,
            group_state=group.state.value,
            protocol_type=group.protocol_type or "",
            protocol_data=(group.protocol_name or "") if stable else "",
            members=[
                DescribeGroupsResponse.DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata(group.protocol_name) if stable else b"",
                    member_assignment=member.assignment if stable else b"",
                )
                for member in group.members.values()
            ],
        )

    def describe_consumer(self, group_id: str) -> ConsumerGroupDescribeResponse.DescribedGroup:
        """ConsumerGroupDescribe: the epochs tell how far a rebalance has come, and each member's which one it has
        reached.
        """
        group = self._state.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            return ConsumerGroupDescribeResponse.DescribedGroup(
                group_id=group_id,
                error_code=ErrorCode.GROUP_ID_NOT_FOUND,
                error_message=f"Group {group_id} is not a consumer group.",
            )
        return ConsumerGroupDescribeResponse.DescribedGroup(
            group_id=group_id,
            group_state=group.state.value,
            group_epoch=group.epoch,
            assignment_epoch=group.target_epoch,
            assignor_name=group.preferred_assignor(self._default_assignor),
            members=[self._describe_member(group, member) for member in group.members.values()],
        )

    def _describe_member(self, group: ConsumerGroup, member: ConsumerMember) -> ConsumerGroupDescribeResponse.Member:
        """The subscription, what the member has and what it shall have: whoever looks sees why a rebalance
        takes long.
        """
        return ConsumerGroupDescribeResponse.Member(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            member_epoch=member.epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=list(member.topics),
            subscribed_topic_regex=member.regex,
            assignment=self._named(member.assigned),
            target_assignment=self._named(group.target_of(member.member_id)),
            member_type=0 if member.uses_classic else 1,
        )

    def _named(self, assignment: Assignment) -> ConsumerGroupDescribeResponse.Assignment:
        """Partitions by topic; those of deleted topics are left out, as nobody could read them."""
        topics = []
        for topic_id, partitions in sorted(assignment.items()):
            topic = self._view.topic_by_id(topic_id)
            if topic is not None:
                topics.append(
                    ConsumerGroupDescribeResponse.TopicPartitions(
                        topic_id=topic_id, topic_name=topic.name, partitions=sorted(partitions)
                    )
                )
        return ConsumerGroupDescribeResponse.Assignment(topic_partitions=topics)

    # -- delete ----------------------------------------------------------------------------------------------------

    def check_deletable(self, group_id: str) -> Group:
        """The group; GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP, as Kafka has it."""
        group = self._state.group(group_id)
        if group.state.value == "Dead":
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if not group.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        return group

    def tombstones(self, group: Group) -> Iterator[CoordinatorRecord]:
        """Everything of the group but its offsets."""
        if isinstance(group, ClassicGroup):
            yield classic_tombstone(group.group_id)
        else:
            yield from group.tombstones()


def _protocol_type(group: Group) -> str:
    return "consumer" if isinstance(group, ConsumerGroup) else group.protocol_type or ""
