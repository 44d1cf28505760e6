"""The durable state of a group shard: its groups and their offsets. `replay` is the only way to change it.

One exception, Kafka's own: the membership of a classic group is soft, and lives in the `ClassicGroup` that replay made
(or that a first JoinGroup made, through `classic`).

`Emitter` is for handlers whose later steps depend on earlier records: each record is replayed as it is emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from tidelog.broker.coordinator.group.consumer.member import ConsumerMember, assignment_of
from tidelog.broker.coordinator.group.offsets._committed import Committed
from tidelog.broker.coordinator.group.offsets.committed import OffsetStore, Partition
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import NO_RESPONSE, Result
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import OffsetCommitKey, OffsetCommitValue

Group = ClassicGroup | ConsumerGroup


class Timekeeper(Protocol):
    """Who has the timers of groups, and the answers that their members wait for."""

    def dismiss(self, group: Group) -> None:
        """The group is no more: its members wait for nothing."""

    def revive(self, group: Group) -> None:
        """The group is back: all sessions start anew."""


class GroupState:
    def __init__(self, clock: Clock, timekeeper: Timekeeper) -> None:
        self.groups: dict[str, Group] = {}
        self.timekeeper = timekeeper
        self.offsets = OffsetStore()
        self._clock = clock
        self._replayers: dict[str, Callable[[Any, Any], None]] = {
            "GroupMetadataKey": self._group_metadata,
            "ConsumerGroupMetadataKey": self._consumer_epoch,
            "ConsumerGroupPartitionMetadataKey": self._ignore,
            "ConsumerGroupMemberMetadataKey": self._consumer_member,
            "ConsumerGroupTargetAssignmentMetadataKey": self._target_epoch,
            "ConsumerGroupTargetAssignmentMemberKey": self._target_member,
            "ConsumerGroupCurrentMemberAssignmentKey": self._current_assignment,
            "ConsumerGroupRegularExpressionKey": self._regex,
        }

    # -- look-ups --------------------------------------------------------------------------------------------------

    def group(self, group_id: str) -> Group:
        found = self.groups.get(group_id)
        if found is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return found

    def classic(self, group_id: str) -> ClassicGroup:
        """The classic group of this id, made if there is none of any kind."""
        found = self.groups.get(group_id)
        if found is None:
            found = self.groups[group_id] = ClassicGroup(group_id, self._clock.time_ms())
        if not isinstance(found, ClassicGroup):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Group {group_id} is not a classic group.")
        return found

    def _vacate(self, group_id: str) -> None:
        """The group is no more. Offsets that it leaves behind are those of an offsets-only group: they still expire."""
        group = self.groups.pop(group_id, None)
        if isinstance(group, ClassicGroup) and not group.is_in(ClassicState.DEAD):
            group.transition(ClassicState.DEAD, self._clock.time_ms())
        if self.offsets.knows(group_id):
            self.groups[group_id] = ClassicGroup(group_id, self._clock.time_ms())

    def remember(self, group_id: str, group: Group | None) -> Callable[[], None]:
        """A way back: what makes the group again what it is now."""
        kept: Group | None = group
        state = None
        if isinstance(group, ConsumerGroup):
            kept = group.copy()
        elif isinstance(group, ClassicGroup):
            state = group.state, group.previous_state, group.state_since_ms

        def restore() -> None:
            now = self.groups.pop(group_id, None)
            if now is not None and now is not group:
                self.timekeeper.dismiss(now)
            if isinstance(kept, ConsumerGroup):
                kept.count_owners()
            elif kept is not None and state is not None:
                kept.state, kept.previous_state, kept.state_since_ms = state
            if kept is not None:
                self.groups[group_id] = kept
                self.timekeeper.revive(kept)
            elif self.offsets.knows(group_id):
                self._house(group_id)

        return restore

    # -- replay ----------------------------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord, producer_id: int = -1) -> None:
        key, value = record
        name = type(key).__name__
        if name == "OffsetCommitKey":
            self.offsets.replay(key, value, producer_id)
            if value is not None:
                self._house(key.group)
        elif name == "LegacyOffsetCommitKey":
            self.replay(_modern_commit(key, value), producer_id)
        else:
            self._replayers[name](key, value)

    def replay_commits(self, group_id: str, entries: Iterable[tuple[Partition, Committed]]) -> None:
        """The same for the offsets of one commit that was written as bytes, outside of transactions."""
        self.offsets.commit(group_id, entries)
        self._house(group_id)

    def _house(self, group_id: str) -> None:
        """Offsets need a group; one that only has offsets is a classic group without members."""
        if group_id not in self.groups:
            self.groups[group_id] = ClassicGroup(group_id, self._clock.time_ms())

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        self.offsets.end_transaction(producer_id, committed)

    def _ignore(self, key: Any, value: Any) -> None:
        """Up to Kafka 4.0 the subscribed topics were recorded; their hash in the group's epoch replaced it."""

    def _group_metadata(self, key: Any, value: Any) -> None:
        if value is None:
            if isinstance(self.groups.get(key.group), ClassicGroup):
                self._vacate(key.group)
        else:
            self.groups[key.group] = ClassicGroup.from_record(key.group, value, self._clock.time_ms())

    def _consumer(self, group_id: str) -> ConsumerGroup:
        """The consumer group of this id; an offsets-only group of the same id gives way."""
        found = self.groups.get(group_id)
        if not isinstance(found, ConsumerGroup):
            found = self.groups[group_id] = ConsumerGroup(group_id)
        return found

    def _existing(self, group_id: str) -> ConsumerGroup | None:
        """For tombstones: never makes a group."""
        found = self.groups.get(group_id)
        return found if isinstance(found, ConsumerGroup) else None

    def _consumer_epoch(self, key: Any, value: Any) -> None:
        if value is None:
            if self._existing(key.group_id) is not None:
                self._vacate(key.group_id)
            return
        group = self._consumer(key.group_id)
        group.epoch = value.epoch
        group.metadata_hash = value.metadata_hash

    def _consumer_member(self, key: Any, value: Any) -> None:
        if value is None:
            group = self._existing(key.group_id)
            if group is not None:
                group.drop_member(key.member_id)
            return
        group = self._consumer(key.group_id)
        member = group.members.get(key.member_id) or ConsumerMember(key.member_id)
        group.put_member(member.with_subscription(value))

    def _target_epoch(self, key: Any, value: Any) -> None:
        if value is None:
            group = self._existing(key.group_id)
            if group is not None:
                group.target_epoch, group.target_computed_ms = -1, 0
            return
        group = self._consumer(key.group_id)
        group.target_epoch, group.target_computed_ms = value.assignment_epoch, value.assignment_timestamp

    def _target_member(self, key: Any, value: Any) -> None:
        if value is None:
            group = self._existing(key.group_id)
            if group is not None:
                group.target.pop(key.member_id, None)
            return
        self._consumer(key.group_id).target[key.member_id] = assignment_of(value.topic_partitions)

    def _current_assignment(self, key: Any, value: Any) -> None:
        if value is None:
            group = self._existing(key.group_id)
            if group is not None and key.member_id in group.members:
                group.put_member(group.members[key.member_id].without_assignment())
            return
        group = self._consumer(key.group_id)
        member = group.members.get(key.member_id) or ConsumerMember(key.member_id)
        group.put_member(member.with_assignment(value))

    def _regex(self, key: Any, value: Any) -> None:
        if value is None:
            group = self._existing(key.group_id)
            if group is not None:
                group.regexes.pop(key.regular_expression, None)
            return
        resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
        self._consumer(key.group_id).regexes[key.regular_expression] = resolved

    def durable_view(self) -> object:
        """What two shards that replayed the same log agree on (offsets-only groups show in the offsets)."""
        groups = {
            group_id: group.durable_view() for group_id, group in sorted(self.groups.items()) if not group.is_simple
        }
        return groups, self.offsets.durable_view()


def _modern_commit(key: Any, value: Any) -> CoordinatorRecord:
    """A commit as brokers before 0.9 keyed it."""
    modern = None
    if value is not None:
        modern = OffsetCommitValue(
            offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
        )
    return CoordinatorRecord(OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition), modern)


class Emitter:
    """Collects the records of one handler for one group, each replayed at once.

    If they cannot be written, the group becomes again what it was when the emitter was made.
    """

    def __init__(self, state: GroupState, group_id: str) -> None:
        self._state = state
        self._group_id = group_id
        self._before = state.groups.get(group_id)
        self._restore: Callable[[], None] | None = None
        self.records: list[CoordinatorRecord] = []

    def emit(self, record: CoordinatorRecord) -> None:
        if self._restore is None:
            self._restore = self._state.remember(self._group_id, self._before)
        self._state.replay(record)
        self.records.append(record)

    def emit_all(self, records: Iterable[CoordinatorRecord]) -> None:
        for record in list(records):
            self.emit(record)

    def result(self, response: Any = NO_RESPONSE) -> Result:
        return Result(self.records, response, replay=False, undo=self._undo)

    def _undo(self, error: BaseException) -> None:
        if self._restore is not None:
            self._restore()

    def guard(self, step: Callable[[], Result]) -> Result:
        """Run a handler. If it refuses after it has emitted records, they are true all the same and must be written; if
        it breaks, they are not, and the group becomes again what it was."""
        try:
            return step()
        except KafkaError as error:
            if not self.records:
                raise
            return self.result(error)
        except Exception as error:
            self._undo(error)
            raise
