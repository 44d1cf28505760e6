"""Topics made, widened, emptied and unmade, with retries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.client.cluster_client import ClusterClient
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
)


async def create_topic(
    cluster: ClusterClient,
    name: str,
    partitions: int = 1,
    *,
    replication_factor: int = -1,
    config: Mapping[str, str] | None = None,
    exists_ok: bool = False,
) -> None:
    """Create the topic and wait until its partitions have leaders. -1: the cluster's default replication."""
    entries = [CreateTopicsRequest.CreatableTopicConfig(name=key, value=text) for key, text in (config or {}).items()]
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=replication_factor, configs=entries
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)

    async def create() -> None:
        outcome = await _outcome(cluster, request, "topics")
        if outcome.error_code and not (exists_ok and outcome.error_code == ErrorCode.TOPIC_ALREADY_EXISTS):
            raise KafkaError(outcome.error_code, outcome.error_message)

    await cluster.retry(create)
    await _await_leaders(cluster, name, 1)


async def _await_leaders(cluster: ClusterClient, name: str, at_least: int) -> None:
    """Wait until a broker, which hears of changes after the controller, tells of so many partitions with leaders."""

    async def look() -> None:
        await cluster.refresh([name])
        led = not cluster.metadata.missing([name], cluster.clock.time_ms())
        if not led or len(cluster.metadata.partitions(name)) < at_least:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"topic {name} has partitions without a leader")

    await cluster.retry(look)


async def delete_topic(cluster: ClusterClient, name: str, *, missing_ok: bool = False) -> None:
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000)

    async def delete() -> bool:
        outcome = await _outcome(cluster, request, "responses", highest=5)
        if outcome.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return False  # the controller knows every topic: to ask again would change nothing
        if outcome.error_code:
            raise KafkaError(outcome.error_code, f"deleting {name}: {ErrorCode(outcome.error_code).text}")
        return True

    if not await cluster.retry(delete) and not missing_ok:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"deleting {name}: there is no such topic")
    cluster.metadata.mark_stale([name])


async def _outcome(cluster: ClusterClient, request: Any, field: str, *, highest: int | None = None) -> Any:
    try:
        response = await (await cluster.controller()).send(request, highest=highest)
    except KafkaError as error:
        if error.retriable:
            cluster.metadata.controller = -1
        raise
    outcome = getattr(response, field)[0]
    if outcome.error_code == ErrorCode.NOT_CONTROLLER:
        cluster.metadata.controller = -1
    return outcome


async def delete_records(cluster: ClusterClient, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Remove everything before these offsets; the partitions' new log start offsets."""
    starts: dict[TopicPartition, int] = {}
    for tp, offset in before.items():
        entry = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=tp.partition, offset=offset)
        topic = DeleteRecordsRequest.DeleteRecordsTopic(name=tp.topic, partitions=[entry])
        request = DeleteRecordsRequest(topics=[topic], timeout_ms=30_000)

        async def delete(tp: TopicPartition = tp, request: DeleteRecordsRequest = request) -> int:
            leader = await cluster.leader(tp)
            response = await (await cluster.node(leader.id)).send(request)
            outcome = response.topics[0].partitions[0]
            if outcome.error_code:
                cluster.metadata.mark_stale([tp.topic])
                raise KafkaError(outcome.error_code, f"deleting records of {tp}")
            return int(outcome.low_watermark)

        starts[tp] = await cluster.retry(delete)
    return starts


async def create_partitions(cluster: ClusterClient, name: str, count: int) -> None:
    """Give the topic more partitions, `count` in all, and wait until they have leaders."""
    topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=30_000)

    async def create() -> bool:
        outcome = await _outcome(cluster, request, "results")
        if outcome.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return False
        if outcome.error_code:
            raise KafkaError(outcome.error_code, outcome.error_message)
        return True

    if not await cluster.retry(create):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name} to give partitions to")
    await _await_leaders(cluster, name, count)
