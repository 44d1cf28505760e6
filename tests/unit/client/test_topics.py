"""Topics made and widened on a cluster whose brokers hear of it later than its controller."""

from __future__ import annotations

import asyncio

from support.fake_cluster import TOPIC, FakeCluster
from tidelog.client import topics
from tidelog.client.cluster_client import ClusterClient
from tidelog.protocol.api import ApiKey


def test_new_partitions_are_waited_for() -> None:
    async def scenario() -> None:
        async with FakeCluster(1) as broker:
            settings = {"bootstrap.servers": broker.address, "retry.backoff.ms": "1", "retry.backoff.max.ms": "5"}
            async with ClusterClient(settings) as cluster:
                await cluster.refresh([TOPIC])
                broker.lag = 3
                await topics.create_partitions(cluster, TOPIC, 3)
                assert cluster.metadata.partitions(TOPIC) == [0, 1, 2]
                assert len(broker.asked(ApiKey.CREATE_PARTITIONS)) == 1

    asyncio.run(scenario())
