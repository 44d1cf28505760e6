"""The durable state of a group shard: its groups and their offsets. `replay` is the only way to change it.

One exception, Kafka's own: the membership of a classic group is soft. It lives in the `ClassicGroup` that replay made
(or that a first JoinGroup made, through `classic`), changes as members come and go, and only what the leader assigned
in a generation is ever written. A handler of a classic group therefore changes the group itself and returns its record
with `replay=False`: what the record says is what memory holds already.

A group id names one group of either kind. A group whose last record is gone, and which has offsets still, is kept as an
empty classic group: otherwise nobody would find these offsets when they expire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.replay import ConsumerReplay
from tidelog.broker.coordinator.group.offsets._committed import Committed
from tidelog.broker.coordinator.group.offsets.store import OffsetStore, Partition
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import OffsetCommitKey, OffsetCommitValue

Group = ClassicGroup | ConsumerGroup


class Timekeeper(Protocol):
    """Who has the timers of groups, and the answers that their members wait for."""

    def dismiss(self, group: Group) -> None:
        """The group is no more: its members wait for nothing."""

    def revive(self, group: Group) -> None:
        """The group is back, or of another kind now: all sessions start anew."""


class GroupShardState:
    """What the records of a partition of __consumer_offsets amount to. `timekeeper` has what is soft about groups."""

    def __init__(self, clock: Clock, timekeeper: Timekeeper) -> None:
        self.groups: dict[str, Group] = {}
        self.timekeeper = timekeeper
        self.offsets = OffsetStore()
        self.consumer = ConsumerReplay(self.groups, self._vacate)
        self._clock = clock
        self._replayers: dict[str, Callable[[Any, Any], None]] = {
            "GroupMetadataKey": self._group_metadata,
            **self.consumer.by_key,
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

    def _group_metadata(self, key: Any, value: Any) -> None:
        """The record of a classic group is all of it: whatever was in memory gives way, timers are set when all is
        loaded.
        """
        if value is None:
            if isinstance(self.groups.get(key.group), ClassicGroup):
                self._vacate(key.group)
        else:
            self.groups[key.group] = ClassicGroup.from_record(key.group, value, self._clock.time_ms())

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
