"""OffsetCommit and OffsetFetch version 0: offsets in the store's tree, as consumers of 0.8 kept them in ZooKeeper.

    /consumers/<group>/offsets/<topic>/<partition>      the offset, in digits

Kafka kept this until it lost ZooKeeper. There is no coordinator, no member and no generation: whoever commits last has
committed. Such offsets and those of __consumer_offsets know nothing of each other: a consumer that is updated starts
with the latter and finds nothing there, unless it commits to both for a while (`dual.commit.enabled`, as it was
called).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.broker import config as keys
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.broker.store import paths
from tidelog.broker.store.api import Create, Operation, SetData, Store
from tidelog.broker.store.errors import NoNodeError
from tidelog.broker.store.tree import ancestors
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse

CommitAnswer = OffsetCommitResponse.OffsetCommitResponseTopic
FetchAnswer = OffsetFetchResponse.OffsetFetchResponseTopic


async def commit_to_store(services: GroupServices, group: str, topics: list[Any]) -> OffsetCommitResponse:
    """All offsets of the request in one step: a client that leaves has committed them all, or none."""
    answers: dict[str, CommitAnswer] = {}
    accepted: dict[str, bytes] = {}
    for topic in topics:
        answer = answers.setdefault(topic.name, CommitAnswer(name=topic.name, partitions=[]))
        for entry in topic.partitions:
            code = _refusal(services, group, topic.name, entry)
            if not code:
                path = paths.consumer_offset(group, topic.name, entry.partition_index)
                accepted[path] = str(entry.committed_offset).encode()
            answer.partitions.append(
                OffsetCommitResponse.OffsetCommitResponsePartition(
                    partition_index=entry.partition_index, error_code=code
                )
            )
    if accepted:
        await services.changes.run(f"offsets of {group}", lambda: _put(services.store, accepted))
    return OffsetCommitResponse(topics=list(answers.values()))


def _refusal(services: GroupServices, group: str, topic: str, entry: Any) -> ErrorCode:
    """Why an offset cannot be kept. A group whose name is no part of a path is an UNKNOWN_SERVER_ERROR, as with Kafka
    on ZooKeeper.
    """
    if services.metadata.partition(TopicPartition(topic, entry.partition_index)) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if len(entry.committed_metadata or "") > services.config[keys.OFFSET_METADATA_MAX_BYTES]:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE if paths.is_part(group) else ErrorCode.UNKNOWN_SERVER_ERROR


async def _put(store: Store, nodes: Mapping[str, bytes]) -> None:
    """Set the nodes, made with their parents where they are not there yet: one step of the store."""
    parents = dict.fromkeys(parent for path in nodes for parent in ancestors(path))
    wanted = [*parents, *nodes]
    found = dict(zip(wanted, await store.get_many(wanted), strict=True))
    operations: list[Operation] = [Create(path) for path in parents if found[path] is None]
    for path, data in nodes.items():
        there = found[path]
        operations.append(Create(path, data) if there is None else SetData(path, data, there[1].version))
    await store.multi(operations)


async def fetch_from_store(services: GroupServices, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """Partition by partition, each once. In this version a partition without an offset is UNKNOWN_TOPIC_OR_PARTITION,
    as if it did not exist: there was no other way to say so.
    """
    asked = dict.fromkeys(
        TopicPartition(topic.name, index) for topic in request.topics or () for index in topic.partition_indexes
    )
    topics: dict[str, FetchAnswer] = {}
    for tp in asked:
        answer = topics.setdefault(tp.topic, FetchAnswer(name=tp.topic, partitions=[]))
        answer.partitions.append(await _fetch(services, request.group_id, tp))
    return OffsetFetchResponse(topics=list(topics.values()))


async def _fetch(
    services: GroupServices, group: str, tp: TopicPartition
) -> OffsetFetchResponse.OffsetFetchResponsePartition:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    offset: int | None = None
    if services.metadata.partition(tp) is not None:
        if paths.is_part(group):
            offset = await _get(services, paths.consumer_offset(group, tp.topic, tp.partition))
        else:
            code = ErrorCode.UNKNOWN_SERVER_ERROR
    return OffsetFetchResponse.OffsetFetchResponsePartition(
        partition_index=tp.partition,
        committed_offset=-1 if offset is None else offset,
        metadata="",
        error_code=code if offset is None else ErrorCode.NONE,
    )


async def _get(services: GroupServices, path: str) -> int | None:
    """The offset in a node, None if there is none or it is no number: old tools wrote here, too."""
    try:
        data, _ = await services.store.get(path)
    except NoNodeError:
        return None
    return int(data) if data.lstrip(b"-").isdigit() else None
