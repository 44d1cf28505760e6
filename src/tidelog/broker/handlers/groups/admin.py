"""ListGroups (versions 0 to 5), DescribeGroups (0 to 6), DeleteGroups (0 to 2): groups as an administrator sees them.

A broker lists the groups that it coordinates: a client asks all brokers and puts the answers together. Version 4
filters by state (KIP-518), version 5 by type (KIP-848). DescribeGroups is the classic protocol's; a group that does not
exist is described as dead, and from version 6 on GROUP_ID_NOT_FOUND (KIP-1043). Only a group without members can be
deleted (NON_EMPTY_GROUP otherwise), and its offsets go with it.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.broker.handlers.operations import GROUP_OPERATIONS
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)

Described = DescribeGroupsResponse.DescribedGroup


async def list_groups(services: GroupServices, ctx: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """The groups of all shards that are here. While one loads the list would be wrong: COORDINATOR_LOAD_IN_PROGRESS,
    and the client asks again.
    """
    service = services.coordinators().group
    if service.runtime.loading:
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    groups = []
    for shard in service.runtime.active_shards():
        groups += shard.machine.list(request.states_filter, request.types_filter)
    return ListGroupsResponse(groups=groups)


async def describe(
    services: GroupServices, ctx: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    """Group by group; one that fails has its error, the others their description."""
    version = ctx.header.api_version
    groups = []
    for group_id in request.groups:
        described = await _describe(services, group_id, version)
        if request.include_authorized_operations and not described.error_code:
            described.authorized_operations = GROUP_OPERATIONS
        groups.append(described)
    return DescribeGroupsResponse(groups=groups)


async def _describe(services: GroupServices, group_id: str, version: int) -> Described:
    try:
        described: Described = await services.coordinators().group.read(
            group_id, lambda machine: machine.describe(group_id, version)
        )
        return described
    except KafkaError as error:
        return Described(group_id=group_id, error_code=error.code)


async def delete(services: GroupServices, ctx: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Each group once, however often it is named."""
    results = []
    for group_id in dict.fromkeys(request.groups_names):
        code = ErrorCode.NONE
        try:
            await _delete(services, group_id)
        except KafkaError as error:
            code = error.code
        results.append(DeleteGroupsResponse.DeletableGroupResult(group_id=group_id, error_code=code))
    return DeleteGroupsResponse(results=results)


async def _delete(services: GroupServices, group_id: str) -> None:
    await services.coordinators().group.write(group_id, lambda machine: machine.delete_group(group_id))
