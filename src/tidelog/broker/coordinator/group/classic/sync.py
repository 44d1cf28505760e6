"""SyncGroup, Heartbeat and LeaveGroup to a classic group.

SyncGroup is how the leader delivers the assignment and everybody fetches their own part; a member whose answer was lost
may ask again as long as the generation lasts. Heartbeat keeps a session alive and brings the news of a rebalance.
LeaveGroup saves the others the wait for a session time-out; static members do not send it, so that they can come back,
and an administrator may send it for them (KIP-345).
"""

from __future__ import annotations

from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.rebalance import ClassicRebalance
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.result import Reply, Result
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)


class ClassicSync:
    """What members do after they have joined."""

    def __init__(self, rebalance: ClassicRebalance) -> None:
        self._rebalance = rebalance

    def sync(self, group: ClassicGroup, request: SyncGroupRequest, reply: Reply) -> Result | None:
        """Answered when the assignment is committed; at once in a stable group. While others still join, the member
        must join again itself: REBALANCE_IN_PROGRESS.
        """
        self._check_sync(group, request)
        member = group.members[request.member_id]
        if group.is_in(ClassicState.EMPTY):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if group.is_in(ClassicState.PREPARING_REBALANCE):
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            self._rebalance.timers.cancel(("sync", group.group_id))
        if group.is_in(ClassicState.STABLE):
            reply(
                SyncGroupResponse(
                    protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
                )
            )
            self._rebalance.keep_alive(group, member)
            return None
        group.await_sync(member, reply)
        if member.member_id != group.leader:
            return None
        return self._leader_assigns(group, request)

    def _leader_assigns(self, group: ClassicGroup, request: SyncGroupRequest) -> Result:
        """The leader's answer is written; members get their part when it is committed (unless all joined again)."""
        given = {entry.member_id: bytes(entry.assignment) for entry in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        generation = group.generation

        def committed() -> None:
            if group.is_in(ClassicState.COMPLETING_REBALANCE) and group.generation == generation:
                self._rebalance.set_assignments(group, assignments)

        def refused(error: KafkaError) -> Result | None:
            self._rebalance.fail_assignments(group, error.code)
            return self._rebalance.prepare_or_complete(group, f"the assignment cannot be written: {error.message}")

        return Result([group.record(assignments)], replay=False, on_commit=committed, undo=refused)

    def _check_sync(self, group: ClassicGroup, request: SyncGroupRequest) -> None:
        """Member, instance and generation as ever; from version 5 on (KIP-559) also that the client means the protocol
        that was chosen.
        """
        if group.is_in(ClassicState.DEAD):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        type_differs = request.protocol_type is not None and request.protocol_type != group.protocol_type
        name_differs = request.protocol_name is not None and request.protocol_name != group.protocol_name
        if type_differs or name_differs:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest) -> Result:
        """The answer is no more than an error code: REBALANCE_IN_PROGRESS asks a member that is alive to join again."""
        error = self.beat(group, request.member_id, request.group_instance_id, request.generation_id)
        return Result(response=HeartbeatResponse(error_code=error))

    def beat(self, group: ClassicGroup, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        """The member lives: is a rebalance under way? Raises KafkaError when it is not one of the group. In
        CompletingRebalance the answer is no: the member has joined, and will sync next.
        """
        if group.is_in(ClassicState.DEAD):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        group.check_member(member_id, instance_id)
        if generation != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        if group.is_in(ClassicState.EMPTY):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        self._rebalance.keep_alive(group, group.members[member_id])
        rebalancing = group.is_in(ClassicState.PREPARING_REBALANCE)
        return ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE

    def leave(self, group: ClassicGroup, request: LeaveGroupRequest) -> Result:
        """Version 3 and later name several members; the handler turns an older request into a list of one."""
        if group.is_in(ClassicState.DEAD):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        answers = []
        left = 0
        for entry in request.members:
            error = ErrorCode.NONE
            try:
                left += self._leave_one(group, entry.member_id, entry.group_instance_id)
            except KafkaError as failure:
                error = failure.code
            answers.append(
                LeaveGroupResponse.MemberResponse(
                    member_id=entry.member_id, group_instance_id=entry.group_instance_id, error_code=error
                )
            )
        result = None
        if left and not group.is_in(ClassicState.EMPTY, ClassicState.DEAD):
            result = self._rebalance.prepare_or_complete(group, f"{left} member(s) leave")
        result = result or Result()
        result.response = LeaveGroupResponse(members=answers)
        return result

    def _leave_one(self, group: ClassicGroup, member_id: str, instance_id: str | None) -> int:
        """Take one member out without rebalancing yet: a request may name a hundred, and they shall cost the group one
        rebalance.
        """
        if member_id in group.pending_join and instance_id is None:
            self._rebalance.forget(group, member_id)
            return 1
        if instance_id is not None and not member_id:  # an administrator knows only the instance id
            member_id = group.static.get(instance_id, "")
        group.check_member(member_id, instance_id)
        self._rebalance.expel(group, group.members[member_id])
        return 1
