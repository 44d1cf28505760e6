"""ElectLeaders: give leadership back to preferred replicas, or (unclean) to whoever is alive."""

from __future__ import annotations

from tidelog.broker.controller.election import Reason
from tidelog.broker.handlers.context import RequestContext
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import ElectLeadersRequest, ElectLeadersResponse

REASONS = {0: Reason.PREFERRED, 1: Reason.UNCLEAN}


async def handle(ctx: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    reason = REASONS.get(request.election_type)
    if reason is None:
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    if request.topic_partitions is None:
        asked = [state.tp for image in ctx.broker.metadata.topics.values() for state in image.partitions]
    else:
        asked = [TopicPartition(topic.topic, index) for topic in request.topic_partitions for index in topic.partitions]
    outcome = await ctx.broker.controller.elect_leaders(asked, reason)
    response = ElectLeadersResponse()
    topics: dict[str, ElectLeadersResponse.ReplicaElectionResult] = {}
    for tp, code in outcome.items():
        if request.topic_partitions is None and code is ErrorCode.ELECTION_NOT_NEEDED:
            continue  # whoever asks for all wants to know of those where something happened
        topic = topics.get(tp.topic)
        if topic is None:
            topic = topics[tp.topic] = ElectLeadersResponse.ReplicaElectionResult(topic=tp.topic)
            response.replica_election_results.append(topic)
        text = None if code is ErrorCode.NONE else code.text
        topic.partition_result.append(
            ElectLeadersResponse.PartitionResult(partition_id=tp.partition, error_code=code, error_message=text)
        )
    return response
