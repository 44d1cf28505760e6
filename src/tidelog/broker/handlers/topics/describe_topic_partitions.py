"""DescribeTopicPartitions, version 0 (KIP-966): topics page by page, so that no answer grows without bound.

Topics are listed by name, all of them if none is named. An answer has at most as many partitions as the client asks for
and `max.request.partition.size.limit` allows; when that is reached it ends with a cursor, the next partition to ask
for. With a limit of 5 and topics of 3 partitions each, a client reads

    cursor none      → a: 0 1 2, b: 0 1       next: b 2
    cursor b 2       → b: 2, c: 0 1 2, d: 0   next: d 1

A topic that disappears between two pages is left out, one that appears behind the cursor is listed. Eligible leader
replicas, for which KIP-966 made this request, are always empty: there is no such state here.
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
    """One page. A cursor into a topic that was not asked for is INVALID_REQUEST, for all that were.

    A limit that the client leaves at zero or below still brings one partition: a page that is empty would never end.
    """
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
    """As Metadata shows it: a leader that is not alive is none."""
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
    """Only for topics that were named: a list of all has nothing to miss."""
    valid = is_valid_topic_name(name)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if valid else ErrorCode.INVALID_TOPIC_EXCEPTION
    return Topic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _refused(names: list[str], code: ErrorCode) -> DescribeTopicPartitionsResponse:
    """The same error for every topic that was named."""
    return DescribeTopicPartitionsResponse(topics=[Topic(error_code=code, name=name) for name in names])
