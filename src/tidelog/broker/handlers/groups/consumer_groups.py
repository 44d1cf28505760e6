"""ConsumerGroupHeartbeat and ConsumerGroupDescribe, versions 0 and 1: the consumer group protocol of KIP-848.

There is no join and no sync: a member sends heartbeats with what has changed about it, and the broker computes the
assignment and tells each member its part, step by step, so that a partition is given away only after it was revoked.
Epoch 0 joins, -1 leaves, -2 leaves for a while (a static member); any other must be the member's own, else
FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID, and the member joins anew. Version 1 has subscriptions by regular expression.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.membership import caller
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.broker.handlers.operations import GROUP_OPERATIONS
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

Described = ConsumerGroupDescribeResponse.DescribedGroup


async def heartbeat(
    services: GroupServices, ctx: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """One beat: written to the group's shard, and answered once what it changed is committed."""
    who = caller(ctx)
    try:
        response: ConsumerGroupHeartbeatResponse = await services.coordinators().group.write(
            request.group_id, lambda machine: machine.consumer_heartbeat(request, who)
        )
        return response
    except KafkaError as error:
        return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)


async def describe(
    services: GroupServices, ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    """Groups of this protocol alone: a classic one is GROUP_ID_NOT_FOUND here, and described by DescribeGroups."""
    groups = []
    for group_id in request.group_ids:
        described = await _describe(services, group_id)
        if request.include_authorized_operations and not described.error_code:
            described.authorized_operations = GROUP_OPERATIONS
        groups.append(described)
    return ConsumerGroupDescribeResponse(groups=groups)


async def _describe(services: GroupServices, group_id: str) -> Described:
    """An empty id is INVALID_GROUP_ID, without words, as in Kafka."""
    if not group_id:
        return Described(error_code=ErrorCode.INVALID_GROUP_ID, error_message=None)
    try:
        described: Described = await services.coordinators().group.read(
            group_id, lambda machine: machine.describe_consumer(group_id)
        )
        return described
    except KafkaError as error:
        return Described(group_id=group_id, error_code=error.code, error_message=error.message)
