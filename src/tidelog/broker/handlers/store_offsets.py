"""OffsetCommit and OffsetFetch version 0: offsets in the store's tree, as consumers of 0.8 kept them in ZooKeeper.

/consumers/<group>/offsets/<topic>/<partition>      the offset, in digits
"""

from __future__ import annotations

from typing import Any

from tidelog.broker import config as keys
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.store.errors import NodeExistsError, NoNodeError
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse

ROOT = "/consumers"


def offset_path(group: str, topic: str, partition: int) -> str:
    return f"{ROOT}/{group}/offsets/{topic}/{partition}"


async def commit_to_store(ctx: RequestContext, group: str, topics: list[Any]) -> OffsetCommitResponse:
    limit = ctx.broker.config[keys.OFFSET_METADATA_MAX_BYTES]
    answers = []
    for topic in topics:
        partitions = []
        for entry in topic.partitions:
            code = ErrorCode.NONE
            if ctx.broker.metadata.partition(TopicPartition(topic.name, entry.partition_index)) is None:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif len(entry.committed_metadata or "") > limit:
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                path = offset_path(group, topic.name, entry.partition_index)
                await _put(ctx, path, str(entry.committed_offset).encode())
            partitions.append(
                OffsetCommitResponse.OffsetCommitResponsePartition(
                    partition_index=entry.partition_index, error_code=code
                )
            )
        answers.append(OffsetCommitResponse.OffsetCommitResponseTopic(name=topic.name, partitions=partitions))
    return OffsetCommitResponse(topics=answers)


async def _put(ctx: RequestContext, path: str, data: bytes) -> None:
    """Set the node, made with its parents if it is not there yet."""
    store = ctx.broker.store
    try:
        await store.set(path, data)
        return
    except NoNodeError:
        parts = path.strip("/").split("/")
    for count in range(1, len(parts)):
        try:
            await store.create("/" + "/".join(parts[:count]))
        except NodeExistsError:
            continue
    try:
        await store.create(path, data)
    except NodeExistsError:
        await store.set(path, data)


async def fetch_from_store(ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    topics = []
    for topic in request.topics or ():
        partitions = []
        for index in topic.partition_indexes:
            offset = await _get(ctx, offset_path(request.group_id, topic.name, index))
            known = ctx.broker.metadata.partition(TopicPartition(topic.name, index)) is not None
            found = known and offset is not None
            partitions.append(
                OffsetFetchResponse.OffsetFetchResponsePartition(
                    partition_index=index,
                    committed_offset=offset if found and offset is not None else -1,
                    metadata="",
                    error_code=ErrorCode.NONE if found else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                )
            )
        topics.append(OffsetFetchResponse.OffsetFetchResponseTopic(name=topic.name, partitions=partitions))
    return OffsetFetchResponse(topics=topics)


async def _get(ctx: RequestContext, path: str) -> int | None:
    try:
        data, _ = await ctx.broker.store.get(path)
    except NoNodeError:
        return None
    return int(data) if data.lstrip(b"-").isdigit() else None
