"""Classic members inside a consumer group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup on the new machinery.

To such a member a rebalance looks as ever (REBALANCE_IN_PROGRESS, join, sync); in truth nobody waits for anybody: its
generation is its member epoch, its assignment is computed here, and it is never made a leader. One JoinGroup is one
heartbeat of the new protocol: it brings the subscription and what the member owns (cooperative consumers say it in
their metadata), and takes one step of `reconcile`. SyncGroup tells what that step has given.

    Heartbeat   REBALANCE_IN_PROGRESS while the member is behind the target, or has something to give back or to get
    JoinGroup   answered at once, with the epoch that the member has reached
    SyncGroup   the assignment, in the bytes of the ConsumerProtocol version that the member understands
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.bridge.migration import Migration
from tidelog.broker.coordinator.group.classic.group import NO_GENERATION, member_protocols
from tidelog.broker.coordinator.group.classic.join import MEMBER_ID_REQUIRED_VERSION
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.handler import ConsumerHandler
from tidelog.broker.coordinator.group.consumer.member import ClassicMetadata, ConsumerMember
from tidelog.broker.coordinator.group.consumer.session import ConsumerSessions
from tidelog.broker.coordinator.group.consumer.states import MemberState
from tidelog.broker.coordinator.group.consumer.update import ConsumerUpdate
from tidelog.broker.coordinator.group.emitter import Emitter
from tidelog.broker.coordinator.group.state import GroupShardState
from tidelog.broker.coordinator.result import Caller, Result
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.common.rng import Rng
from tidelog.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE, decode_subscription
from tidelog.protocol.messages import (
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)


class ClassicMembers(ConsumerHandler):
    """What a classic member cannot say has to be watched instead: that it comes to join after it was told to, and to
    sync after it has joined (`ConsumerSessions.expect_join`, `expect_sync`).
    """

    def __init__(
        self,
        state: GroupShardState,
        update: ConsumerUpdate,
        sessions: ConsumerSessions,
        migration: Migration,
        config: GroupConfig,
        rng: Rng,
    ) -> None:
        super().__init__(state, update, sessions, migration, config, rng)
        self._migration = migration

    # -- join ------------------------------------------------------------------------------------------------------

    def join(self, group: ConsumerGroup, request: JoinGroupRequest, caller: Caller) -> Result:
        """A member id is required of new dynamic members from version 4 on (KIP-394), as in a classic group; nothing is
        remembered of the id that is given out.
        """
        if self._config.migration_policy == "disabled":
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "Group migration is disabled.")
        new = not request.member_id
        member_id = request.member_id or self.new_member_id()
        subscription = self._check_join(group, request, member_id)
        if new and request.group_instance_id is None and caller.api_version >= MEMBER_ID_REQUIRED_VERSION:
            response = JoinGroupResponse(
                member_id=member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED, generation_id=NO_GENERATION
            )
            return Result(response=response)
        emitter = Emitter(self._state, group.group_id)
        return emitter.guard(lambda: self._rejoin(group, member_id, request, caller, subscription, emitter))

    def _rejoin(
        self,
        group: ConsumerGroup,
        member_id: str,
        request: JoinGroupRequest,
        caller: Caller,
        subscription: ConsumerProtocolSubscription,
        emitter: Emitter,
    ) -> Result:
        """The steps of a heartbeat. If this was the last member of the new protocol, which has come back with the old
        one, the group is downgraded in the same write; the answer is the same.
        """
        before = self._find(group, member_id, request, not request.member_id, emitter)
        after = replace(
            before,
            instance_id=request.group_instance_id,
            rack_id=subscription.rack_id,
            client_id=caller.client_id,
            client_host=caller.client_host,
            rebalance_timeout_ms=(
                request.session_timeout_ms if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms
            ),
            topics=tuple(sorted(set(subscription.topics))),
            regex="",
            assignor=None,
            classic=ClassicMetadata(request.session_timeout_ms, member_protocols(request.protocols)),
        )
        changed = self._update.subscribe(group, before, after, emitter)
        self._update.target(group, emitter)
        owned = self._migration.owned(subscription.owned_partitions)
        member = self._update.reconcile(group, member_id, owned, changed, emitter)
        if self._migration.can_downgrade(group):
            for other in group.members:
                self._sessions.cancel(group.group_id, other)
            self._migration.to_classic(group, (), emitter, "only classic members are left")
        else:
            self._sessions.keep_alive(group, member)
            self._sessions.expect_sync(group, member)
        return emitter.result(
            JoinGroupResponse(
                member_id=member_id,
                generation_id=member.epoch,
                protocol_type=CONSUMER_PROTOCOL_TYPE,
                protocol_name=request.protocols[0].name,
            )
        )

    def _check_join(
        self, group: ConsumerGroup, request: JoinGroupRequest, member_id: str
    ) -> ConsumerProtocolSubscription:
        """The group's size; and that its classic members have a protocol in common, so that it could become a classic
        group again at any time.
        """
        known = group.static_member(request.group_instance_id) is not None or member_id in group.members
        if not known and len(group.members) >= self._config.consumer_max_size:
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)
        names = {entry.name for entry in request.protocols}
        for other in group.members.values():
            if other.classic is not None and other.member_id != member_id:
                names &= {entry.name for entry in other.classic.protocols}
        if request.protocol_type != CONSUMER_PROTOCOL_TYPE or not names:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        try:
            return decode_subscription(bytes(request.protocols[0].metadata))
        except ProtocolError as error:
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Malformed embedded consumer protocol: {error}"
            ) from error

    def _find(
        self, group: ConsumerGroup, member_id: str, request: JoinGroupRequest, new: bool, emitter: Emitter
    ) -> ConsumerMember:
        """The member as it was: known, new, or the next incarnation of a static one (KIP-345), whose place it takes at
        once.
        """
        if request.group_instance_id is None:
            return group.members.get(member_id) or ConsumerMember(member_id)
        present = group.static_member(request.group_instance_id)
        if new:
            if present is None:
                return ConsumerMember(member_id)
            self._sessions.cancel(group.group_id, present.member_id)
            return self._update.replace_member(group, present, member_id, emitter)
        return self._member(group, member_id, request.group_instance_id)

    # -- sync, heartbeat, leave ------------------------------------------------------------------------------------

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest) -> Result:
        """What the last join has brought. If the group has moved on since, joining again saves the client a round of
        work on partitions that it would lose.
        """
        member = self._classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
        assert member.classic is not None
        type_differs = request.protocol_type is not None and request.protocol_type != CONSUMER_PROTOCOL_TYPE
        names = {entry.name for entry in member.classic.protocols}
        name_differs = request.protocol_name is not None and request.protocol_name not in names
        if type_differs or name_differs:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._sessions.expect_join(group, member)
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._sessions.synced(group, member)
        response = SyncGroupResponse(
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=request.protocol_name or member.classic.protocols[0].name,
            assignment=self._migration.classic_assignment(member.assigned, member.classic_version),
        )
        return Result(response=response)

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest) -> Result:
        """Is there a reason to join again? There is if a newer target is out, if the member has to give back something,
        or if something that it waits for has become free. Merely waiting for others is no reason.
        """
        member = self._classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
        self._sessions.keep_alive(group, member)
        error = ErrorCode.NONE
        if (
            member.epoch < group.target_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (member.state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(group, member))
        ):
            error = ErrorCode.REBALANCE_IN_PROGRESS
            self._sessions.expect_join(group, member)
        return Result(response=HeartbeatResponse(error_code=error))

    def leave(self, group: ConsumerGroup, request: LeaveGroupRequest) -> Result:
        """As in a classic group: several at once, by member id or by instance id alone; members of the new protocol,
        too.
        """
        answers = []
        gone: dict[str, ConsumerMember] = {}
        for entry in request.members:
            error = ErrorCode.NONE
            try:
                if entry.group_instance_id is not None and not entry.member_id:
                    member = group.static_member(entry.group_instance_id)
                    if member is None:
                        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
                else:
                    member = self._member(group, entry.member_id, entry.group_instance_id)
                gone[member.member_id] = member
            except KafkaError as failure:
                error = failure.code
            answers.append(
                LeaveGroupResponse.MemberResponse(
                    member_id=entry.member_id, group_instance_id=entry.group_instance_id, error_code=error
                )
            )
        emitter = Emitter(self._state, group.group_id)

        def fence() -> Result:
            if gone:
                self._sessions.fence(group, gone.values(), emitter)
            return emitter.result(LeaveGroupResponse(members=answers))

        return emitter.guard(fence)

    # -- members ---------------------------------------------------------------------------------------------------

    @staticmethod
    def _member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
        """The member, checked against its instance id: another incarnation of it is fenced."""
        if instance_id is None:
            return group.member(member_id)
        member = group.static_member(instance_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if member.member_id != member_id:
            raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        return member

    def _classic_member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
    ) -> ConsumerMember:
        """A member that may send this request: one of the classic protocol, at the generation that is its epoch."""
        member = self._member(group, member_id, instance_id)
        if not member.uses_classic:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, "The member does not use the classic protocol.")
        if member.epoch != generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        return member


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether something of the member's target still belongs to somebody else. Only then is it of no use to join again:
    there would be nothing new to get.
    """
    for topic_id, partitions in group.target_of(member.member_id).items():
        for partition in partitions - member.assigned.get(topic_id, frozenset()):
            if group.owner(topic_id, partition) not in (None, member.member_id):
                return True
    return False
