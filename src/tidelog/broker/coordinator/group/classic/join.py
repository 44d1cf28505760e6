"""JoinGroup to a classic group.

What a request means depends on who asks and on the group's state:

    no member id, dynamic    from version 4 on it is given an id first and must come again with it (KIP-394): a client
                             that gives up while it waits would otherwise leave a member behind with every attempt
    no member id, static     a new member, or the next incarnation of one that is known by its instance id (KIP-345)
    with a member id         known: it joins again, for the rebalance under way, or to start one

In a stable group only a leader that joins again, or a member whose protocols have changed, starts a rebalance; anybody
else has lost its answer, and gets it once more.
"""

from __future__ import annotations

from copy import copy

from tidelog.broker.coordinator.group.classic.group import NO_GENERATION, ClassicGroup, member_protocols
from tidelog.broker.coordinator.group.classic.member import ClassicMember
from tidelog.broker.coordinator.group.classic.rebalance import ClassicRebalance
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.result import Caller, Reply, Result
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng
from tidelog.common.types import MAX_INT16
from tidelog.protocol.messages import JoinGroupRequest, JoinGroupResponse

#: From this version on a new dynamic member is first given its id (KIP-394).
MEMBER_ID_REQUIRED_VERSION = 4
#: From this version on a leader can be told to leave the assignment as it is (KIP-814).
SKIP_ASSIGNMENT_VERSION = 9


class ClassicJoin:
    """One JoinGroup request becomes a change of the group and, at once or at the end of the join phase, one answer."""

    def __init__(self, rebalance: ClassicRebalance, rng: Rng) -> None:
        self._rebalance = rebalance
        self._rng = rng

    def join(self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, reply: Reply) -> Result | None:
        """Raises KafkaError for what is answered with an error and leaves the group as it was."""
        self._accept(group, request.member_id)
        if group.is_in(ClassicState.DEAD):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not group.supports(request.protocol_type, [entry.name for entry in request.protocols]):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id:
            return self._known_member(group, request, caller, reply)
        return self._new_member(group, request, caller, reply)

    def _accept(self, group: ClassicGroup, member_id: str) -> None:
        """`group.max.size`. Who is refused while it had a place (more members than the limit, after it was lowered)
        loses it.
        """
        limit = self._rebalance.config.max_size
        if group.is_in(ClassicState.PREPARING_REBALANCE):
            # Who waits already may stay; the others compete for what is left of the places.
            member = group.members.get(member_id)
            waits = member is not None and member.awaiting_join is not None
            full = not waits and group.awaiting_join >= limit
        elif group.is_in(ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
            full = member_id not in group.members and len(group.members) >= limit
        else:
            full = False
        if full:
            group.remove(member_id)
            self._rebalance.timers.cancel(("heartbeat", group.group_id, member_id))
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)

    # -- without a member id ---------------------------------------------------------------------------------------

    def _new_member(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, reply: Reply
    ) -> Result | None:
        prefix = caller.client_id if request.group_instance_id is None else request.group_instance_id
        member_id = f"{prefix}-{_uuid(self._rng)}"
        if len(member_id.encode()) > MAX_INT16:  # no answer could name it, of whichever member
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The client's name is too long to make a member id of it.")
        if request.group_instance_id is not None:
            if request.group_instance_id in group.static:
                return self._replace_static(group, request, caller, reply, member_id)
            return self._add(group, request, caller, reply, member_id)
        if caller.api_version >= MEMBER_ID_REQUIRED_VERSION:
            self._rebalance.add_pending(group, member_id, request.session_timeout_ms)
            reply(
                JoinGroupResponse(
                    member_id=member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED, generation_id=NO_GENERATION
                )
            )
            return None
        return self._add(group, request, caller, reply, member_id)

    def _add(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, reply: Reply, member_id: str
    ) -> Result | None:
        """A new member. Until it has its first answer it cannot send heartbeats, so it is watched by a time-out of five
        minutes instead of its session's.
        """
        member = ClassicMember(
            member_id,
            request.group_instance_id,
            caller.client_id,
            caller.client_host,
            _rebalance_timeout(request),
            request.session_timeout_ms,
            request.protocol_type,
            member_protocols(request.protocols),
            is_new=True,
        )
        if group.is_in(ClassicState.PREPARING_REBALANCE) and group.previous_state is ClassicState.EMPTY:
            group.new_member_added = True
        group.add(member, reply)
        self._rebalance.keep_alive(group, member, self._rebalance.config.new_member_join_timeout_ms)
        return self._rebalance.prepare_or_complete(group, f"member {member_id} joins")

    def _replace_static(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, reply: Reply, member_id: str
    ) -> Result | None:
        """A static member is back under a new id. A stable group whose protocol stays need not rebalance."""
        instance_id = request.group_instance_id
        assert instance_id is not None
        old_id, old_leader = group.static[instance_id], group.leader
        before = copy(group.members[old_id])
        member = group.replace_static(instance_id, member_id)
        self._rebalance.timers.cancel(("heartbeat", group.group_id, old_id))
        self._refresh(group, member, request, caller)
        self._rebalance.keep_alive(group, member)
        if not group.is_in(ClassicState.STABLE):
            return self._await(group, member, reply, f"static member {instance_id} joins under a new id")
        if group.select_protocol() != group.protocol_name:
            return self._await(group, member, reply, f"static member {instance_id} brings another protocol")
        skip = caller.api_version >= SKIP_ASSIGNMENT_VERSION
        response = self._rebalance.join_response(group, member, skip_assignment=skip and group.leader == member_id)
        if not skip:
            # Before KIP-814 the only way to keep the returning leader from assigning anew: name the old leader.
            response.leader = old_leader or ""
            response.members = []

        # The new incarnation is a member in memory already, and its record may be too large for any batch. Then the old
        # one is put back, with what it had said of itself: nobody else of the group has noticed anything.
        def refused(_: KafkaError) -> None:
            self._rebalance.timers.cancel(("heartbeat", group.group_id, member_id))
            group.replace_static(instance_id, old_id)
            group.update(member, before.protocols)
            member.client_id, member.client_host = before.client_id, before.client_host
            member.rebalance_timeout_ms = before.rebalance_timeout_ms
            member.session_timeout_ms = before.session_timeout_ms
            self._rebalance.keep_alive(group, member)

        return Result([group.record(group.current_assignments())], response, replay=False, undo=refused)

    # -- with a member id ------------------------------------------------------------------------------------------

    def _known_member(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, reply: Reply
    ) -> Result | None:
        """A member comes back by its id. UNKNOWN_MEMBER_ID sends it to join as a new one; a fenced instance must give
        up.
        """
        if request.member_id in group.pending_join:
            if request.group_instance_id is not None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, "a pending member cannot become a static one")
            return self._add(group, request, caller, reply, request.member_id)
        group.check_member(request.member_id, request.group_instance_id)
        member = group.members[request.member_id]
        same = member.matches(member_protocols(request.protocols))
        if group.is_in(ClassicState.PREPARING_REBALANCE):
            return self._rejoin(group, member, request, caller, reply, "joins again")
        if group.is_in(ClassicState.COMPLETING_REBALANCE):
            if not same:
                return self._rejoin(group, member, request, caller, reply, "changed its protocols")
            # The answer of this generation was lost on the way: give it again.
            reply(self._rebalance.join_response(group, member))
            return None
        if group.is_in(ClassicState.STABLE):
            if member.member_id == group.leader:
                return self._rejoin(
                    group, member, request, caller, reply, f"is the leader and joins again: {request.reason}"
                )
            if not same:
                return self._rejoin(group, member, request, caller, reply, "changed its protocols")
            reply(self._rebalance.join_response(group, member))
            return None
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    def _rejoin(
        self,
        group: ClassicGroup,
        member: ClassicMember,
        request: JoinGroupRequest,
        caller: Caller,
        reply: Reply,
        reason: str,
    ) -> Result | None:
        self._refresh(group, member, request, caller)
        return self._await(group, member, reply, f"member {member.member_id} {reason}")

    def _await(self, group: ClassicGroup, member: ClassicMember, reply: Reply, reason: str) -> Result | None:
        """The answer comes at the end of the join phase, which this request may be the one to end."""
        group.await_join(member, reply)
        return self._rebalance.prepare_or_complete(group, reason)

    @staticmethod
    def _refresh(group: ClassicGroup, member: ClassicMember, request: JoinGroupRequest, caller: Caller) -> None:
        """Take what the request says of its sender; time-outs may differ from those of the last generation."""
        group.update(member, member_protocols(request.protocols))
        member.client_id = caller.client_id
        member.client_host = caller.client_host
        member.rebalance_timeout_ms = _rebalance_timeout(request)
        member.session_timeout_ms = request.session_timeout_ms


def _rebalance_timeout(request: JoinGroupRequest) -> int:
    """Version 0 had no rebalance time-out of its own."""
    return request.session_timeout_ms if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms


def _uuid(rng: Rng) -> str:
    """A version 4 UUID in its dashed form, as Kafka's member ids end with."""
    raw = bytearray(rng.randbytes(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
