"""Settings of the default partitioner and of idle topics, set as users set them, by what becomes of records."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from support.fake_cluster import TOPIC, FakeCluster
from support.loop import until
from tidelog import Producer, aio
from tidelog.common.errors import KafkaError
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import MetadataResponse
from tidelog.testing import Broker

#: A batch for each record of 150 bytes: the partition is chosen anew for each.
EACH = {"batch.size": 200, "linger.ms": 3_600_000, "delivery.timeout.ms": 7_200_000}


def waiting(core: Any, topic: str) -> list[int]:
    """How many batches wait for each partition."""
    return [len(queue.waiting) for queue in core.accumulator.topics[topic].partitions]


@pytest.mark.parametrize("adaptive", [True, False])
def test_adaptive_partitioning_spares_who_has_much_to_do(adaptive: bool) -> None:
    """100 batches wait for partition 0; of 150 more, a third each would be fair if nobody looked."""
    with Broker() as broker:
        broker.create_topic("t", 3)
        settings = {"bootstrap.servers": broker.address, **EACH}
        producer = Producer(settings, partitioner_adaptive_partitioning_enable=adaptive)
        producer.partitions_for("t")
    for _ in range(100):
        producer.send("t", b"x" * 150, partition=0)
    before = waiting(producer._core, "t")[0]
    for _ in range(150):
        producer.send("t", b"x" * 150)
    assert (waiting(producer._core, "t")[0] - before < 20) is adaptive
    with suppress(KafkaError):
        producer.close(timeout=0)


class HalfGone(FakeCluster):
    """Says that another broker, which is not there, leads partition 1."""

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        answer = super()._handle(header, request)
        if header.api_key == ApiKey.METADATA:
            answer.brokers.append(MetadataResponse.MetadataResponseBroker(node_id=2, host="127.0.0.1", port=1))
            for topic in answer.topics:
                topic.partitions[1].leader_id = 2
        return answer


@pytest.mark.parametrize(("patience_ms", "avoided"), [(1, True), (0, False)])
def test_the_availability_timeout_avoids_who_takes_nothing(patience_ms: int, avoided: bool) -> None:
    async def main() -> None:
        async with HalfGone(2) as cluster:
            settings = {"bootstrap.servers": cluster.address, **EACH, "linger.ms": 0}
            settings |= {"partitioner.availability.timeout.ms": patience_ms}
            producer = aio.Producer(settings, partitioner_adaptive_partitioning_enable=True)
            await producer.partitions_for(TOPIC)
            producer.send(TOPIC, b"stuck", partition=1)
            await until(lambda: producer._core._is_stuck(2, 0.001))
            for _ in range(60):
                producer.send(TOPIC, b"x" * 150)
                await asyncio.sleep(0)
            assert (waiting(producer._core, TOPIC)[1] <= 3) is avoided
            with suppress(KafkaError):
                await producer.close(timeout=0)

    asyncio.run(main())


@pytest.mark.parametrize(("idle_ms", "forgotten"), [(5_000, True), (600_000, False)])
def test_a_topic_that_is_not_written_to_is_forgotten(idle_ms: int, forgotten: bool) -> None:
    """Ten seconds after its last record, when metadata is asked for anew: `metadata.max.idle.ms`."""

    async def main() -> None:
        async with (
            FakeCluster() as cluster,
            aio.Producer(bootstrap_servers=cluster.address, metadata_max_idle_ms=idle_ms) as producer,
        ):
            await producer.send(TOPIC, b"x")
            core, before = producer._core, len(cluster.asked(ApiKey.METADATA))
            core.sender.leaders.refresh_all(core.cluster.clock.monotonic() + 10)
            assert (TOPIC not in core.accumulator.topics) is forgotten
            if not forgotten:
                await until(lambda: len(cluster.asked(ApiKey.METADATA)) > before)
            await producer.send(TOPIC, b"y")  # which asks for it again

    asyncio.run(main())
