"""A member of a consumer group (KIP-848). Immutable: replay makes a new one with `dataclasses.replace`.

`epoch` is the target assignment's epoch that the member has reached. -1 (only in requests) leaves the group, -2 is a
static member that has left for a while and whose partitions wait for it. `previous_epoch` is still accepted when the
answer with the new one may have been lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidelog.broker.coordinator.group.consumer.states import MemberState
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.protocol.consumer_protocol import Protocol, subscription_version
from tidelog.protocol.messages import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)

LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2

Assignment = Mapping[bytes, frozenset[int]]
"""topic id -> partitions; a topic without partitions has no entry."""

NOTHING: Assignment = {}


@dataclass(frozen=True, slots=True)
class ClassicMetadata:
    """What a member that still speaks the classic protocol told in its JoinGroup."""

    session_timeout_ms: int
    protocols: tuple[Protocol, ...]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """Two records make it: its subscription (up to `classic`) and its current assignment. `assigned` is what it may
    read; `revoking` is what it has to give back, and what nobody else gets before it has.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] = ()
    regex: str = ""
    assignor: str | None = None
    classic: ClassicMetadata | None = None
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Assignment = field(default_factory=dict)
    revoking: Assignment = field(default_factory=dict)
    #: Since which epoch the member has had each partition (KIP-1251); what is not in it came with `epoch`.
    since: Mapping[tuple[bytes, int], int] = field(default_factory=dict)

    @property
    def uses_classic(self) -> bool:
        """Whether it speaks JoinGroup and SyncGroup: possible after an online upgrade, until it is restarted."""
        return self.classic is not None

    @property
    def classic_version(self) -> int:
        """The version of the ConsumerProtocol that the member's assignments are written in."""
        assert self.classic is not None
        return min((subscription_version(entry.metadata) for entry in self.classic.protocols), default=0)

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Whether nothing is left to be done for it at this epoch of the target."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def may_commit(self, topic_id: bytes, partition: int, epoch: int) -> bool:
        """Whether a commit of an earlier epoch still counts: it does if the partition was the member's already then."""
        owned = any(partition in held.get(topic_id, ()) for held in (self.assigned, self.revoking))
        return owned and epoch >= self.since.get((topic_id, partition), self.epoch)

    # -- durable form: two records, the subscription and the current assignment ------------------------------------

    def subscription_record(self, group_id: str) -> CoordinatorRecord:
        """What the member wants, and who it is; written when it joins and when any of that changes."""
        classic = None
        if self.classic is not None:
            classic = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata(
                session_timeout_ms=self.classic.session_timeout_ms,
                supported_protocols=[
                    ConsumerGroupMemberMetadataValue.ClassicProtocol(name=entry.name, metadata=entry.metadata)
                    for entry in self.classic.protocols
                ],
            )
        return CoordinatorRecord(
            ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=self.member_id),
            ConsumerGroupMemberMetadataValue(
                instance_id=self.instance_id,
                rack_id=self.rack_id,
                client_id=self.client_id,
                client_host=self.client_host,
                subscribed_topic_names=list(self.topics),
                subscribed_topic_regex=self.regex,
                rebalance_timeout_ms=self.rebalance_timeout_ms,
                server_assignor=self.assignor,
                classic_member_metadata=classic,
            ),
        )

    def with_subscription(self, value: ConsumerGroupMemberMetadataValue) -> ConsumerMember:
        """The inverse: the member with what the record says; its assignment is another record's affair."""
        classic = value.classic_member_metadata
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=tuple(value.subscribed_topic_names),
            regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor,
            classic=None
            if classic is None
            else ClassicMetadata(
                classic.session_timeout_ms,
                tuple(Protocol(entry.name, bytes(entry.metadata)) for entry in classic.supported_protocols),
            ),
        )

    def assignment_record(self, group_id: str) -> CoordinatorRecord:
        """What the member has: written with each step of its reconciliation, so often during a rebalance."""
        return CoordinatorRecord(
            ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=self.member_id),
            ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=self.epoch,
                previous_member_epoch=self.previous_epoch,
                state=self.state.value,
                assigned_partitions=self._stored(self.assigned),
                partitions_pending_revocation=self._stored(self.revoking),
            ),
        )

    def _stored(self, assignment: Assignment) -> list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions]:
        """Since Kafka 4.3 each partition is stored with the epoch at which it was assigned (KIP-1251)."""
        return [
            ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions(
                topic_id=topic_id,
                partitions=sorted(partitions),
                assignment_epochs=[self.since.get((topic_id, number), self.epoch) for number in sorted(partitions)],
            )
            for topic_id, partitions in sorted(assignment.items())
        ]

    def with_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> ConsumerMember:
        """The inverse. A state that is not known becomes UNKNOWN: the member is asked to start anew."""
        known = {state.value: state for state in MemberState}
        return replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=known.get(value.state, MemberState.UNKNOWN),
            assigned=assignment_of(value.assigned_partitions),
            revoking=assignment_of(value.partitions_pending_revocation),
            since=_since(value),
        )

    def without_assignment(self) -> ConsumerMember:
        """After a tombstone of the current assignment."""
        return replace(self, epoch=-1, previous_epoch=-1, state=MemberState.STABLE, assigned={}, revoking={}, since={})


def _since(value: ConsumerGroupCurrentMemberAssignmentValue) -> dict[tuple[bytes, int], int]:
    """Records of brokers before 4.3 do not say it: then it is the epoch of the record."""
    return {
        (bytes(topic.topic_id), partition): epoch
        for topic in (*value.assigned_partitions, *value.partitions_pending_revocation)
        for partition, epoch in zip(
            topic.partitions, topic.assignment_epochs or [value.member_epoch] * len(topic.partitions), strict=False
        )
    }


def assignment_of(topics: Iterable[Any]) -> dict[bytes, frozenset[int]]:
    """From any message's list of (topic_id, partitions)."""
    return {bytes(topic.topic_id): frozenset(topic.partitions) for topic in topics if topic.partitions}
