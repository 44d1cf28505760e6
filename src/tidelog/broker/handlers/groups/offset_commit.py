"""OffsetCommit, versions 0 to 10: how far a group has read.

The coordinator writes the offsets to __consumer_offsets, and they count when that write is committed: the answer waits
for it. A member commits with its generation (classic) or member epoch (KIP-848) and is refused with an older one; a
group without members takes commits of anybody (generation -1). Version 0 belongs to the days before __consumer_offsets:
those offsets live in the store (`store_offsets`). Versions 2 to 4 could say how long the offset is to be kept; since
version 5 the broker's retention alone holds (KIP-211). From version 10 on topics go by id.

The common kind of commit is served from the frame's bytes (`_offset_commit.pyx`) under the same rules.
"""

from __future__ import annotations

from typing import Any

from tidelog.broker.coordinator.group.offsets.commits import commit_error, failed_commit
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.known_topics import add_failures, known_topics
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.broker.handlers.groups.store_offsets import commit_to_store
from tidelog.common.errors import KafkaError
from tidelog.protocol.messages import OffsetCommitRequest, OffsetCommitResponse


async def handle(services: GroupServices, ctx: RequestContext, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Commit what can be committed; partitions that do not exist are refused beside it."""
    version = ctx.header.api_version
    known, unknown = known_topics(services.metadata, request.topics, version)
    if version == 0:
        response = await commit_to_store(services, request.group_id, known)
    else:
        response = await _commit(services, request, known, version)
    for topic, code in unknown:
        add_failures(response, failed_commit([topic], code).topics)
    return response


async def _commit(
    services: GroupServices, request: OffsetCommitRequest, topics: list[Any], version: int
) -> OffsetCommitResponse:
    """The coordinator's part. An error of the group (who commits, or where it is) is that of every partition."""
    if not topics:
        return OffsetCommitResponse()
    request.topics = topics
    try:
        response: OffsetCommitResponse = await services.coordinators().group.write(
            request.group_id, lambda machine: machine.commit(request, version)
        )
        return response
    except KafkaError as error:
        return failed_commit(topics, commit_error(error.code))
