"""librdkafka, through confluent-kafka: produce, consume, administer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from support.patience import eventually

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def admin(server: Any) -> AdminClient:
    return AdminClient({"bootstrap.servers": server.address})


def create(server: Any, name: str, partitions: int = 1, **config: str) -> None:
    client = admin(server)  # kept until the answer is there: librdkafka drops what a collected handle asked
    client.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(60)


def produce(server: Any, topic: str, records: list[tuple[bytes | None, bytes | None]], **config: Any) -> list[Message]:
    delivered: list[Message] = []
    errors: list[Any] = []

    def on_delivery(error: Any, message: Message) -> None:
        (errors if error else delivered).append(error or message)

    producer = Producer({"bootstrap.servers": server.address, "linger.ms": 5, **config})
    for key, value in records:
        producer.produce(topic, key=key, value=value, partition=0, on_delivery=on_delivery)
    assert producer.flush(60) == 0
    assert not errors, errors
    return delivered


def consume(server: Any, topic: str, count: int, start: int = OFFSET_BEGINNING, **config: Any) -> list[Message]:
    consumer = Consumer(
        {"bootstrap.servers": server.address, "group.id": f"g-{topic}", "enable.auto.commit": False, **config}
    )
    try:
        consumer.assign([TopicPartition(topic, 0, start)])
        messages: list[Message] = []
        deadline = time.monotonic() + 60
        while len(messages) < count and time.monotonic() < deadline:
            for message in consumer.consume(1000, 0.5):
                assert message.error() is None, message.error()
                messages.append(message)
        return messages
    finally:
        consumer.close()


@pytest.mark.parametrize("codec", CODECS)
def test_round_trip_with_every_codec(server: Any, topic: Callable[[], str], codec: str) -> None:
    name = topic()
    create(server, name)
    records = [(b"k%d" % n, b"value %d " % n * 20) for n in range(500)]
    produce(server, name, records, **{"compression.type": codec})
    messages = consume(server, name, 500)
    assert [(m.key(), m.value()) for m in messages] == records
    assert [m.offset() for m in messages] == list(range(500))


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks(server: Any, topic: Callable[[], str], acks: str) -> None:
    name = topic()
    create(server, name)
    produce(server, name, [(None, b"x")] * 50, acks=acks)
    assert len(consume(server, name, 50)) == 50


def test_idempotent_producer(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    create(server, name)
    records: list[tuple[bytes | None, bytes | None]] = [(None, b"%d" % n) for n in range(3000)]
    delivered = produce(server, name, records, **{"enable.idempotence": True, "batch.num.messages": 10})
    assert [m.offset() for m in delivered] == list(range(3000))
    assert [m.value() for m in consume(server, name, 3000)] == [value for _, value in records]


def test_headers_null_and_empty(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    create(server, name)
    producer = Producer({"bootstrap.servers": server.address})
    producer.produce(name, key=None, value=None, headers=[("a", b"1"), ("a", None), ("empty", b"")], partition=0)
    producer.produce(name, key=b"", value=b"", partition=0, timestamp=1_600_000_000_000)
    assert producer.flush(60) == 0
    first, second = consume(server, name, 2)
    assert (first.key(), first.value()) == (None, None)
    assert first.headers() == [("a", b"1"), ("a", None), ("empty", b"")]
    assert (second.key(), second.value()) == (b"", b"")
    assert second.timestamp()[1] == 1_600_000_000_000


def test_large_and_too_large_records(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    create(server, name)
    large = bytes(900_000)
    produce(server, name, [(None, large)] * 5)
    assert [m.value() for m in consume(server, name, 5)] == [large] * 5
    with pytest.raises(AssertionError, match="MSG_SIZE_TOO_LARGE"):
        produce(server, name, [(None, bytes(1_500_000))], **{"message.max.bytes": 5_000_000})


def test_offsets_by_timestamp_and_watermarks(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    create(server, name)
    producer = Producer({"bootstrap.servers": server.address})
    for n in range(100):
        producer.produce(name, value=b"%d" % n, partition=0, timestamp=1_600_000_000_000 + n * 1000)
    producer.flush(60)
    consumer = Consumer({"bootstrap.servers": server.address, "group.id": "unused"})
    try:
        assert consumer.get_watermark_offsets(TopicPartition(name, 0), 60) == (0, 100)
        found = consumer.offsets_for_times([TopicPartition(name, 0, 1_600_000_042_500)], 60)
        assert found[0].offset == 43
        after = consumer.offsets_for_times([TopicPartition(name, 0, 1_700_000_000_000)], 60)
        assert after[0].offset == -1
    finally:
        consumer.close()
    client = admin(server)
    for spec, offset in [(OffsetSpec.earliest(), 0), (OffsetSpec.latest(), 100), (OffsetSpec.max_timestamp(), 99)]:
        assert client.list_offsets({TopicPartition(name, 0): spec})[TopicPartition(name, 0)].result(60).offset == offset


def test_topics_partitions_and_configs(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    client = admin(server)
    create(server, name, 2, **{"retention.ms": "3600000"})
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        create(server, name)
    assert len(client.list_topics(name, timeout=60).topics[name].partitions) == 2
    client.create_partitions([NewPartitions(name, 4)])[name].result(60)
    assert len(client.list_topics(name, timeout=60).topics[name].partitions) == 4
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    assert client.describe_configs([resource])[resource].result(60)["retention.ms"].value == "3600000"
    change = ConfigResource(
        ConfigResource.Type.TOPIC,
        name,
        incremental_configs=[
            ConfigEntry("max.message.bytes", "2000", incremental_operation=AlterConfigOpType.SET),
            ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE),
        ],
    )
    client.incremental_alter_configs([change])[change].result(60)
    configs = client.describe_configs([resource])[resource].result(60)
    assert configs["max.message.bytes"].value == "2000"
    assert configs["retention.ms"].value == "604800000"
    with pytest.raises(AssertionError, match="MSG_SIZE_TOO_LARGE"):
        produce(server, name, [(None, bytes(5000))])
    client.delete_topics([name])[name].result(60)
    eventually(lambda: client.list_topics(timeout=60).topics, lambda topics: name not in topics)


def test_delete_records(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    create(server, name)
    produce(server, name, [(None, b"%d" % n) for n in range(50)])
    client = admin(server)
    result = client.delete_records([TopicPartition(name, 0, 20)])[TopicPartition(name, 0)].result(60)
    assert result.low_watermark == 20
    assert [m.offset() for m in consume(server, name, 30)] == list(range(20, 50))


@pytest.mark.parametrize("bad", ["", ".", "..", "a" * 250, "sp ace", "sl/ash"])
def test_bad_topic_names(server: Any, bad: str) -> None:
    with pytest.raises((KafkaException, ValueError)):
        create(server, bad)


def test_cluster_is_described(server: Any) -> None:
    client = admin(server)
    cluster = client.describe_cluster().result(60)
    assert len(cluster.nodes) == 1
    assert cluster.controller is not None
    assert len(cluster.cluster_id) == 22


def test_a_thousand_partitions(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    create(server, name, 1000)
    producer = Producer({"bootstrap.servers": server.address, "linger.ms": 20})
    failures: list[Any] = []
    for n in range(1000):
        producer.produce(name, value=b"%d" % n, partition=n, on_delivery=lambda e, m: failures.append(e) if e else None)
    assert producer.flush(60) == 0
    assert not failures
    consumer = Consumer({"bootstrap.servers": server.address, "group.id": "g1000", "auto.offset.reset": "earliest"})
    try:
        consumer.assign([TopicPartition(name, n, 0) for n in range(1000)])
        seen: set[int] = set()
        deadline = time.monotonic() + 60
        while len(seen) < 1000 and time.monotonic() < deadline:
            seen |= {m.partition() for m in consumer.consume(1000, 0.5) if m.error() is None}
        assert len(seen) == 1000
    finally:
        consumer.close()
