"""FindCoordinator, versions 0 to 6: which broker has a group, a transactional id or a share partition.

A key belongs to the partition of __consumer_offsets or __transaction_state that its hash says; the leader of that
partition is its coordinator. So the number of partitions must never change once there is state, and all brokers must
agree on the hash: it is Java's `String.hashCode`. Version 1 asks for transactional ids as well (KIP-98), version 4 for
many keys at once (KIP-699). Share groups (version 6) are not served: INVALID_REQUEST.

The internal topic is made when the first client asks for its coordinator. Until it has a leader the answer is
COORDINATOR_NOT_AVAILABLE, at which clients ask again.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.hashing import partition_for_id
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tidelog.protocol.messages import FindCoordinatorRequest, FindCoordinatorResponse

GROUP, TRANSACTION, SHARE = 0, 1, 2
TOPICS = {GROUP: GROUP_METADATA_TOPIC, TRANSACTION: TRANSACTION_STATE_TOPIC}
BATCH_VERSION = 4

Coordinator = FindCoordinatorResponse.Coordinator


async def handle(
    services: GroupServices, ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """Key by key. Before version 4 there is one key, and its answer is that of the request."""
    if ctx.header.api_version >= BATCH_VERSION:
        return FindCoordinatorResponse(
            coordinators=[await _find(services, ctx, request.key_type, key) for key in request.coordinator_keys]
        )
    found = await _find(services, ctx, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or ErrorCode(found.error_code).name,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


async def _find(services: GroupServices, ctx: RequestContext, key_type: int, key: str) -> Coordinator:
    """The coordinator's address on the listener that the client came in on: others it may not be able to reach."""
    try:
        node_id = await _leader(services, key_type, key)
        endpoint = services.metadata.brokers[node_id].endpoints.get(ctx.listener)
        if endpoint is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    except KafkaError as error:
        message = "" if key_type == SHARE else error.message
        return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=message)
    host, port = endpoint
    return Coordinator(key=key, node_id=node_id, host=host, port=port, error_message="")


async def _leader(services: GroupServices, key_type: int, key: str) -> int:
    """The broker that leads the key's partition, after the topic was made if need be."""
    topic = TOPICS.get(key_type)
    if topic is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"coordinators of key type {key_type} are not served")
    metadata = services.metadata
    count = metadata.partition_count(topic)
    if count is None:
        try:
            await services.controller.ensure_topic(topic)
        except KafkaError as error:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message) from error
        count = metadata.partition_count(topic)
    state = metadata.partition(TopicPartition(topic, partition_for_id(key, count))) if count else None
    if state is None or state.leader not in metadata.brokers:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return state.leader
