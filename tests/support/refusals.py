"""The answer by which a broker refuses a whole request: each partition, topic or key in it failed with one error."""

from __future__ import annotations

from typing import Any

from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey, response_class
from tidelog.protocol.message import Message


def refusal(key: int, request: Any, code: ErrorCode) -> Message:
    """Of most APIs the answer has one error for all; the others repeat what was asked for, with an error each."""
    make = _BY_ITEM.get(ApiKey(key))
    if make is not None:
        return make(request, int(code))
    answer: Any = response_class(key)()
    if not hasattr(answer, "error_code"):
        raise NotImplementedError(f"how to refuse a {ApiKey(key).name}")
    answer.error_code = int(code)
    return answer


def _produce(request: Any, code: int) -> Message:
    cls = m.ProduceResponse
    return cls(
        responses=[
            cls.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    cls.PartitionProduceResponse(index=one.index, error_code=code, base_offset=-1)
                    for one in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _offset_commit(request: Any, code: int) -> Message:
    cls = m.OffsetCommitResponse
    return cls(
        topics=[
            cls.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    cls.OffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _txn_offset_commit(request: Any, code: int) -> Message:
    cls = m.TxnOffsetCommitResponse
    return cls(
        topics=[
            cls.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    cls.TxnOffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _find_coordinator(request: Any, code: int) -> Message:
    cls = m.FindCoordinatorResponse
    return cls(
        error_code=code,
        node_id=-1,
        port=-1,
        coordinators=[
            cls.Coordinator(key=key, error_code=code, node_id=-1, port=-1) for key in request.coordinator_keys
        ],
    )


def _create_topics(request: Any, code: int) -> Message:
    cls = m.CreateTopicsResponse
    return cls(topics=[cls.CreatableTopicResult(name=topic.name, error_code=code) for topic in request.topics])


_BY_ITEM = {
    ApiKey.PRODUCE: _produce,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.CREATE_TOPICS: _create_topics,
}
