"""A consumer group (KIP-848): everything here is durable, and changed by replay only.

    epoch          bumped whenever members, subscriptions or topics change
    target_epoch   the group epoch for which `target` (member -> partitions) was computed
    members[m].epoch   the target epoch that this member has reached

`owners` says which member has a partition at present (or still has to give it back): nobody else may be given it. That
is the invariant that exactly one consumer of a group reads a partition; it is kept here, on the broker, and not by the
timing of clients.

The soft fields (named so) only save work: losing them costs a look at the metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tidelog.broker.coordinator.group.consumer.member import NOTHING, Assignment, ConsumerMember
from tidelog.broker.coordinator.group.consumer.states import ConsumerState
from tidelog.broker.coordinator.metadata import MetadataView, metadata_hash
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

Owner = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a regular expression stood for when it was resolved last."""

    topics: frozenset[str]
    version: int
    timestamp: int


#: A new group has an (empty) assignment already: a member of epoch 0 would not have joined.
INITIAL_EPOCH = 1


class ConsumerGroup:
    """Owned by its shard. `static` maps an instance id to its member, `regexes` a pattern to the topics it
    stands for.
    """

    type = "consumer"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = INITIAL_EPOCH
        self.metadata_hash = 0
        self.target_epoch = INITIAL_EPOCH
        self.target_computed_ms = 0  # 0: not known
        self.target: dict[str, Assignment] = {}
        self.members: dict[str, ConsumerMember] = {}
        self.static: dict[str, str] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.owners: dict[Owner, str] = {}
        self._behind = 0  # members that have not reached the target
        #: Soft: the metadata version at which the hash was computed last; any other value calls for a new look.
        self.checked_version = -1
        #: Soft: the metadata version, and the time, at which all regular expressions were resolved last.
        self.resolved_version = -1
        self.resolved_ms = 0

    def copy(self) -> ConsumerGroup:
        """The group as it is now; members and assignments are never changed in place."""
        other = ConsumerGroup(self.group_id)
        other.epoch, other.metadata_hash = self.epoch, self.metadata_hash
        other.target_epoch, other.target_computed_ms = self.target_epoch, self.target_computed_ms
        other.target, other.members, other.static = dict(self.target), dict(self.members), dict(self.static)
        other.regexes = dict(self.regexes)
        other._behind = self._behind
        other.checked_version = self.checked_version
        other.resolved_version, other.resolved_ms = self.resolved_version, self.resolved_ms
        return other

    def count_owners(self) -> None:
        """Owners follow from the members; a copy, which is rarely used, finds them only then."""
        self.owners = {owner: member.member_id for member in self.members.values() for owner in _owned(member)}

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> ConsumerState:
        """Follows from members and epochs. Who is behind is counted as members change, not here: a group may have
        thousands of members, and each of their steps asks."""
        if not self.members:
            return ConsumerState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerState.ASSIGNING
        if self._behind:
            return ConsumerState.RECONCILING
        return ConsumerState.STABLE

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def is_simple(self) -> bool:
        """Never: a group that only keeps offsets is a classic one."""
        return False

    def member(self, member_id: str) -> ConsumerMember:
        """The member; UNKNOWN_MEMBER_ID, which makes a client join as a new one, if there is none."""
        found = self.members.get(member_id)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not in group {self.group_id}.")
        return found

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """Who has this instance id now, if anybody."""
        return None if instance_id is None else self.members.get(self.static.get(instance_id, ""))

    def target_of(self, member_id: str) -> Assignment:
        return self.target.get(member_id, NOTHING)

    def owner(self, topic_id: bytes, partition: int) -> str | None:
        """Who has the partition, or has not given it back yet."""
        return self.owners.get((topic_id, partition))

    def preferred_assignor(self, default: str) -> str:
        """The one that most members ask for."""
        votes = Counter(member.assignor for member in self.members.values() if member.assignor)
        return votes.most_common(1)[0][0] if votes else default

    # -- subscriptions ---------------------------------------------------------------------------------------------

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """By name and by regular expression, whether they exist or not."""
        topics = frozenset(member.topics)
        if member.regex and member.regex in self.regexes:
            topics |= self.regexes[member.regex].topics
        return topics

    def subscribed_topics(self) -> frozenset[str]:
        return frozenset().union(*(self.topics_of(member) for member in self.members.values()))

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member wants the topic: then its offsets neither expire nor may be deleted."""
        return any(topic in self.topics_of(member) for member in self.members.values())

    def subscribed_regexes(self) -> Counter[str]:
        """Each pattern with the number of members that use it: with the last of them its record goes."""
        return Counter(member.regex for member in self.members.values() if member.regex)

    def current_hash(self, view: MetadataView) -> int:
        """A fingerprint of all subscribed topics as they are now; if it differs from the recorded one, assign anew."""
        return metadata_hash(view, self.subscribed_topics())

    # -- replay ----------------------------------------------------------------------------------------------------

    def put_member(self, member: ConsumerMember) -> None:
        """A member is new or has changed: who owns what, and who is behind, follows."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._behind -= not old.is_reconciled_to(self.target_epoch)
            self._release(old)
            if old.instance_id is not None and self.static.get(old.instance_id) == old.member_id:
                del self.static[old.instance_id]
        self.members[member.member_id] = member
        self._behind += not member.is_reconciled_to(self.target_epoch)
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        for owner in _owned(member):
            self.owners[owner] = member.member_id

    def drop_member(self, member_id: str) -> None:
        """A member is gone; what it owned is free. Its part of the target has a record of its own."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._behind -= not member.is_reconciled_to(self.target_epoch)
            self._release(member)
            if member.instance_id is not None and self.static.get(member.instance_id) == member_id:
                del self.static[member.instance_id]

    def aim_at(self, target_epoch: int, computed_ms: int) -> None:
        """The target assignment is that of this epoch now: whoever is at another one has a way to go."""
        self.target_epoch, self.target_computed_ms = target_epoch, computed_ms
        self._behind = sum(not member.is_reconciled_to(target_epoch) for member in self.members.values())

    def _release(self, member: ConsumerMember) -> None:
        for owner in _owned(member):
            if self.owners.get(owner) == member.member_id:
                del self.owners[owner]

    # -- records ---------------------------------------------------------------------------------------------------

    def epoch_record(self, epoch: int, hash_value: int) -> CoordinatorRecord:
        """The group's epoch with the fingerprint of the topics that it was bumped for."""
        return CoordinatorRecord(
            ConsumerGroupMetadataKey(group_id=self.group_id),
            ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=hash_value),
        )

    def target_record(self, member_id: str, target: Assignment) -> CoordinatorRecord:
        """One member's part of the target; only those that change are written."""
        topics = [
            ConsumerGroupTargetAssignmentMemberValue.TopicPartition(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(target.items())
        ]
        return CoordinatorRecord(
            ConsumerGroupTargetAssignmentMemberKey(group_id=self.group_id, member_id=member_id),
            ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics),
        )

    def target_epoch_record(self, epoch: int, computed_ms: int = 0) -> CoordinatorRecord:
        """The last of the target's records, which are all in one batch; the time is what KIP-1263's interval counts
        from.
        """
        return CoordinatorRecord(
            ConsumerGroupTargetAssignmentMetadataKey(group_id=self.group_id),
            ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=computed_ms),
        )

    def regex_record(self, regex: str, resolved: ResolvedRegex | None) -> CoordinatorRecord:
        """What a pattern stands for, or that nobody uses it any more."""
        value = None
        if resolved is not None:
            value = ConsumerGroupRegularExpressionValue(
                topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp
            )
        return CoordinatorRecord(
            ConsumerGroupRegularExpressionKey(group_id=self.group_id, regular_expression=regex), value
        )

    def member_tombstones(self, member_id: str) -> Iterator[CoordinatorRecord]:
        """Current assignment, target assignment, subscription: in this order, as Kafka does."""
        yield CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=self.group_id, member_id=member_id))
        yield CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=self.group_id, member_id=member_id))
        yield CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=self.group_id, member_id=member_id))

    def tombstones(self) -> Iterator[CoordinatorRecord]:
        """Everything of the group, so that nothing of it is left after compaction."""
        members = {*self.members, *self.target}
        for member_id in sorted(members):
            yield CoordinatorRecord(
                ConsumerGroupCurrentMemberAssignmentKey(group_id=self.group_id, member_id=member_id)
            )
        for member_id in sorted(members):
            yield CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=self.group_id, member_id=member_id))
        yield CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=self.group_id))
        for member_id in sorted(members):
            yield CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=self.group_id, member_id=member_id))
        for regex in sorted(self.regexes):
            yield self.regex_record(regex, None)
        yield CoordinatorRecord(ConsumerGroupMetadataKey(group_id=self.group_id))

    def durable_view(self) -> object:
        """What a reload must bring back."""
        return (
            self.group_id,
            self.epoch,
            self.metadata_hash,
            self.target_epoch,
            self.target_computed_ms,
            {member: dict(target) for member, target in sorted(self.target.items())},
            sorted(self.members.items()),
            sorted(self.static.items()),
            sorted(self.regexes.items(), key=lambda item: item[0]),
            sorted(self.owners.items()),
        )


def _owned(member: ConsumerMember) -> Iterator[Owner]:
    for assignment in (member.assigned, member.revoking):
        for topic_id, partitions in assignment.items():
            for partition in partitions:
                yield topic_id, partition


def is_subset(owned: Collection[tuple[bytes, frozenset[int]]], assigned: Mapping[bytes, frozenset[int]]) -> bool:
    """Whether a member that says it owns `owned` has nothing beyond its assignment."""
    return all(partitions <= assigned.get(topic_id, frozenset()) for topic_id, partitions in owned)
