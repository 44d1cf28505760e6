"""OffsetDelete, version 0 (KIP-496): forget what a group has committed for some partitions.

Refused with GROUP_SUBSCRIBED_TO_TOPIC for topics that a member of the group reads, partition by partition; an error of
the group itself (GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP for one that is no consumer group) is that of the whole answer.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.known_topics import add_failures, split_known
from tidelog.broker.handlers.groups.membership import require_group
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import OffsetDeleteRequest, OffsetDeleteResponse


async def handle(services: GroupServices, ctx: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """Delete what the coordinator lets go of; partitions that do not exist are refused beside it."""
    known, unknown = split_known(services.metadata, request.topics)
    request.topics = known
    try:
        require_group(request.group_id)
        response: OffsetDeleteResponse = await services.coordinators().group.write(
            request.group_id, lambda machine: machine.delete_offsets(request)
        )
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    failures = [
        OffsetDeleteResponse.OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponse.OffsetDeleteResponsePartition(
                    partition_index=entry.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for entry in topic.partitions
            ],
        )
        for topic in unknown
    ]
    add_failures(response, failures)
    return response
