"""OffsetFetch, versions 0 to 10: how far groups have read.

A partition without a committed offset is no error: -1 stands for it. `require_stable` (version 7, KIP-447) refuses
offsets of partitions with an open transaction (UNSTABLE_OFFSET_COMMIT), so that who takes over from a producer does not
read what is about to change. Null topics mean all that are committed (version 2). What versions changed: 0 reads the
store's tree, 2 has an error of the whole answer, 8 asks for several groups (KIP-709), each with an error of its own,
10 names topics by id.

The common kind is served from the frame's bytes (`_offset_fetch.pyx`) under the same rules.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.broker.handlers.groups.store_offsets import fetch_from_store
from tidelog.broker.handlers.groups.versions import OffsetFetch
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol.messages import OffsetFetchRequest, OffsetFetchResponse

Group = OffsetFetchRequest.OffsetFetchRequestGroup
GroupAnswer = OffsetFetchResponse.OffsetFetchResponseGroup
Topic = OffsetFetchRequest.OffsetFetchRequestTopics
# The one list of topics that answers had before version 8.
TopicAnswer = OffsetFetchResponse.OffsetFetchResponseTopic
PartitionAnswer = OffsetFetchResponse.OffsetFetchResponsePartition


async def handle(services: GroupServices, ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """The offsets of each group, one group after the other; one that fails does not hold back the others.

    By ids (version 10): a topic that nobody knows is UNKNOWN_TOPIC_ID in each of its partitions, whatever was committed
    under its name: the name may belong to another topic by now.
    """
    version = ctx.header.api_version
    if version == 0:
        return await fetch_from_store(services, request)
    if version < OffsetFetch.GROUPS:
        return await _fetch_one_group(services, request, version)
    groups = []
    for group in request.groups:
        missing = _resolve_ids(services, group) if version >= OffsetFetch.TOPIC_IDS else []
        if missing and not group.topics:
            answer = GroupAnswer(group_id=group.group_id)  # nothing that a coordinator could know
        else:
            answer = await _fetch_group(services, group, request.require_stable)
        if version >= OffsetFetch.TOPIC_IDS and not answer.error_code:
            _answer_ids(services, answer, missing)
        groups.append(answer)
    return OffsetFetchResponse(groups=groups)


async def _fetch_group(services: GroupServices, group: Group, require_stable: bool) -> GroupAnswer:
    """A group that does not exist has committed nothing, which is no error."""
    try:
        answer: GroupAnswer = await services.coordinators().group.read(
            group.group_id, lambda machine: machine.fetch(group, require_stable)
        )
        return answer
    except KafkaError as error:
        return GroupAnswer(group_id=group.group_id, error_code=error.code)


async def _fetch_one_group(services: GroupServices, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
    """Before version 8 a request had one group, and its answer one list of topics: the same, put into that form."""
    topics = None
    if request.topics is not None:
        topics = [Topic(name=topic.name, partition_indexes=topic.partition_indexes) for topic in request.topics]
    group = Group(group_id=request.group_id, topics=topics)
    answer = await _fetch_group(services, group, request.require_stable)
    if answer.error_code:
        return _failed_fetch(topics or [], ErrorCode(answer.error_code), version)
    return OffsetFetchResponse(
        topics=[
            TopicAnswer(name=topic.name, partitions=[_in_older_form(entry) for entry in topic.partitions])
            for topic in answer.topics
        ]
    )


def _in_older_form(entry: OffsetFetchResponse.OffsetFetchResponsePartitions) -> PartitionAnswer:
    """A partition's offset, as it was written before version 8."""
    return PartitionAnswer(
        partition_index=entry.partition_index,
        committed_offset=entry.committed_offset,
        committed_leader_epoch=entry.committed_leader_epoch,
        metadata=entry.metadata,
        error_code=entry.error_code,
    )


def _failed_fetch(topics: list[Topic], code: ErrorCode, version: int) -> OffsetFetchResponse:
    """Before version 2 an error of the group stood in each of its partitions."""
    if version >= OffsetFetch.GROUP_ERROR:
        return OffsetFetchResponse(error_code=code)

    def failed(index: int) -> PartitionAnswer:
        return PartitionAnswer(partition_index=index, committed_offset=-1, metadata="", error_code=code)

    return OffsetFetchResponse(
        topics=[
            TopicAnswer(name=topic.name, partitions=[failed(index) for index in topic.partition_indexes])
            for topic in topics
        ]
    )


def _resolve_ids(services: GroupServices, group: Group) -> list[Topic]:
    """Fill in the names of topics given by id; returns those that nobody knows, for `_answer_ids`. The coordinator
    keeps offsets by name.
    """
    if group.topics is None:
        return []
    for topic in group.topics:
        topic.name = services.metadata.topic_name(topic.topic_id) or ""
    missing = [topic for topic in group.topics if not topic.name]
    group.topics = [topic for topic in group.topics if topic.name]
    return missing


def _answer_ids(services: GroupServices, answer: GroupAnswer, missing: list[Topic]) -> None:
    """Topics go by id in this version: one that was deleted since has none, and is left out.

    What was committed under a name that now belongs to another topic was forgotten when the first was deleted, so that
    an id never shows offsets of its predecessor.
    """
    for topic in answer.topics:
        if topic.topic_id == ZERO_UUID:
            topic.topic_id = services.metadata.topic_id(topic.name)
    answer.topics = [topic for topic in answer.topics if topic.topic_id != ZERO_UUID]
    for unknown in missing:
        answer.topics.append(
            OffsetFetchResponse.OffsetFetchResponseTopics(
                topic_id=unknown.topic_id,
                partitions=[
                    OffsetFetchResponse.OffsetFetchResponsePartitions(
                        partition_index=index,
                        committed_offset=-1,
                        metadata="",
                        error_code=ErrorCode.UNKNOWN_TOPIC_ID,
                    )
                    for index in unknown.partition_indexes
                ],
            )
        )
