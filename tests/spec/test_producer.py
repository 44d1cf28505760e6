"""The producer, statement by statement: 003 2.1 – 2.3 (批量发送消息), 004 Producer and 分区写入策略.

Partitions by key and the batches of columns are in test_routing.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from support.fake_cluster import TOPIC, FakeCluster
from support.produced import batches_of, values_of
from tidelog import Producer, aio
from tidelog.client.config import common
from tidelog.client.config import producer as keys
from tidelog.client.producer.interceptors import ProducerInterceptor
from tidelog.client.producer.partitioners import Cluster, Partitioner
from tidelog.client.producer.record import ProducerRecord, RecordMetadata
from tidelog.client.serialization import Serializer
from tidelog.common.errors import KafkaError
from tidelog.common.hashing import partition_for_key
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("t", 4)
        yield broker


def test_twelve_records_in_turn_over_four_partitions(broker: Broker) -> None:
    """003 2.2 Round Robin, 004 轮询策略: each partition gets every fourth record."""
    with Producer(bootstrap_servers=broker.address, partitioner_class="round_robin") as producer:
        sent = [producer.send("t", b"%d" % number) for number in range(12)]
        assert [one.result(10).partition for one in sent] == [0, 1, 2, 3] * 3
    assert values_of(broker, "t", 1) == [b"1", b"5", b"9"]


def test_random_records_reach_every_partition(broker: Broker) -> None:
    """004 随机策略: each time any partition."""
    with Producer(bootstrap_servers=broker.address, partitioner_class="random") as producer:
        sent = [producer.send("t", b"x") for _ in range(400)]
        found = Counter(one.result(10).partition for one in sent)
    assert all(count > 50 for count in found.values())
    assert len(found) == 4


def test_a_key_decides_and_may_be_null(broker: Broker) -> None:
    """003 2.1: the key is part of the message, null by default; 散列: equal keys meet in one partition."""
    with Producer(bootstrap_servers=broker.address) as producer:
        for key in (b"a", b"b", b"a", b"c", b"a"):
            where = producer.send("t", b"x", key).result(10)
            assert where.partition == partition_for_key(key, 4)
        assert producer.send("t", b"x").result(10).serialized_key_size == -1


class Together(Partitioner):
    """A series of records into one partition."""

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: Cluster
    ) -> int:
        return 3 if value_bytes is not None and value_bytes.startswith(b"audit") else 0


def test_a_strategy_of_ones_own(broker: Broker) -> None:
    """003 2.2 自定义分区策略, 004 实现自定义分区: by a class, or with the record itself."""
    with Producer(bootstrap_servers=broker.address, partitioner_class=Together) as producer:
        assert producer.send("t", b"audit 1").result(10).partition == 3
        assert producer.send("t", b"other").result(10).partition == 0
        assert producer.send(ProducerRecord("t", b"audit 2", partition=1)).result(10).partition == 1


def test_a_batch_leaves_when_it_is_full(broker: Broker) -> None:
    """003 2.3: the first condition is the size; the last batch, which is not full, stays."""
    with Producer(bootstrap_servers=broker.address, batch_size=1000, linger_ms=3_600_000) as producer:
        sent = [producer.send("t", b"x" * 100, partition=0) for _ in range(20)]
        sent[8].result(10)
        assert not sent[-1].done()
    assert len(batches_of(broker, "t", 0)) == 3


def test_a_batch_leaves_when_it_is_old_enough(broker: Broker) -> None:
    """003 2.3: the second condition is the time since the batch was begun."""
    with Producer(bootstrap_servers=broker.address, linger_ms=50) as producer:
        sent = [producer.send("t", b"x", partition=0) for _ in range(20)]
        assert sent[-1].result(10).offset == 19
    assert len(batches_of(broker, "t", 0)) == 1


def test_records_are_added_to_the_last_batch_of_the_deque(broker: Broker) -> None:
    """003 2.3: the oldest batch fills first; a new one is put at the end when the last has no room."""
    with Producer(bootstrap_servers=broker.address, batch_size=1000, linger_ms=3_600_000) as producer:
        producer.partitions_for("t")
        broker.stop()
        try:
            for number in range(20):
                producer.send("t", b"%0100d" % number, partition=0)
            deque = producer._core.accumulator.topics["t"].partitions[0].waiting  # `_core`: the deque is inside
            assert [batch.closed for batch in deque][-1] is False
            assert all(batch.closed for batch in list(deque)[:-1])
            assert len(deque) == 3
        finally:
            broker.start()
    assert values_of(broker, "t", 0) == [b"%0100d" % number for number in range(20)]


def test_batches_of_one_leader_share_a_request() -> None:
    """003 2.3, 004 生产者客户端的整体架构: the sender groups batches by node, one request for each."""

    async def main() -> None:
        async with FakeCluster(6) as leader:
            async with aio.Producer(bootstrap_servers=leader.address, linger_ms=50) as producer:
                await producer.partitions_for(TOPIC)
                sent = [producer.send(TOPIC, b"x", partition=number) for number in range(6)]
                await asyncio.gather(*sent)
            (request,) = leader.asked(ApiKey.PRODUCE)
            assert [part.index for part in request.topic_data[0].partition_data] == list(range(6))

    asyncio.run(main())


def test_three_ways_to_send(broker: Broker) -> None:
    """004 发送模式: fire and forget, synchronous by the future, asynchronous by a callback."""
    told = threading.Event()
    with Producer(bootstrap_servers=broker.address) as producer:
        producer.send("t", b"forgotten", partition=0)
        assert producer.send("t", b"waited for", partition=0).result(10).offset == 1
        producer.send("t", b"told of", partition=0, on_delivery=lambda metadata, error: told.set())
        assert told.wait(10)
    assert values_of(broker, "t", 0) == [b"forgotten", b"waited for", b"told of"]


class Stages(ProducerInterceptor):
    """Writes down what it is told, when."""

    stages: list[str]

    def configure(self, configs: Any) -> None:
        self.stages = configs["stages"]
        self.stages.append("configure")

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.stages.append("on_send")
        return record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        self.stages.append("on_acknowledgement" if error is None else "failed")

    def close(self) -> None:
        self.stages.append("close")


class Noted(Serializer):
    def configure(self, configs: Any, is_key: bool) -> None:
        self.stages = configs["stages"]

    def serialize(self, topic: str, data: Any, headers: Any = None) -> bytes:
        self.stages.append("serialize")
        return bytes(data)


class Placed(Partitioner):
    def configure(self, configs: Any) -> None:
        self.stages = configs["stages"]

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: Cluster
    ) -> int:
        self.stages.append("partition")
        return 0


def test_the_stages_of_an_interceptor(broker: Broker) -> None:
    """004 生产者拦截器, 序列化, 分区器: on_send comes before serializer and partitioner, acknowledgement before the
    callback, close at the end.
    """
    stages: list[str] = []
    settings: dict[str, Any] = {"bootstrap.servers": broker.address, "stages": stages}
    settings |= {"interceptor.classes": [Stages], "value.serializer": Noted, "partitioner.class": Placed}
    with Producer(settings) as producer:
        producer.send("t", b"x", on_delivery=lambda *_: stages.append("callback")).result(10)
    assert stages == [
        "configure",
        "on_send",
        "serialize",
        "partition",
        "on_acknowledgement",
        "callback",
        "close",
    ]


def test_a_buffer_that_is_emptied_too_slowly_blocks_send(broker: Broker) -> None:
    """004: when records are sent too slowly, send blocks for max.block.ms, then raises; buffer.memory is the limit."""
    small = {"buffer.memory": 4096, "batch.size": 1024, "max.block.ms": 50}
    producer = Producer({"bootstrap.servers": broker.address, **small})
    producer.partitions_for("t")
    broker.stop()

    def fill() -> None:
        for _ in range(100):
            producer.send("t", b"x" * 100, partition=0)

    with pytest.raises(KafkaError, match=r"max\.block\.ms"):
        fill()
    broker.start()
    producer.close()


def test_metadata_is_asked_for_when_needed_and_when_old() -> None:
    """004 元数据的更新: with the first record of a topic, and again after metadata.max.age.ms."""

    async def main() -> None:
        async with (
            FakeCluster(1) as leader,
            aio.Producer(bootstrap_servers=leader.address, metadata_max_age_ms=20) as producer,
        ):
            assert not leader.asked(ApiKey.METADATA)
            await producer.send(TOPIC, b"x")
            async with asyncio.timeout(30):
                while len(leader.asked(ApiKey.METADATA)) < 3:  # noqa: ASYNC110 - of the fake leader, on this loop
                    await asyncio.sleep(0.001)

    asyncio.run(main())


def test_todays_defaults_of_the_parameters() -> None:
    """004 重要的生产者参数, with the defaults of today's Kafka: acks was 1, retries 0, linger.ms 0."""
    defaults = {key.name: key.default for key in keys.KEYS}
    assert defaults["acks"] == "all"
    assert defaults["retries"] == 2**31 - 1
    assert defaults["linger.ms"] == 5
    assert defaults["max.request.size"] == 1_048_576
    assert defaults["retry.backoff.ms"] == 100
    assert defaults["compression.type"] == "none"
    assert defaults["connections.max.idle.ms"] == 540_000
    assert defaults["receive.buffer.bytes"] == 32_768
    assert defaults["send.buffer.bytes"] == 131_072
    assert defaults["request.timeout.ms"] == 30_000
    assert defaults["max.in.flight.requests.per.connection"] == 5
    assert common.REQUEST_TIMEOUT_MS.name in defaults
