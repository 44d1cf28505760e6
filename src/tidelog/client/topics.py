"""Topics on a bare cluster client: made, widened, emptied and unmade by the Admin over its connections; and what every
producer does, waiting until a topic can be written to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.client.cluster.client import ClusterClient
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import DescribeConfigsRequest

if TYPE_CHECKING:
    from tidelog.client.admin.aio import Admin

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
    await _admin(cluster).create_topic(
        name, partitions, replication_factor=replication_factor, configs=config, exists_ok=exists_ok
    )
    await cluster.ensure_topics([name])


def _admin(cluster: ClusterClient) -> Admin:
    """The Admin over these connections. Imported with its first use: whoever only produces does without."""
    from tidelog.client.admin.aio import Admin

    return Admin.over(cluster)


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
    await _admin(cluster).delete_topic(name, missing_ok=missing_ok)


async def delete_records(cluster: ClusterClient, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Remove everything before these offsets; the partitions' new log start offsets."""
    return (await _admin(cluster).delete_records(before)).result()


async def create_partitions(cluster: ClusterClient, name: str, count: int) -> None:
    """Give the topic more partitions, `count` in all, and wait until they have leaders."""
    (await _admin(cluster).create_partitions({name: count})).result()
