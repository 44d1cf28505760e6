"""kafka-python. Its `send` always makes a future; it has no coroutines."""

from __future__ import annotations

import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from record_clients.worker import (
    AT_ONCE,
    BATCH_BYTES,
    FETCH_BYTES,
    LINGER_MS,
    POLL_SECONDS,
    REQUEST_BYTES,
    Run,
)


def _producer(run: Run, linger: int = LINGER_MS) -> KafkaProducer:
    producer = KafkaProducer(
        bootstrap_servers=run.address,
        acks="all",
        enable_idempotence=True,
        linger_ms=linger,
        batch_size=BATCH_BYTES,
        max_request_size=REQUEST_BYTES,
    )
    producer.send(run.topic, run.value).get(30)
    return producer


def send(run: Run) -> None:
    producer = _producer(run)
    put, topic, value = producer.send, run.topic, run.value
    run.start()
    for _ in range(run.count):
        put(topic, value)
    producer.flush(120)
    run.stop()
    producer.close()


def futures(run: Run) -> None:
    producer = _producer(run)
    put, topic, value = producer.send, run.topic, run.value
    run.start()
    kept = [put(topic, value) for _ in range(run.count)]
    offsets = [one.get(120).offset for one in kept]
    run.stop()
    if len(offsets) != run.count:
        raise SystemExit("not everything was acknowledged")
    producer.close()


def lone(run: Run) -> None:
    producer = _producer(run, linger=0)
    for _ in range(run.count):
        began = time.perf_counter()
        producer.send(run.topic, run.value).get(30)
        run.latencies.append(time.perf_counter() - began)
    producer.close()


def _consumer(run: Run) -> KafkaConsumer:
    consumer = KafkaConsumer(
        bootstrap_servers=run.address,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=FETCH_BYTES,
        max_poll_records=AT_ONCE,
        consumer_timeout_ms=POLL_SECONDS * 1000,
    )
    partition = TopicPartition(run.topic, 0)
    consumer.partitions_for_topic(run.topic)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    return consumer


def consume(run: Run) -> None:
    consumer, seen, size = _consumer(run), 0, 0
    run.start()
    while seen < run.count:
        for records in consumer.poll(POLL_SECONDS * 1000).values():
            for record in records:
                size += len(record.value)
            seen += len(records)
    run.stop()
    run.check(seen, size)
    consumer.close()


def iterate(run: Run) -> None:
    consumer, seen, size = _consumer(run), 0, 0
    run.start()
    for record in consumer:
        size += len(record.value)
        seen += 1
        if seen == run.count:
            break
    run.stop()
    run.check(seen, size)
    consumer.close()
