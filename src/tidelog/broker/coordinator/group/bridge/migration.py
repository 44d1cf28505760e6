"""A group changes its protocol while it lives (KIP-848's online upgrade and downgrade).

Upgrade: the first member of the new protocol joins a classic group of consumers. The group becomes a consumer group at
epoch = generation; its members stay in it as classic members, with the assignments that they have. Downgrade: the last
member of the new protocol leaves. The group becomes a classic group again and rebalances. An empty group simply changes
its kind; offsets belong to the group's id and stay.

Either way is a row of records, tombstones of the old kind first, and replay makes the group of the new kind from them:
a coordinator that crashes right after the write finds exactly what this one has. They are one batch, so there is no
half of it. What is soft about a classic group (timers, waiting answers, protocols that were not chosen) is given up or
put back around that.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.group import NO_GENERATION, ClassicGroup
from tidelog.broker.coordinator.group.classic.group import tombstone as classic_tombstone
from tidelog.broker.coordinator.group.classic.member import ClassicMember
from tidelog.broker.coordinator.group.classic.rebalance import ClassicRebalance
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.member import Assignment, ClassicMetadata, ConsumerMember
from tidelog.broker.coordinator.group.emitter import Emitter
from tidelog.broker.coordinator.group.state import GroupShardState
from tidelog.broker.coordinator.metadata import MetadataView
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.protocol.consumer_protocol import (
    CONSUMER_PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from tidelog.protocol.messages import ConsumerProtocolAssignment, JoinGroupResponse, SyncGroupResponse

logger = logging.getLogger(__name__)


class Migration:
    """`rebalance` has the soft side of classic groups. It is the `Kinds` of the consumer protocol's handlers."""

    def __init__(
        self, state: GroupShardState, rebalance: ClassicRebalance, view: MetadataView, config: GroupConfig
    ) -> None:
        self._state = state
        self._rebalance = rebalance
        self._view = view
        self._config = config

    # -- upgrade ---------------------------------------------------------------------------------------------------

    def consumer_group(self, group_id: str, emitter: Emitter, *, create: bool) -> ConsumerGroup:
        """The consumer group of this id; with `create`, made from nothing, from an empty group or by an upgrade."""
        group = self._state.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if not create:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        if isinstance(group, ClassicGroup):
            if not group.is_empty:
                return self._upgrade(group, emitter)
            self._rebalance.drop(group)
            emitter.emit(classic_tombstone(group_id))
        return self._state.consumer.unborn(group_id)

    def _upgrade(self, classic: ClassicGroup, emitter: Emitter) -> ConsumerGroup:
        """Members that wait in a rebalance of the classic group are told REBALANCE_IN_PROGRESS: they join again, and
        find themselves in a group of the new kind. What the group's leader assigned last is taken for the target, so
        that the first real assignment can be sticky. Everybody's session starts anew with the new kind: a member that
        has died meanwhile would otherwise keep its partitions for ever.
        """
        self._check_upgrade(classic)
        try:
            members = [self._as_consumer_member(classic, member) for member in classic.members.values()]
        except ProtocolError as error:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"Cannot upgrade classic group {classic.group_id}: malformed embedded consumer protocol: {error}",
            ) from error
        self._rebalance.drop(classic)
        for waiting in classic.members.values():
            error_code = ErrorCode.REBALANCE_IN_PROGRESS
            refused = JoinGroupResponse(member_id=waiting.member_id, error_code=error_code, generation_id=NO_GENERATION)
            classic.answer_join(waiting, refused)
            classic.answer_sync(waiting, SyncGroupResponse(error_code=error_code))
        emitter.emit(classic_tombstone(classic.group_id))
        group = self._state.consumer.unborn(classic.group_id)
        for member in members:
            emitter.emit(member.subscription_record(group.group_id))
        emitter.emit(group.epoch_record(classic.generation, group.current_hash(self._view)))
        for member in members:
            emitter.emit(group.target_record(member.member_id, member.assigned))
        emitter.emit(group.target_epoch_record(classic.generation))
        for member in members:
            emitter.emit(member.assignment_record(group.group_id))
        emitter.settle()
        self._state.timekeeper.revive(group)
        logger.info("group %s: upgraded to a consumer group at epoch %d", group.group_id, group.epoch)
        return group

    def _check_upgrade(self, classic: ClassicGroup) -> None:
        """Only consumers, whose bytes can be read, and only if the policy allows it. Kafka answers GROUP_ID_NOT_FOUND,
        as if there were no group of the new kind to be joined; so do we.
        """
        reason = None
        if not self._config.upgrade_allowed:
            reason = "online upgrade is disabled"
        elif classic.protocol_type != CONSUMER_PROTOCOL_TYPE:
            reason = "it does not use the consumer embedded protocol"
        elif len(classic.members) > self._config.consumer_max_size:
            reason = "it has more members than a consumer group may have"
        if reason is not None:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {classic.group_id}: {reason}."
            )

    def _as_consumer_member(self, classic: ClassicGroup, member: ClassicMember) -> ConsumerMember:
        """Subscription and assignment are read from the bytes that members and leader have exchanged; ProtocolError if
        they are none.
        """
        subscription = decode_subscription(member.metadata(classic.protocol_name) or member.protocols[0].metadata)
        assigned = self._ids(decode_assignment(member.assignment).assigned_partitions) if member.assignment else {}
        return ConsumerMember(
            member.member_id,
            member.group_instance_id,
            getattr(subscription, "rack_id", None),
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            tuple(sorted(set(subscription.topics))),
            classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
            epoch=classic.generation,
            previous_epoch=classic.generation,
            assigned=assigned,
        )

    def _ids(self, topics: Iterable[object]) -> dict[bytes, frozenset[int]]:
        """(topic name, partitions) -> by topic id; topics that are gone are left out."""
        found: dict[bytes, frozenset[int]] = {}
        for entry in topics:
            topic = self._view.topic(entry.topic)  # type: ignore[attr-defined]  # TopicPartition of either message
            if topic is not None and entry.partitions:  # type: ignore[attr-defined]  # likewise
                found[topic.topic_id] = frozenset(entry.partitions)  # type: ignore[attr-defined]  # likewise
        return found

    def owned(self, topics: Iterable[object]) -> Assignment:
        """What a classic member's subscription says that it owns."""
        return self._ids(topics)

    def classic_assignment(self, assigned: Assignment, version: int) -> bytes:
        """An assignment in the bytes that classic consumers read."""
        partitions = []
        for topic_id, numbers in assigned.items():
            topic = self._view.topic_by_id(topic_id)
            if topic is not None:
                partitions.append(
                    ConsumerProtocolAssignment.TopicPartition(topic=topic.name, partitions=sorted(numbers))
                )
        partitions.sort(key=lambda entry: entry.topic)
        return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=partitions), version)

    # -- downgrade -------------------------------------------------------------------------------------------------

    def can_downgrade(self, group: ConsumerGroup, leaving: Collection[ConsumerMember] = ()) -> bool:
        """Whether, without those who leave, somebody is left and all of them speak the classic protocol."""
        gone = {member.member_id for member in leaving}
        left = [member for member in group.members.values() if member.member_id not in gone]
        return (
            bool(left)
            and all(member.uses_classic for member in left)
            and self._config.downgrade_allowed
            and len(left) <= self._config.max_size
        )

    def to_classic(
        self, group: ConsumerGroup, leaving: Collection[ConsumerMember], emitter: Emitter, reason: str
    ) -> None:
        """Turn the group into a classic one, which rebalances at once.

        It is written as Stable, with the target as its members' assignments; that is what a coordinator finds which
        loads it before the rebalance is over, and it is no worse than what the members have.
        """
        gone = {member.member_id for member in leaving}
        staying = [member for member in group.members.values() if member.member_id not in gone]
        assignments = {
            member.member_id: self.classic_assignment(group.target_of(member.member_id), member.classic_version)
            for member in staying
        }
        record = self._classic_record(group, staying, assignments)
        emitter.emit_all(group.tombstones())
        emitter.settle()
        emitter.emit(record)
        classic = self._state.classic(group.group_id)
        for member in staying:
            assert member.classic is not None
            # Soft, as all membership: the record has room for the chosen protocol's metadata only.
            classic.update(classic.members[member.member_id], member.classic.protocols)
        for classic_member in classic.members.values():
            self._rebalance.keep_alive(classic, classic_member)
        logger.info("group %s: downgraded to a classic group at generation %d", group.group_id, classic.generation)
        emitter.add(self._rebalance.prepare(classic, reason))

    def _classic_record(
        self, group: ConsumerGroup, staying: Iterable[ConsumerMember], assignments: Mapping[str, bytes]
    ) -> CoordinatorRecord:
        """The group as a classic one whose last rebalance has just ended: generation = epoch, everybody assigned."""
        draft = ClassicGroup(group.group_id, self._rebalance.clock.time_ms(), group.epoch)
        for member in staying:
            assert member.classic is not None
            draft.add(
                ClassicMember(
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.classic.session_timeout_ms,
                    CONSUMER_PROTOCOL_TYPE,
                    member.classic.protocols,
                )
            )
        draft.protocol_name = draft.select_protocol()
        return draft.record(assignments)
