"""Who may commit, and who may fetch: members that are up to date.

A consumer that was away too long has lost its partitions to somebody else and does not know it yet. Were its commit
taken, it would set back the offsets of whoever reads them now. So a commit says who it comes from, and the coordinator
compares:

    classic group     member id, instance id, generation      ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
    consumer group    member id, member epoch                 STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID
    nobody in it      generation -1 and no member id          a consumer that assigns its partitions itself, or a tool

A transaction's commit is fenced by the same generation or epoch (KIP-447: one producer may then serve whatever
partitions its group gives it), beside the epoch of its producer. It is no sign of life, and a rebalance that is being
completed does not hold it up. Transactional producers of before KIP-447 name no member at all, and pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.broker.coordinator.group.classic.rebalance import ClassicRebalance
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.member import ConsumerMember
from tidelog.broker.coordinator.group.state import Group
from tidelog.broker.coordinator.metadata import MetadataView
from tidelog.common.errors import ErrorCode, KafkaError

#: The first OffsetCommit version that knows member epochs.
EPOCH_COMMIT_VERSION = 9


class CommitFence:
    """`rebalance` is told of every commit that passes: to a classic group it is a sign of life, as a heartbeat is."""

    def __init__(self, groups: Mapping[str, Group], rebalance: ClassicRebalance, view: MetadataView) -> None:
        self._groups = groups
        self._rebalance = rebalance
        self._view = view

    def check_commit(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        generation: int,
        topics: Iterable[Any] | None,
        *,
        version: int,
        transactional: bool = False,
    ) -> None:
        """Raise unless this member may commit now. Without `topics`, only an epoch that is current is good enough."""
        group = self._groups.get(group_id)
        if group is None:
            if generation >= 0:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
            return  # an offsets-only group is born by the replay of its first commit
        if isinstance(group, ConsumerGroup):
            if not (transactional and generation < 0 and not member_id and instance_id is None):
                self._check_consumer_commit(group, member_id, generation, topics, version)
            return
        state = group.state
        if state is ClassicState.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if generation < 0 and state is ClassicState.EMPTY:
            return
        if generation >= 0 or member_id or instance_id is not None:
            group.check_member(member_id, instance_id)
            if generation != group.generation:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        elif not transactional and state is not ClassicState.EMPTY:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if not transactional and state is ClassicState.COMPLETING_REBALANCE:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        if not transactional and state in (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE):
            self._rebalance.keep_alive(group, group.members[member_id])

    def _check_consumer_commit(
        self, group: ConsumerGroup, member_id: str, epoch: int, topics: Iterable[Any] | None, version: int
    ) -> None:
        """An epoch that has passed is good enough for partitions that the member has had since then (KIP-1251)."""
        if epoch < 0 and not group.members:
            return
        member = group.member(member_id)
        if not member.uses_classic and version < EPOCH_COMMIT_VERSION:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        if epoch == member.epoch or (epoch < member.epoch and self._had_all(member, epoch, topics)):
            return
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION if member.uses_classic else ErrorCode.STALE_MEMBER_EPOCH)

    def _had_all(self, member: ConsumerMember, epoch: int, topics: Iterable[Any] | None) -> bool:
        """Whether the member has had every one of these partitions since that epoch."""
        if topics is None:
            return False
        for topic in topics:
            known = self._view.topic(topic.name)
            if known is None or not all(
                member.may_commit(known.topic_id, entry.partition_index, epoch) for entry in topic.partitions
            ):
                return False
        return True

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Raise unless whoever says that it is a member of a consumer group is one, and is up to date."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup) and (member_id is not None or member_epoch >= 0):
            member = group.member(member_id or "")
            if not member.uses_classic and member.epoch != member_epoch:
                raise KafkaError(ErrorCode.STALE_MEMBER_EPOCH)
