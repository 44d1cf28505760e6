"""Copies a topic exactly once until it is killed: python copier.py HOST:PORT IN OUT GROUP TRANSACTIONAL_ID [PROTOCOL]

Transactions of up to 100 records; what goes wrong in a way that can be aborted is aborted and read again, anything else
ends the process, and the test starts another one.
"""

from __future__ import annotations

import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition


def rewind(consumer: Consumer) -> None:
    """Read again from what is committed."""
    partitions = consumer.assignment()
    for partition in consumer.committed(partitions, 15) if partitions else ():
        consumer.seek(TopicPartition(partition.topic, partition.partition, max(partition.offset, 0)))


def copy(consumer: Consumer, producer: Producer, target: str) -> None:
    records = [record for record in consumer.consume(100, 0.5) if record.error() is None]
    if not records:
        return
    producer.begin_transaction()
    try:
        for record in records:
            producer.produce(target, record.value(), record.key(), partition=record.partition())
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(
            [partition for partition in positions if partition.offset >= 0], consumer.consumer_group_metadata(), 15
        )
        producer.commit_transaction(15)
    except KafkaException as error:
        cause = error.args[0]
        while cause.retriable():
            try:
                producer.commit_transaction(15)
                return
            except KafkaException as again:
                cause = again.args[0]
        if not cause.txn_requires_abort():
            raise
        producer.abort_transaction(15)
        rewind(consumer)


def main() -> None:
    address, source, target, group, transactional_id, *protocol = sys.argv[1:]
    new = protocol == ["consumer"]
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            **({"group.protocol": "consumer"} if new else {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}),
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": address,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 10_000,
            "linger.ms": 0,
        }
    )
    producer.init_transactions(20)
    consumer.subscribe([source])
    while True:
        copy(consumer, producer, target)


if __name__ == "__main__":
    main()
