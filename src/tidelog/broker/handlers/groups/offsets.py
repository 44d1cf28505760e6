"""OffsetCommit, OffsetFetch, OffsetDelete, TxnOffsetCommit.

Topics that do not exist are answered here, partition by partition; the coordinator sees the rest. Version 0 of commit
and fetch belongs to the days before __consumer_offsets: those offsets live in the store (`store_offsets`).
"""

from __future__ import annotations

import copy
from typing import Any

from tidelog.broker.coordinator.group.offsets.commits import commit_error, failed_commit
from tidelog.broker.coordinator.transaction.coordinator import IMPLICIT_ADD_COMMIT_VERSION
from tidelog.broker.coordinator.transaction.machine import ProducerIdentity
from tidelog.broker.coordinator.transaction.metadata import EPOCH_BUMP_VERSION
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.membership import require_group
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.broker.handlers.groups.store_offsets import commit_to_store, fetch_from_store
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import GROUP_METADATA_TOPIC, TopicPartition
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

#: The first version of commit and fetch that names topics by id.
TOPIC_ID_VERSION = 10
#: OffsetFetch: the first versions with an error of the whole answer, and with several groups.
TOP_LEVEL_ERROR_VERSION = 2
BATCH_VERSION = 8
#: The first TxnOffsetCommit version that understands TRANSACTION_ABORTABLE.
_ABORTABLE_VERSION = 4

Group = OffsetFetchRequest.OffsetFetchRequestGroup
GroupAnswer = OffsetFetchResponse.OffsetFetchResponseGroup
Topic = OffsetFetchRequest.OffsetFetchRequestTopics


# -- commit --------------------------------------------------------------------------------------------------------


async def commit(services: GroupServices, ctx: RequestContext, request: OffsetCommitRequest) -> OffsetCommitResponse:
    version = ctx.header.api_version
    known, unknown = _known_topics(services, request.topics, version)
    if version == 0:
        response = await commit_to_store(services, request.group_id, known)
    else:
        response = await _commit(services, request, known, version)
    for topic, code in unknown:
        _add_failures(response, failed_commit([topic], code).topics)
    return response


async def _commit(
    services: GroupServices, request: OffsetCommitRequest, topics: list[Any], version: int
) -> OffsetCommitResponse:
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


def _known_topics(
    services: GroupServices, topics: list[Any], version: int
) -> tuple[list[Any], list[tuple[Any, ErrorCode]]]:
    """The topics that exist (with their names filled in), and the others with the error of each."""
    known, unknown = [], []
    metadata = services.metadata
    for topic in topics:
        if version >= TOPIC_ID_VERSION:
            name = metadata.topic_name(topic.topic_id)
            if name is None:
                unknown.append((topic, ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            topic.name = name
        there, missing = _known_partitions(services, topic)
        if there is not None:
            known.append(there)
        if missing is not None:
            unknown.append((missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return known, unknown


def _known_partitions(services: GroupServices, topic: Any) -> tuple[Any | None, Any | None]:
    """A topic with those of its partitions that exist, and with those that do not; None in place of an empty one."""
    count = services.metadata.partition_count(topic.name)
    if count is None:
        return None, topic
    there = [entry for entry in topic.partitions if 0 <= entry.partition_index < count]
    if len(there) == len(topic.partitions):
        return topic if there else None, None
    missing = copy.copy(topic)
    missing.partitions = [entry for entry in topic.partitions if not 0 <= entry.partition_index < count]
    topic.partitions = there
    return topic if there else None, missing


def _split(services: GroupServices, topics: list[Any]) -> tuple[list[Any], list[Any]]:
    """Topics that exist and those that do not, partition by partition."""
    pairs = [_known_partitions(services, topic) for topic in topics]
    return [there for there, _ in pairs if there is not None], [gone for _, gone in pairs if gone is not None]


def _add_failures(response: Any, topics: list[Any]) -> None:
    """Put the answers of what does not exist beside those of the coordinator, one entry per topic."""
    for topic in topics:
        name, topic_id = topic.name, getattr(topic, "topic_id", ZERO_UUID)
        known = (t for t in response.topics if t.name == name and getattr(t, "topic_id", ZERO_UUID) == topic_id)
        if (there := next(known, None)) is not None:
            there.partitions += topic.partitions
        else:
            response.topics.append(topic)


async def commit_in_transaction(
    services: GroupServices, ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse:
    known, unknown = _split(services, request.topics)
    response = TxnOffsetCommitResponse()
    if known:
        request.topics = known
        try:
            require_group(request.group_id)
            if not request.transactional_id and ctx.header.api_version < IMPLICIT_ADD_COMMIT_VERSION:
                raise KafkaError(ErrorCode.INVALID_REQUEST)
            await _verify_transaction(services, ctx, request)
            response = await services.coordinators().group.write(
                request.group_id, lambda machine: machine.commit_in_transaction(request)
            )
        except KafkaError as error:
            response = _failed_transaction_commit(known, _transaction_commit_error(error.code, ctx.header.api_version))
    _add_failures(response, _failed_transaction_commit(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION).topics)
    return response


async def _verify_transaction(services: GroupServices, ctx: RequestContext, request: TxnOffsetCommitRequest) -> None:
    """The offsets partition must be part of the transaction; from version 5 on it joins by this request (KIP-890)."""
    coordinators = services.coordinators()
    partition = coordinators.group.runtime.partition_for(request.group_id)
    tp = TopicPartition(GROUP_METADATA_TOPIC, partition)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    coordinators.group.runtime.active(partition)
    try:
        if ctx.header.api_version >= IMPLICIT_ADD_COMMIT_VERSION:
            await coordinators.transaction.add_partitions(
                request.transactional_id, producer, (tp,), version=EPOCH_BUMP_VERSION
            )
            return
        verified = await coordinators.transaction.verify_partitions(request.transactional_id, producer, (tp,))
    except KafkaError as error:
        if error.code is ErrorCode.PRODUCER_FENCED:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH) from error
        raise
    if verified[tp] is not ErrorCode.NONE:
        raise KafkaError(verified[tp])


def _transaction_commit_error(code: ErrorCode, version: int) -> ErrorCode:
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_VERSION:
        return ErrorCode.INVALID_TXN_STATE
    if version < 3 and code in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID):
        return ErrorCode.INVALID_TXN_STATE  # before KIP-447 there was no group in this request
    return commit_error(code)


def _failed_transaction_commit(topics: list[Any], code: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(
                        partition_index=entry.partition_index, error_code=code
                    )
                    for entry in topic.partitions
                ],
            )
            for topic in topics
        ]
    )


# -- fetch ---------------------------------------------------------------------------------------------------------


async def fetch(services: GroupServices, ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    version = ctx.header.api_version
    if version == 0:
        return await fetch_from_store(services, request)
    if version < BATCH_VERSION:
        return await _fetch_one_group(services, request, version)
    groups = []
    for group in request.groups:
        missing = _resolve_ids(services, group) if version >= TOPIC_ID_VERSION else []
        if missing and not group.topics:
            answer = GroupAnswer(group_id=group.group_id)  # nothing that a coordinator could know
        else:
            answer = await _fetch_group(services, group, request.require_stable)
        if version >= TOPIC_ID_VERSION and not answer.error_code:
            _answer_ids(services, answer, missing)
        groups.append(answer)
    return OffsetFetchResponse(groups=groups)


async def _fetch_group(services: GroupServices, group: Group, require_stable: bool) -> GroupAnswer:
    try:
        answer: GroupAnswer = await services.coordinators().group.read(
            group.group_id, lambda machine: machine.fetch(group, require_stable)
        )
        return answer
    except KafkaError as error:
        return GroupAnswer(group_id=group.group_id, error_code=error.code)


async def _fetch_one_group(services: GroupServices, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
    """Before version 8 a request had one group, and errors in other places."""
    topics = None
    if request.topics is not None:
        topics = [Topic(name=topic.name, partition_indexes=topic.partition_indexes) for topic in request.topics]
    group = Group(group_id=request.group_id, topics=topics)
    answer = await _fetch_group(services, group, request.require_stable)
    if answer.error_code:
        return _failed_fetch(topics or [], ErrorCode(answer.error_code), version)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponse.OffsetFetchResponsePartition(
                        partition_index=entry.partition_index,
                        committed_offset=entry.committed_offset,
                        committed_leader_epoch=entry.committed_leader_epoch,
                        metadata=entry.metadata,
                        error_code=entry.error_code,
                    )
                    for entry in topic.partitions
                ],
            )
            for topic in answer.topics
        ]
    )


def _failed_fetch(topics: list[Topic], code: ErrorCode, version: int) -> OffsetFetchResponse:
    if version >= TOP_LEVEL_ERROR_VERSION:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponse.OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=-1, metadata="", error_code=code
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in topics
        ]
    )


def _resolve_ids(services: GroupServices, group: Group) -> list[Topic]:
    """Fill in the names of topics given by id; returns those that nobody knows."""
    if group.topics is None:
        return []
    for topic in group.topics:
        topic.name = services.metadata.topic_name(topic.topic_id) or ""
    missing = [topic for topic in group.topics if not topic.name]
    group.topics = [topic for topic in group.topics if topic.name]
    return missing


def _answer_ids(services: GroupServices, answer: GroupAnswer, missing: list[Topic]) -> None:
    """Topics go by id in this version: one that was deleted since has none, and is left out."""
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


# -- delete --------------------------------------------------------------------------------------------------------


async def delete(services: GroupServices, ctx: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    known, unknown = _split(services, request.topics)
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
    _add_failures(response, failures)
    return response
