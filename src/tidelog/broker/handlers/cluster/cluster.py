"""DescribeCluster (versions 0 to 2), DescribeQuorum (0 to 2), UnregisterBroker (0), UpdateFeatures (0 to 2).

The embedded store is a quorum of one: this node is its only voter, and the number of its last transaction is its high
watermark. Feature levels are fixed by the software, so that they can be read (ApiVersions) and not changed.
"""

from __future__ import annotations

from tidelog.broker.handlers.cluster.api_versions import FEATURES
from tidelog.broker.handlers.cluster.services import ClusterServices
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.operations import CLUSTER_OPERATIONS
from tidelog.broker.metadata.names import METADATA_LOG_TOPIC
from tidelog.broker.store import paths
from tidelog.common.errors import ErrorCode
from tidelog.protocol.messages import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

BROKERS, CONTROLLERS = 1, 2


def describe(
    services: ClusterServices, ctx: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    """DescribeCluster (KIP-700): id, controller and brokers of the cluster, without the topics that Metadata has.

    Since version 1 a client says whether it means the brokers or the controllers of KRaft (KIP-919). This is a broker:
    who wants a controller is told MISMATCHED_ENDPOINT_TYPE.
    """
    if request.endpoint_type != BROKERS:
        known = request.endpoint_type == CONTROLLERS
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        text = (
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
            if known
            else f"Unsupported endpoint type {request.endpoint_type}"
        )
        return DescribeClusterResponse(error_code=code, error_message=text)
    metadata = services.metadata
    brokers = [
        DescribeClusterResponse.DescribeClusterBroker(broker_id=broker.node_id, host=host, port=port, rack=broker.rack)
        for broker in metadata.brokers.values()
        for host, port in [broker.endpoints.get(ctx.listener, ("", -1))]
        if port >= 0
    ]
    response = DescribeClusterResponse(
        cluster_id=metadata.cluster_id, controller_id=metadata.controller_id, brokers=brokers
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


async def describe_quorum(
    services: ClusterServices, ctx: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    """DescribeQuorum (KIP-595): who votes in the quorum of the metadata log, and how far each has come.

    Of the metadata log's only partition; any other topic or partition is UNKNOWN_TOPIC_OR_PARTITION.
    """
    # The version node of the controller's epoch is the last thing that every start writes: a cheap, true lower bound.
    _, stat = await services.store.get(paths.CONTROLLER_EPOCH)
    topics = []
    for topic in request.topics:
        partitions = [
            _quorum(services, partition.partition_index, stat.modified)
            if (topic.topic_name, partition.partition_index) == (METADATA_LOG_TOPIC, 0)
            else DescribeQuorumResponse.PartitionData(
                partition_index=partition.partition_index,
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                error_message=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.text,
            )
            for partition in topic.partitions
        ]
        topics.append(DescribeQuorumResponse.TopicData(topic_name=topic.topic_name, partitions=partitions))
    return DescribeQuorumResponse(topics=topics)


def _quorum(services: ClusterServices, index: int, transaction: int) -> DescribeQuorumResponse.PartitionData:
    """The state of a quorum of one: its voter has seen everything just now."""
    now = services.clock.time_ms()
    voter = DescribeQuorumResponse.ReplicaState(
        replica_id=services.node_id,
        log_end_offset=transaction,
        last_fetch_timestamp=now,
        last_caught_up_timestamp=now,
    )
    return DescribeQuorumResponse.PartitionData(
        partition_index=index,
        leader_id=services.node_id,
        leader_epoch=services.metadata.controller_epoch,
        high_watermark=transaction,
        current_voters=[voter],
    )


def unregister(
    services: ClusterServices, ctx: RequestContext, request: UnregisterBrokerRequest
) -> UnregisterBrokerResponse:
    """UnregisterBroker takes a broker that will not come back out of KRaft's registry. Here registrations are
    ephemeral: who is alive cannot be unregistered, and who is not is not registered any more
    (BROKER_ID_NOT_REGISTERED).
    """
    if request.broker_id in services.metadata.brokers:
        text = f"Broker {request.broker_id} is alive; its registration ends when it stops."
        return UnregisterBrokerResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=text)
    text = f"Broker ID {request.broker_id} is not currently registered"
    return UnregisterBrokerResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=text)


def update_features(
    services: ClusterServices, ctx: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    """UpdateFeatures (KIP-584): only the level that a feature has anyway is accepted.

    All or nothing: what cannot be done is the answer to the whole request. Since version 2 success has no results per
    feature.
    """
    results = [_update(update.feature, update.max_version_level) for update in request.feature_updates]
    failed = next((result for result in results if result.error_code), None)
    if failed is not None:
        return UpdateFeaturesResponse(error_code=failed.error_code, error_message=failed.error_message)
    return UpdateFeaturesResponse(error_message=None, results=results if ctx.header.api_version < 2 else [])


def _update(feature: str, level: int) -> UpdateFeaturesResponse.UpdatableFeatureResult:
    """Feature by feature: INVALID_UPDATE_VERSION unless it is at that level already."""
    if FEATURES.get(feature) == level:
        return UpdateFeaturesResponse.UpdatableFeatureResult(feature=feature, error_message=None)
    return UpdateFeaturesResponse.UpdatableFeatureResult(
        feature=feature,
        error_code=ErrorCode.INVALID_UPDATE_VERSION,
        error_message=f"Invalid update version {level} for feature {feature}. The levels of this broker are fixed.",
    )
