"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: the classic group protocol.

    join     a member says what it can do; answered when all have come or the rebalance time-out is over
    sync     the leader of the group sends the assignment, the others wait for it
    beat     says that a member lives, and learns of a rebalance (REBALANCE_IN_PROGRESS): then it joins again
    leave    gives up its place at once instead of after the session time-out

Every error is the coordinator's; here it is put where the version has room for it. COORDINATOR_NOT_AVAILABLE and
NOT_COORDINATOR send a client back to FindCoordinator, UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION make it join anew, and
FENCED_INSTANCE_ID ends it: another process has its `group.instance.id` (KIP-345).
"""

from __future__ import annotations

from tidelog.broker.coordinator.result import Caller
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

#: JoinGroup's first version in which a protocol name may be null.
NULLABLE_PROTOCOL_VERSION = 7
#: SyncGroup's first version that must name the protocol.
NAMED_PROTOCOL_VERSION = 5
#: LeaveGroup's first version with a list of members.
BATCH_VERSION = 3


def caller(ctx: RequestContext) -> Caller:
    """Who asks, as a group shows its members: hosts are written as Kafka writes them, with a leading slash."""
    return Caller(ctx.client_id, f"/{ctx.client_host}", ctx.header.api_version)


def require_group(group_id: str) -> None:
    """An empty group id names no group. Only offsets may be kept under it, for the sake of old consumers."""
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)


async def join(services: GroupServices, ctx: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse:
    """JoinGroup, versions 0 to 9. A new member without an id is given one and, from version 4 on, sent back with it
    (MEMBER_ID_REQUIRED, KIP-394), so that a client that never hears the answer leaves no ghost in the group.

    The answer of a group that is full names no member: whoever reads an id there would join with it again. A protocol
    that was not agreed on is null, or an empty string before version 7.
    """
    who = caller(ctx)
    try:
        require_group(request.group_id)
        response: JoinGroupResponse = await services.coordinators().group.request(
            request.group_id, lambda machine, reply: machine.join(request, who, reply)
        )
    except KafkaError as error:
        full = error.code is ErrorCode.GROUP_MAX_SIZE_REACHED
        response = JoinGroupResponse(
            member_id="" if full else request.member_id, error_code=error.code, protocol_name=None
        )
    if response.error_code or not response.protocol_name:
        response.protocol_name = None
    if response.protocol_name is None and ctx.header.api_version < NULLABLE_PROTOCOL_VERSION:
        response.protocol_name = ""
    return response


async def sync(services: GroupServices, ctx: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse:
    """SyncGroup, versions 0 to 5. From version 5 on it repeats type and name of the protocol (KIP-559): a member that
    means another one than the group has agreed on is INCONSISTENT_GROUP_PROTOCOL, and so is one that leaves them out.
    """
    try:
        unnamed = request.protocol_type is None or request.protocol_name is None
        if ctx.header.api_version >= NAMED_PROTOCOL_VERSION and unnamed:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        require_group(request.group_id)
        response: SyncGroupResponse = await services.coordinators().group.request(
            request.group_id, lambda machine, reply: machine.sync(request, reply)
        )
        return response
    except KafkaError as error:
        return SyncGroupResponse(error_code=error.code)


async def heartbeat(services: GroupServices, ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    """Heartbeat, versions 0 to 4. Most are answered from the frame's bytes (`_heartbeat.pyx`)."""
    try:
        require_group(request.group_id)
        response: HeartbeatResponse = await services.coordinators().group.write(
            request.group_id, lambda machine: machine.heartbeat(request)
        )
        return response
    except KafkaError as error:
        # While a coordinator loads, a member is as alive as it was: it need not look for another one.
        loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return HeartbeatResponse(error_code=ErrorCode.NONE if loading else error.code)


async def leave(services: GroupServices, ctx: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """LeaveGroup, versions 0 to 5. From version 3 on it names many members (KIP-345), by member id or instance id, so
    that a tool can remove static members; each has a code of its own. Before that the answer is the one member's code.
    """
    batch = ctx.header.api_version >= BATCH_VERSION
    if not batch:
        request.members = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]
    try:
        require_group(request.group_id)
        response: LeaveGroupResponse = await services.coordinators().group.write(
            request.group_id, lambda machine: machine.leave(request)
        )
    except KafkaError as error:
        if error.code is not ErrorCode.UNKNOWN_MEMBER_ID or not batch:
            return LeaveGroupResponse(error_code=error.code)
        response = LeaveGroupResponse(
            members=[
                LeaveGroupResponse.MemberResponse(
                    member_id=entry.member_id, group_instance_id=entry.group_instance_id, error_code=error.code
                )
                for entry in request.members
            ]
        )
    if not batch:
        return LeaveGroupResponse(error_code=response.members[0].error_code)
    return response
