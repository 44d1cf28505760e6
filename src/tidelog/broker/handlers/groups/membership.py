"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: the classic group protocol."""

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
    """Who asks; hosts are written as Kafka writes them, with a leading slash."""
    return Caller(ctx.client_id, f"/{ctx.client_host}", ctx.header.api_version)


def require_group(group_id: str) -> None:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)


async def join(services: GroupServices, ctx: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse:
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
