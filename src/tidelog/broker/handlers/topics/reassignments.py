"""AlterPartitionReassignments (versions 0 and 1) and ListPartitionReassignments (version 0) (KIP-455).

A reassignment names the replicas that a partition shall have. Those to add and those to remove are part of the
partition's state until the added ones are in sync and the others are gone; null replicas cancel it, and bring back what
was before. A second reassignment of the same partition replaces the first.

On one broker a partition's replicas can be nowhere but here: the present assignment is accepted (and already true), any
other names a broker that does not exist (INVALID_REPLICA_ASSIGNMENT), and there is never anything to cancel
(NO_REASSIGNMENT_IN_PROGRESS). So nothing is written here yet, and both requests are answered from the cache.
"""

from __future__ import annotations

from tidelog.broker.controller.placement import check_assignment
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.topics.services import TopicServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

Altered = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse
Ongoing = ListPartitionReassignmentsResponse.OngoingPartitionReassignment


def alter(
    services: TopicServices, ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Partition by partition. Since version 1 a client may forbid that the number of replicas changes on the way."""
    response = AlterPartitionReassignmentsResponse(
        error_message=None if request.topics else "",
        allow_replication_factor_change=request.allow_replication_factor_change,
    )
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            tp = TopicPartition(topic.name, partition.partition_index)
            try:
                _check(services, tp, partition.replicas, request.allow_replication_factor_change)
                partitions.append(Altered(partition_index=tp.partition, error_message=None))
            except KafkaError as error:
                nothing = error.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
                text = None if nothing else error.message
                partitions.append(Altered(partition_index=tp.partition, error_code=error.code, error_message=text))
        response.responses.append(
            AlterPartitionReassignmentsResponse.ReassignableTopicResponse(name=topic.name, partitions=partitions)
        )
    return response


def _check(services: TopicServices, tp: TopicPartition, replicas: list[int] | None, may_change_factor: bool) -> None:
    """Why an assignment cannot be. The order is Kafka's: the partition, then whether there is anything to cancel, then
    the brokers that are named, then their number.
    """
    metadata = services.metadata
    state = metadata.partition(tp)
    if state is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {tp.topic}:{tp.partition}.")
    if replicas is None:
        if not state.adding and not state.removing:
            raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        return
    check_assignment(replicas, metadata.brokers)
    if not may_change_factor and len(replicas) != len(state.replicas):
        text = f"The replication factor is changed from {len(state.replicas)} to {len(replicas)}"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, text)


def list_ongoing(
    services: TopicServices, ctx: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """What is under way, of all partitions or of those asked for; one that does not exist is left out."""
    metadata = services.metadata
    if request.topics is None:
        states = [state for image in metadata.topics.values() for state in image.partitions]
    else:
        asked = [TopicPartition(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
        states = [state for state in map(metadata.partition, asked) if state is not None]
    topics: dict[str, list[Ongoing]] = {}
    for state in states:
        if state.adding or state.removing:
            topics.setdefault(state.topic, []).append(
                Ongoing(
                    partition_index=state.partition,
                    replicas=list(state.replicas),
                    adding_replicas=list(state.adding),
                    removing_replicas=list(state.removing),
                )
            )
    return ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[
            ListPartitionReassignmentsResponse.OngoingTopicReassignment(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
    )
