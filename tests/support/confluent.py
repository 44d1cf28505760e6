"""A foreign client in a few words: topics, configs and records of any broker, by librdkafka."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType


def produce(address: str, topic: str, values: list[bytes], **settings: object) -> None:
    producer = Producer({"bootstrap.servers": address, **settings})
    if "transactional.id" in settings:
        producer.init_transactions(60)
        producer.begin_transaction()
    failures: list[object] = []
    for value in values:
        producer.produce(
            topic, value, key=value, on_delivery=lambda error, _: failures.append(error) if error else None
        )
    assert producer.flush(60) == 0
    assert not failures, failures[0]
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


def create(address: str, *topics: NewTopic) -> None:
    """Make topics, and wait until the broker shows them."""
    admin = AdminClient({"bootstrap.servers": address})
    for topic in topics:
        while True:
            try:
                admin.create_topics([topic])[topic.topic].result(60)
                break
            except KafkaException as error:  # a ZooKeeper-mode Kafka is still deleting one of that name
                if "marked for deletion" not in str(error):
                    raise
                time.sleep(0.1)
        while _partitions(admin, topic.topic) != topic.num_partitions:
            time.sleep(0.1)


def _partitions(admin: AdminClient, topic: str) -> int:
    found = admin.list_topics(timeout=60).topics.get(topic)
    return len(found.partitions) if found is not None and found.error is None else 0


def delete(address: str, name: str) -> None:
    """Delete a topic, and wait until the broker shows it no more: until then it may take records to their grave."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.delete_topics([name])[name].result(60)
    while _partitions(admin, name):
        time.sleep(0.1)


def alter(address: str, topic: str, **changes: str | None) -> None:
    """Set (or, with None, unset) configs; underscores stand for dots."""
    entries = [
        ConfigEntry(
            name.replace("_", "."),
            value or "",
            incremental_operation=AlterConfigOpType.SET if value is not None else AlterConfigOpType.DELETE,
        )
        for name, value in changes.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": address})
    admin.incremental_alter_configs([resource])[resource].result(60)
