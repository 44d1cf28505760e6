"""How a classic group gets from one generation to the next: the join phase, its time-outs, and the sync phase's.

    prepare ─▶ members join (or time out) ─▶ complete_join ─▶ members sync (or time out) ─▶ set_assignments

Timers, all named by the group: ("join", group) ends the join phase, ("sync", group) removes those who did not sync (a
leader that never does would keep the others waiting for ever), ("heartbeat", group, member) removes a silent member.

Members learn of a rebalance by the answer to their next heartbeat (REBALANCE_IN_PROGRESS), so it takes a heartbeat
interval until all of them have come.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.group import NO_GENERATION, ClassicGroup
from tidelog.broker.coordinator.group.classic.member import ClassicMember
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.timers import Timers
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode
from tidelog.protocol.messages import JoinGroupResponse, SyncGroupResponse

logger = logging.getLogger(__name__)

#: So many milliseconds longer the first join phase of a group lasts while ids are out that nobody has joined with yet.
PATIENCE = 5


class ClassicRebalance:
    """The steps that joins, leaves and time-outs share."""

    def __init__(self, timers: Timers, clock: Clock, config: GroupConfig) -> None:
        self.timers = timers
        self.clock = clock
        self.config = config

    # -- the join phase --------------------------------------------------------------------------------------------

    def prepare_or_complete(self, group: ClassicGroup, reason: str) -> Result | None:
        """Start a rebalance if the state allows one; in the join phase, see whether it is over."""
        if group.can_rebalance:
            return self.prepare(group, reason)
        return self.complete_if_all_joined(group)

    def prepare(self, group: ClassicGroup, reason: str) -> Result | None:
        """Open the join phase. Whoever waits for an assignment of the generation that ends is sent to join again.

        An empty group waits `group.initial.rebalance.delay.ms` for company (KIP-134), since its first members usually
        start together; any other group waits for those that it knows, up to their rebalance time-out.
        """
        if group.is_in(ClassicState.COMPLETING_REBALANCE):
            self.fail_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS)
        self.timers.cancel(("sync", group.group_id))
        initial = group.is_in(ClassicState.EMPTY)
        group.transition(ClassicState.PREPARING_REBALANCE, self.clock.time_ms())
        logger.info("group %s: rebalance of generation %d: %s", group.group_id, group.generation, reason)
        if initial:
            delay = self.config.initial_rebalance_delay_ms
            remaining = max(group.rebalance_timeout_ms - delay, 0)
            group.new_member_added = False
            self._schedule_initial(group, delay, remaining)
            return None
        if group.all_joined:
            return self.complete_join(group)
        self._schedule_join(group, group.rebalance_timeout_ms)
        return None

    def _schedule_join(self, group: ClassicGroup, delay_ms: int) -> None:
        """The join phase ends when its time has passed, with whoever has come by then."""
        self.timers.set(("join", group.group_id), delay_ms, lambda: self.complete_join(group))

    def _schedule_initial(
        self, group: ClassicGroup, delay_ms: int, remaining_ms: int, patience: int = PATIENCE
    ) -> None:
        """An empty group waits for company; each arrival extends the wait, up to the rebalance time-out.

        Whoever was just given its id (KIP-394) is about to join: a few milliseconds for it save everybody a rebalance.
        """

        def expired() -> Result | None:
            if group.new_member_added and remaining_ms > 0:
                group.new_member_added = False
                again = min(self.config.initial_rebalance_delay_ms, remaining_ms)
                self._schedule_initial(group, again, max(remaining_ms - again, 0))
                return None
            if group.pending_join and patience:
                self._schedule_initial(group, 1, remaining_ms, patience - 1)
                return None
            return self.complete_join(group)

        self.timers.set(("join", group.group_id), delay_ms, expired)

    def complete_if_all_joined(self, group: ClassicGroup) -> Result | None:
        """See whether nobody is missing any more. The first join phase of a group is not ended early: more may come."""
        initial = group.previous_state is ClassicState.EMPTY
        if group.is_in(ClassicState.PREPARING_REBALANCE) and group.all_joined and not initial:
            return self.complete_join(group)
        if group.is_in(ClassicState.PREPARING_REBALANCE) and not group.members and not group.pending_join:
            return self.complete_join(group)
        return None

    def complete_join(self, group: ClassicGroup) -> Result | None:
        """The join phase is over: drop who did not come back, and tell the others their generation.

        Static members are not dropped: only their session time-out removes them. If nobody at all has joined but they
        have places, the group waits for them once more.
        """
        self.timers.cancel(("join", group.group_id))
        if not group.is_in(ClassicState.PREPARING_REBALANCE):
            return None
        for member in [m for m in group.members.values() if m.awaiting_join is None and not m.is_static]:
            self.forget(group, member.member_id)
            logger.info("group %s: %s did not join again", group.group_id, member.member_id)
        if group.members and not group.elect_joined_leader():
            # Static members keep their place although none is back yet: wait for them once more.
            self._schedule_join(group, group.rebalance_timeout_ms)
            return None
        group.next_generation(self.clock.time_ms())
        if group.is_in(ClassicState.EMPTY):
            return Result([group.record({})], replay=False)
        self._schedule_sync(group)
        for member in list(group.members.values()):
            group.pending_sync.add(member.member_id)
            if group.answer_join(member, self.join_response(group, member)):
                self.keep_alive(group, member)
            member.is_new = False
        return None

    def join_response(
        self, group: ClassicGroup, member: ClassicMember, *, skip_assignment: bool = False
    ) -> JoinGroupResponse:
        """What a member is told about the current generation; the leader also gets everybody's subscription."""
        members = []
        if member.member_id == group.leader:
            members = [
                JoinGroupResponse.JoinGroupResponseMember(
                    member_id=other.member_id,
                    group_instance_id=other.group_instance_id,
                    metadata=other.metadata(group.protocol_name),
                )
                for other in group.members.values()
            ]
        return JoinGroupResponse(
            generation_id=group.generation,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=group.leader or "",
            skip_assignment=skip_assignment,
            member_id=member.member_id,
            members=members,
        )

    # -- the sync phase --------------------------------------------------------------------------------------------

    def _schedule_sync(self, group: ClassicGroup) -> None:
        """From here on the members have as long as for joining to come for their assignments."""
        generation = group.generation
        self.timers.set(
            ("sync", group.group_id), group.rebalance_timeout_ms, lambda: self._sync_expired(group, generation)
        )

    def _sync_expired(self, group: ClassicGroup, generation: int) -> Result | None:
        """Who did not sync in time is out, and the others rebalance without it. The leader may be among them: then
        nobody has an assignment, and the next generation elects another.
        """
        if generation != group.generation or not group.pending_sync:
            return None
        if not group.is_in(ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
            return None
        late = sorted(group.pending_sync)
        for member_id in late:
            self.forget(group, member_id)
        return self.prepare_or_complete(group, f"{len(late)} member(s) did not sync in time")

    def set_assignments(self, group: ClassicGroup, assignments: Mapping[str, bytes]) -> None:
        """The leader's assignment is committed: the group is stable, everybody who waits gets their part."""
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        group.transition(ClassicState.STABLE, self.clock.time_ms())
        for member in group.members.values():
            response = SyncGroupResponse(
                protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
            )
            self.answer_sync(group, member, response)

    def fail_assignments(self, group: ClassicGroup, error: ErrorCode) -> None:
        """The generation ends without an assignment: what members had before is void, who waits is told why."""
        for member in group.members.values():
            member.assignment = b""
            self.answer_sync(group, member, SyncGroupResponse(error_code=error))

    def answer_sync(self, group: ClassicGroup, member: ClassicMember, response: SyncGroupResponse) -> None:
        """Give a member its answer; its session, which did not run while it waited, starts."""
        if group.answer_sync(member, response):
            self.keep_alive(group, member)

    # -- membership ------------------------------------------------------------------------------------------------

    def keep_alive(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None) -> None:
        """Push the member's session time-out forward."""
        member_id = member.member_id
        delay = member.session_timeout_ms if timeout_ms is None else timeout_ms
        self.timers.set(
            ("heartbeat", group.group_id, member_id), delay, lambda: self._heartbeat_expired(group, member_id)
        )

    def _heartbeat_expired(self, group: ClassicGroup, member_id: str) -> Result | None:
        """A session is over. Its owner may have become a member, left, or wait for an answer of ours since the timer
        was set.
        """
        if group.is_in(ClassicState.DEAD):
            return None
        if member_id in group.pending_join:
            return self.remove_pending(group, member_id)
        member = group.members.get(member_id)
        if member is None:
            return None
        if not member.is_new and (member.awaiting_join is not None or member.awaiting_sync is not None):
            return None  # it waits for us, not we for it; the answer starts its session anew
        return self.remove(group, member, "its session timed out")

    def add_pending(self, group: ClassicGroup, member_id: str, session_timeout_ms: int) -> None:
        """Remember an id that was handed out; it must be used within a session time-out."""
        group.pending_join.add(member_id)
        key = ("heartbeat", group.group_id, member_id)
        self.timers.set(key, session_timeout_ms, lambda: self._heartbeat_expired(group, member_id))

    def remove_pending(self, group: ClassicGroup, member_id: str) -> Result | None:
        """An id that was handed out was not used: if only that was waited for, the join phase is over."""
        self.forget(group, member_id)
        return self.complete_if_all_joined(group)

    def remove(self, group: ClassicGroup, member: ClassicMember, reason: str) -> Result | None:
        """Take a member out; whoever is left rebalances."""
        self.expel(group, member)
        if group.is_in(ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE, ClassicState.PREPARING_REBALANCE):
            return self.prepare_or_complete(group, f"member {member.member_id} leaves: {reason}")
        return None

    def expel(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Take a member out and tell it, if it waits for an answer; no rebalance yet."""
        gone = JoinGroupResponse(
            member_id=member.member_id, error_code=ErrorCode.UNKNOWN_MEMBER_ID, generation_id=NO_GENERATION
        )
        group.answer_join(member, gone)
        group.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        self.forget(group, member.member_id)

    def forget(self, group: ClassicGroup, member_id: str) -> None:
        """Take it out of the group and stop watching it, without a word to anybody."""
        group.remove(member_id)
        self.timers.cancel(("heartbeat", group.group_id, member_id))

    def drop(self, group: ClassicGroup) -> None:
        """Cancel all timers of a group that is deleted or unloaded."""
        self.timers.cancel(("join", group.group_id))
        self.timers.cancel(("sync", group.group_id))
        for member_id in [*group.members, *group.pending_join]:
            self.timers.cancel(("heartbeat", group.group_id, member_id))

    def unload(self, group: ClassicGroup, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """The shard goes away: everybody who waits is sent to look for the new coordinator."""
        for member in group.members.values():
            group.answer_join(
                member,
                JoinGroupResponse(member_id=member.member_id, error_code=error, generation_id=NO_GENERATION),
            )
            group.answer_sync(member, SyncGroupResponse(error_code=error))

    def revive(self, group: ClassicGroup) -> None:
        """A group that was dropped is back, in the state that it was in: start its timers anew. An id that was handed
        out gets the time of a new member: what its owner had asked for is not known until it joins.
        """
        for member in group.members.values():
            self.keep_alive(group, member)
        for member_id in list(group.pending_join):
            self.add_pending(group, member_id, self.config.new_member_join_timeout_ms)
        if group.is_in(ClassicState.PREPARING_REBALANCE):
            self._schedule_join(group, group.rebalance_timeout_ms)
        elif group.is_in(ClassicState.COMPLETING_REBALANCE):
            self._schedule_sync(group)

    def resume(self, group: ClassicGroup) -> Result | None:
        """After a load: sessions start anew; a group beyond the size limit rebalances."""
        for member in list(group.members.values()):
            self.keep_alive(group, member)
        if len(group.members) > self.config.max_size:
            return self.prepare(group, "more members than group.max.size allows")
        return None
