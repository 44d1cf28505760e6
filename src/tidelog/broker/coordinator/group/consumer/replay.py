"""What each record of a consumer group does to it: the only code that changes one, live and at load alike.

The records of one group (docs/formats/group-records.md) may come in any order that compaction leaves them in: the
assignment of a member before its subscription, a target for somebody who is gone. So every record that says something
makes what it speaks of, and a tombstone never does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from tidelog.broker.coordinator.group.consumer.member import ConsumerMember, assignment_of


class ConsumerReplay:
    """`groups` has the groups of both kinds; `vacate` removes one (and keeps a place for its offsets)."""

    def __init__(self, groups: dict[str, Any], vacate: Callable[[str], None]) -> None:
        self._groups = groups
        self._vacate = vacate
        self._unborn: ConsumerGroup | None = None
        self.by_key: dict[str, Callable[[Any, Any], None]] = {
            "ConsumerGroupMetadataKey": self._epoch,
            "ConsumerGroupPartitionMetadataKey": self._ignore,
            "ConsumerGroupMemberMetadataKey": self._member,
            "ConsumerGroupTargetAssignmentMetadataKey": self._target_epoch,
            "ConsumerGroupTargetAssignmentMemberKey": self._target_member,
            "ConsumerGroupCurrentMemberAssignmentKey": self._current_assignment,
            "ConsumerGroupRegularExpressionKey": self._regex,
        }

    def unborn(self, group_id: str) -> ConsumerGroup:
        """A group that a handler may look at before there is one. Nobody else sees it: it becomes the group of this id
        when the first record of it is replayed. If the handler refuses before that, it has never been."""
        self._unborn = ConsumerGroup(group_id)
        return self._unborn

    def _made(self, group_id: str) -> ConsumerGroup:
        """The consumer group of this id; an offsets-only group of the same id gives way."""
        found = self._groups.get(group_id)
        if isinstance(found, ConsumerGroup):
            return found
        unborn, self._unborn = self._unborn, None
        group = unborn if unborn is not None and unborn.group_id == group_id else ConsumerGroup(group_id)
        self._groups[group_id] = group
        return group

    def _existing(self, group_id: str) -> ConsumerGroup | None:
        """For tombstones: never makes a group."""
        found = self._groups.get(group_id)
        return found if isinstance(found, ConsumerGroup) else None

    def _ignore(self, key: Any, value: Any) -> None:
        """Up to Kafka 4.0 the subscribed topics were recorded; their hash in the group's epoch replaced it."""

    def _epoch(self, key: Any, value: Any) -> None:
        """The group's epoch. Its tombstone is the end of the group: Kafka, too, writes it last."""
        if value is None:
            if self._existing(key.group_id) is not None:
                self._vacate(key.group_id)
            return
        group = self._made(key.group_id)
        group.epoch = value.epoch
        group.metadata_hash = value.metadata_hash

    def _member(self, key: Any, value: Any) -> None:
        """A member's subscription; its tombstone takes the member out, with everything that it owned."""
        if value is None:
            group = self._existing(key.group_id)
            if group is not None:
                group.drop_member(key.member_id)
            return
        group = self._made(key.group_id)
        member = group.members.get(key.member_id) or ConsumerMember(key.member_id)
        group.put_member(member.with_subscription(value))

    def _target_epoch(self, key: Any, value: Any) -> None:
        """The epoch of the target, and when it was computed. Its tombstone comes shortly before the group's own."""
        if value is None:
            group = self._existing(key.group_id)
            if group is not None:
                group.aim_at(-1, 0)
            return
        self._made(key.group_id).aim_at(value.assignment_epoch, value.assignment_timestamp)

    def _target_member(self, key: Any, value: Any) -> None:
        """One member's part of the target, in whole: what it had before is replaced."""
        if value is None:
            group = self._existing(key.group_id)
            if group is not None:
                group.target.pop(key.member_id, None)
            return
        self._made(key.group_id).target[key.member_id] = assignment_of(value.topic_partitions)

    def _current_assignment(self, key: Any, value: Any) -> None:
        """What a member has, and its epoch and state. Its tombstone comes before that of the subscription when a member
        leaves: the member is still there then, and owns nothing.
        """
        if value is None:
            group = self._existing(key.group_id)
            if group is not None and key.member_id in group.members:
                group.put_member(group.members[key.member_id].without_assignment())
            return
        group = self._made(key.group_id)
        member = group.members.get(key.member_id) or ConsumerMember(key.member_id)
        group.put_member(member.with_assignment(value))

    def _regex(self, key: Any, value: Any) -> None:
        """The topics that a pattern stands for; resolved by the broker that wrote it, and trusted until the
        next look.
        """
        if value is None:
            group = self._existing(key.group_id)
            if group is not None:
                group.regexes.pop(key.regular_expression, None)
            return
        resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
        self._made(key.group_id).regexes[key.regular_expression] = resolved
