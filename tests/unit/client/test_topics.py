"""Topics made and widened on a cluster whose brokers hear of it later than its controller, or only if they want to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.fake_cluster import TOPIC, FakeCluster
from tidelog.client import topics
from tidelog.client.cluster.client import ClusterClient
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import DescribeConfigsResponse, MetadataResponse


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


class Maker(FakeCluster):
    """Brokers that make a missing topic by themselves, if `makes`, some answers after they were asked to."""

    def __init__(self, makes: str | None, delay: int = 0) -> None:
        super().__init__(1)
        self.makes, self.delay = makes, delay
        self.begun = False

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        if header.api_key == ApiKey.DESCRIBE_CONFIGS:
            return self._configs()
        if header.api_key == ApiKey.METADATA and request.topics:
            self.begun |= request.allow_auto_topic_creation and self.makes != "false"
        return super()._handle(header, request)

    def _topic(self, name: str, error: int) -> Any:
        if self.begun and name != TOPIC:
            self.delay -= 1
            if self.delay < 0:
                partition = MetadataResponse.MetadataResponsePartition(partition_index=0, leader_id=1)
                return MetadataResponse.MetadataResponseTopic(name=name, topic_id=b"N" * 16, partitions=[partition])
        return super()._topic(name, error)

    def _configs(self) -> DescribeConfigsResponse:
        result = DescribeConfigsResponse.DescribeConfigsResult
        if self.makes is None:
            return DescribeConfigsResponse(results=[result(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)])
        entry = DescribeConfigsResponse.DescribeConfigsResourceResult(
            name="auto.create.topics.enable", value=self.makes
        )
        return DescribeConfigsResponse(results=[result(configs=[entry])])


@pytest.mark.parametrize(("makes", "delay"), [("true", 0), ("true", 4), (None, 4)])
def test_a_missing_topic_is_made_by_brokers_that_do_such_things(makes: str | None, delay: int) -> None:
    async def scenario() -> None:
        async with Maker(makes, delay) as broker:
            settings = {"bootstrap.servers": broker.address, "retry.backoff.ms": "1", "retry.backoff.max.ms": "5"}
            async with ClusterClient(settings) as cluster:
                await topics.ensure_writable(cluster, "new")
                assert cluster.metadata.partitions("new") == [0]
                await topics.ensure_writable(cluster, TOPIC)
                asked = [request for request in broker.asked(ApiKey.METADATA) if request.topics[0].name == TOPIC]
                assert [request.allow_auto_topic_creation for request in asked] == [False]

    asyncio.run(scenario())


def test_a_missing_topic_that_nobody_makes_is_told_at_once() -> None:
    async def scenario() -> None:
        async with Maker("false") as broker, ClusterClient({"bootstrap.servers": broker.address}) as cluster:
            with pytest.raises(KafkaError, match=r"topic new does not exist, .*auto\.create\.topics\.enable"):
                await topics.ensure_writable(cluster, "new")
            assert len(broker.asked(ApiKey.METADATA)) <= 3, "nobody waits for what will not come"

    asyncio.run(scenario())
