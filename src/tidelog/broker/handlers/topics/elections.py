"""ElectLeaders, versions 0 to 2 (KIP-183, KIP-460): give leadership back to preferred replicas, or (unclean) to whoever
is alive.

The preferred replica is the first of a partition's assignment; leadership drifts from it as brokers restart.
PREFERRED_LEADER_NOT_AVAILABLE if it is not in sync, ELECTION_NOT_NEEDED if it leads already. An unclean election
(version 1) gives a partition without a leader to a replica that was not in sync, and may lose records:
ELIGIBLE_LEADERS_NOT_AVAILABLE if none is alive. Null partitions mean all of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.broker.controller.election import Reason
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.topics.services import TopicServices
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import ElectLeadersRequest, ElectLeadersResponse

TopicResult = ElectLeadersResponse.ReplicaElectionResult
PartitionResult = ElectLeadersResponse.PartitionResult
REASONS = {0: Reason.PREFERRED, 1: Reason.UNCLEAN}


async def handle(services: TopicServices, ctx: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """All elections of a request are one change of the controller."""
    reason = REASONS.get(request.election_type)
    if reason is None:
        refused = dict.fromkeys(_asked(request), ErrorCode.INVALID_REQUEST)
        return ElectLeadersResponse(
            error_code=ErrorCode.INVALID_REQUEST, replica_election_results=_results(request, refused)
        )
    if request.topic_partitions is None:
        asked = [state.tp for image in services.metadata.topics.values() for state in image.partitions]
    else:
        asked = _asked(request)
    outcome = await services.controller.elect_leaders(asked, reason)
    return ElectLeadersResponse(replica_election_results=_results(request, outcome))


def _asked(request: ElectLeadersRequest) -> list[TopicPartition]:
    """The partitions that are named, in the order of the request."""
    topics = request.topic_partitions or ()
    return [TopicPartition(topic.topic, index) for topic in topics for index in topic.partitions]


def _results(request: ElectLeadersRequest, outcome: Mapping[TopicPartition, ErrorCode]) -> list[TopicResult]:
    """In the order of the request; whoever asked for all wants to know of those where something happened."""
    if request.topic_partitions is not None:
        return [
            TopicResult(
                topic=topic.topic,
                partition_result=[
                    _result(index, outcome[TopicPartition(topic.topic, index)]) for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions
        ]
    topics: dict[str, TopicResult] = {}
    for tp, code in outcome.items():
        if code is not ErrorCode.ELECTION_NOT_NEEDED:
            topic = topics.setdefault(tp.topic, TopicResult(topic=tp.topic))
            topic.partition_result.append(_result(tp.partition, code))
    return list(topics.values())


def _result(partition: int, code: ErrorCode) -> PartitionResult:
    """Success has no message, every error has one."""
    text = None if code is ErrorCode.NONE else code.text
    return PartitionResult(partition_id=partition, error_code=code, error_message=text)
