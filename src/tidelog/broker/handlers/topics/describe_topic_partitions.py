"""DescribeTopicPartitions: topics page by page, so that no answer grows without bound (KIP-966).

Topics are listed by name. When the limit of partitions is reached, the answer ends with a cursor: the next partition to
ask for.
"""

from __future__ import annotations

from tidelog.broker import config as keys
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.operations import TOPIC_OPERATIONS
from tidelog.broker.handlers.topics.services import TopicServices
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.metadata.names import is_valid_topic_name
from tidelog.common.errors import ErrorCode
from tidelog.common.types import INTERNAL_TOPICS
from tidelog.protocol.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse

Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
Partition = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition


def handle(
    services: TopicServices, ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    metadata = services.metadata
    named = {topic.name for topic in request.topics}
    names = sorted(named or metadata.topics)
    cursor = request.cursor
    if cursor is not None:
        if cursor.partition_index < 0 or (named and cursor.topic_name not in named):
            return _refused([topic.name for topic in request.topics], ErrorCode.INVALID_REQUEST)
        names = [name for name in names if name >= cursor.topic_name]
    limit = max(1, min(services.config[keys.MAX_REQUEST_PARTITION_SIZE_LIMIT], request.response_partition_limit))
    response = DescribeTopicPartitionsResponse()
    for name in names:
        image = metadata.topics.get(name)
        if image is None:
            if named:
                response.topics.append(_unknown(name))
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if limit == 0:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=first)
            break
        states = image.partitions[first : first + limit]
        response.topics.append(
            Topic(
                name=name,
                topic_id=image.topic_id,
                is_internal=image.internal,
                partitions=[_partition(services, state) for state in states],
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        limit -= len(states)
        if first + len(states) < len(image.partitions):
            index = first + len(states)
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=index)
            break
    return response


def _partition(services: TopicServices, state: PartitionState) -> Partition:
    alive = services.metadata.brokers
    return Partition(
        error_code=ErrorCode.NONE if state.leader in alive else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=state.partition,
        leader_id=state.leader if state.leader in alive else -1,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[node for node in state.replicas if node not in alive],
    )


def _unknown(name: str) -> Topic:
    valid = is_valid_topic_name(name)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if valid else ErrorCode.INVALID_TOPIC_EXCEPTION
    return Topic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _refused(names: list[str], code: ErrorCode) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=[Topic(error_code=code, name=name) for name in names])
