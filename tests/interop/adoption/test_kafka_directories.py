"""A stopped Apache Kafka's directory, served: its topics, records, groups, configs and ids are there."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker
from tidelog.testing import Broker

pytestmark = pytest.mark.java

RECORDS = 200


def produce(address: str, topic: str, values: list[bytes], **settings: object) -> None:
    producer = Producer({"bootstrap.servers": address, **settings})
    if "transactional.id" in settings:
        producer.init_transactions(60)
        producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, key=value)
    assert producer.flush(60) == 0
    if "transactional.id" in settings:
        producer.commit_transaction(60)


def consume(address: str, topic: str, count: int, group: str | None = None) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group or "none",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    if group is None:
        while not (partitions := consumer.list_topics(topic, 60).topics[topic].partitions):
            time.sleep(0.1)  # a Kafka that has just started does not know its topics yet
        consumer.assign([TopicPartition(topic, index, 0) for index in partitions])
    else:
        consumer.subscribe([topic])
    values: list[bytes] = []
    while len(values) < count:
        messages = consumer.consume(count - len(values), 60)
        assert messages, f"only {len(values)} of {count}"
        for message in messages:
            assert message.error() is None or message.error().retriable(), message.error()
        values += [message.value() for message in messages if message.error() is None]
    if group is not None:
        consumer.commit(asynchronous=False)
    consumer.close()
    return values


def configs(address: str, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": address})
    described = admin.describe_configs([resource])[resource].result(60)
    return {entry.name: entry.value for entry in described.values() if entry.source == 1}


@pytest.mark.parametrize(
    ("version", "mode"), [(KAFKA_4, "kraft"), (KAFKA_3, "kraft"), (KAFKA_3, "zookeeper")], ids=lambda value: str(value)
)
def test_a_stopped_kafka_is_served_and_can_go_back(tmp_path, version, mode):
    values = [f"v{i}".encode() for i in range(RECORDS)]
    kafka = KafkaBroker(version, tmp_path / "kafka", mode=mode, properties={"offsets.topic.num.partitions": "3"})
    try:
        kafka.start()
        admin = AdminClient({"bootstrap.servers": kafka.address})
        settings = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
        for future in admin.create_topics([NewTopic("plain", 3, 1), NewTopic("kept", 1, 1, config=settings)]).values():
            future.result(60)
        produce(kafka.address, "plain", values)
        produce(kafka.address, "kept", values[:10], **{"transactional.id": "tx", "compression.type": "lz4"})
        assert sorted(consume(kafka.address, "plain", 50, "readers"))
        kafka.stop()
        names = {path.name for path in kafka.data.iterdir()}

        with Broker(kafka.data) as tidelog:
            server = tidelog.server
            assert server.metadata.cluster_id == tidelog.server.metadata.cluster_id != ""
            assert {"plain", "kept", "__consumer_offsets", "__transaction_state"} <= set(server.metadata.topics)
            assert sorted(consume(tidelog.address, "plain", RECORDS)) == sorted(values)
            assert consume(tidelog.address, "kept", 10) == values[:10]
            # The group goes on where it had committed.
            assert len(consume(tidelog.address, "plain", RECORDS - 50, "readers")) == RECORDS - 50
            assert configs(tidelog.address, "kept") == (settings if mode == "kraft" else {})
            guarded = [name for name in ("plain", "kept") if server.configs.is_guarded(name)]
            assert guarded == ([] if mode == "kraft" else ["plain", "kept"])
            for name in guarded:
                config = server.configs.log_config(name)
                assert (config.retention_ms, config.retention_bytes, config.compact) == (-1, -1, False)
            seen = max(max(log.producers.entries, default=-1) for log in server.log_manager.logs.values())
            assert tidelog.call(server.producer_ids.next()) > seen
            produce(tidelog.address, "plain", [b"ours"])
            if guarded:
                _set_config(tidelog.address, "kept", "cleanup.policy", "compact")
                assert not server.configs.is_guarded("kept")
                tidelog.restart()
                assert tidelog.server.configs.log_config("kept").compact
                assert tidelog.server.configs.is_guarded("plain")
        assert names <= {path.name for path in kafka.data.iterdir()}, "nothing was removed"

        kafka.start()
        assert sorted(consume(kafka.address, "plain", RECORDS + 1)) == sorted([*values, b"ours"])
    finally:
        kafka.close()


def _set_config(address: str, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": address})
    admin.incremental_alter_configs([resource])[resource].result(60)
