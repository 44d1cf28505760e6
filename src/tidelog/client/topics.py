"""Topics made, widened, emptied and unmade, with retries.

All of it is asked of the controller, and done when the controller has answered; but the brokers hear of it later, one
by one. So whoever creates something waits until it can be used, by looking at metadata, as otherwise the next request
would be refused for a topic that "does not exist".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
)

_BROKER = 4  # a resource type of DescribeConfigs
_AUTO_CREATE = "auto.create.topics.enable"
#: How long a topic that the brokers make by themselves may take to be known.
_CREATION_SECONDS = 15.0


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


async def ensure_writable(cluster: ClusterClient, name: str) -> None:
    """Wait until the topic is known, as every producer does: brokers that make topics by themselves make a missing one.

    Others are found out at once. (Apache Kafka answers a request that begins the creation as one for nothing at all.)
    """

    async def known() -> None:
        await cluster.ensure_topics([name])
        if name in cluster.metadata.topics:
            cluster.metadata.topic(name)

    async def made() -> None:
        await cluster.refresh([name], create=True)
        cluster.metadata.topic(name)

    await cluster.retry(known)
    if name in cluster.metadata.topics:
        return
    await cluster.retry(lambda: cluster.refresh([name], create=True))
    if name not in cluster.metadata.topics and not await _makes_topics(cluster):
        text = f"topic {name} does not exist, and the brokers make none by themselves ({_AUTO_CREATE}): create it first"
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    await cluster.retry(made, timeout=_CREATION_SECONDS)


async def _makes_topics(cluster: ClusterClient) -> bool:
    """What a broker says of that; yes, if it does not tell us."""
    node_id = min(cluster.metadata.nodes)
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_BROKER, resource_name=str(node_id), configuration_keys=[_AUTO_CREATE]
    )

    async def ask() -> bool:
        response = await (await cluster.node(node_id)).send(DescribeConfigsRequest(resources=[resource]))
        return all(entry.value != "false" for result in response.results for entry in result.configs)

    return await cluster.retry(ask)


async def delete_topic(cluster: ClusterClient, name: str, *, missing_ok: bool = False) -> None:
    """Delete it. The answer says that it is decided: files go afterwards, and a topic of the same name may be created
    at once, which is then another topic with another id.
    """
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
    """Send a request about one topic to the controller, and give its outcome. A controller that is none any more, or
    does not answer, is forgotten: the next try asks who it is.
    """
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
