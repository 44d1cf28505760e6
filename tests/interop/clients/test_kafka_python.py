"""kafka-python: a client in pure Python, idempotent by default, with capped versions."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

CODECS = [None, "gzip", "snappy", "lz4", "zstd"]


def create(server: Any, name: str, partitions: int = 1) -> None:
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        client.create_topics([NewTopic(name, partitions, 1)])


def read(server: Any, topic: str, count: int, **config: Any) -> list[Any]:
    consumer = KafkaConsumer(
        bootstrap_servers=server.address,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=60_000,
        **config,
    )
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return list(itertools.islice(consumer, count))
    finally:
        consumer.close()


@pytest.mark.parametrize("codec", CODECS)
def test_round_trip_with_every_codec(server: Any, topic: Callable[[], str], codec: str | None) -> None:
    name = topic()
    create(server, name)
    producer = KafkaProducer(bootstrap_servers=server.address, compression_type=codec, linger_ms=5)
    for n in range(300):
        producer.send(name, key=b"k%d" % n, value=b"value %d " % n * 10, headers=[("n", b"%d" % n)], partition=0)
    producer.flush()
    producer.close()
    records = read(server, name, 300)
    assert [(r.offset, r.key, r.value) for r in records] == [(n, b"k%d" % n, b"value %d " % n * 10) for n in range(300)]
    assert records[7].headers == [("n", b"7")]


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_acks(server: Any, topic: Callable[[], str], acks: int | str) -> None:
    name = topic()
    create(server, name)
    producer = KafkaProducer(bootstrap_servers=server.address, acks=acks, enable_idempotence=acks == "all")
    futures = [producer.send(name, b"x", partition=0) for _ in range(20)]
    offsets = [future.get(60).offset for future in futures]
    if acks != 0:  # nobody told the producer its offsets
        assert offsets == list(range(20))
    producer.close()
    assert len(read(server, name, 20)) == 20


def test_seek_offsets_and_times(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    create(server, name)
    producer = KafkaProducer(bootstrap_servers=server.address)
    for n in range(30):
        producer.send(name, b"%d" % n, partition=0, timestamp_ms=1_600_000_000_000 + n)
    producer.flush()
    producer.close()
    partition = TopicPartition(name, 0)
    consumer = KafkaConsumer(bootstrap_servers=server.address, consumer_timeout_ms=60_000)
    consumer.assign([partition])
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 30}
    assert consumer.offsets_for_times({partition: 1_600_000_000_010})[partition].offset == 10
    consumer.seek(partition, 25)
    assert [next(consumer).offset for _ in range(5)] == [25, 26, 27, 28, 29]
    consumer.close()


def test_topic_errors(server: Any, topic: Callable[[], str]) -> None:
    name = topic()
    create(server, name, 3)
    with pytest.raises(TopicAlreadyExistsError):
        create(server, name)
    client = KafkaAdminClient(bootstrap_servers=server.address)
    assert name in client.list_topics()
    client.delete_topics([name])
    with pytest.raises(UnknownTopicOrPartitionError):
        client.delete_topics([name])
    client.close()
