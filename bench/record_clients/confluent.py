"""confluent-kafka (librdkafka). Its queues are widened: the defaults stall against a fast broker (see client_fetch.py).

It has no futures: `futures` is its callback for each record. `wait` is its own AIOProducer, which calls librdkafka on
threads.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from record_clients.worker import AT_ONCE, BATCH_BYTES, FETCH_BYTES, LINGER_MS, POLL_SECONDS, WAITERS, Run

QUIET = {"log_level": 3}


def _settings(run: Run, linger: int = LINGER_MS) -> dict[str, Any]:
    return {
        "bootstrap.servers": run.address,
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": linger,
        "batch.size": BATCH_BYTES,
        "queue.buffering.max.messages": 500_000,
        "queue.buffering.max.kbytes": 1 << 20,
        **QUIET,
    }


def _producer(run: Run, linger: int = LINGER_MS) -> Producer:
    producer = Producer(_settings(run, linger))
    producer.produce(run.topic, run.value)
    producer.flush(30)
    return producer


def send(run: Run) -> None:
    producer = _producer(run)
    produce, topic, value = producer.produce, run.topic, run.value
    run.start()
    for _ in range(run.count):
        try:
            produce(topic, value)
        except BufferError:
            producer.poll(0.01)
            produce(topic, value)
    if producer.flush(120):
        raise SystemExit("not everything was acknowledged")
    run.stop()


def futures(run: Run) -> None:
    producer, offsets, errors = _producer(run), [0], [0]

    def delivered(error: object, message: Message) -> None:
        if error is None:
            offsets[0] += message.offset() is not None
        else:
            errors[0] += 1

    produce, topic, value = producer.produce, run.topic, run.value
    run.start()
    for number in range(run.count):
        try:
            produce(topic, value, on_delivery=delivered)
        except BufferError:
            producer.poll(0.01)
            produce(topic, value, on_delivery=delivered)
        if not number % 1000:
            producer.poll(0)
    producer.flush(120)
    run.stop()
    if offsets[0] != run.count:
        raise SystemExit(f"{errors[0]} errors, {offsets[0]} acknowledged")


def wait(run: Run) -> None:
    from confluent_kafka.aio import AIOProducer

    async def main() -> None:
        producer = AIOProducer(_settings(run), buffer_timeout=LINGER_MS / 1000)

        async def waiter() -> None:
            for _ in range(run.count // WAITERS):
                await (await producer.produce(run.topic, run.value))

        await (await producer.produce(run.topic, run.value))
        run.start()
        await asyncio.gather(*[waiter() for _ in range(WAITERS)])
        run.stop()
        await producer.close()

    asyncio.run(main())


def lone(run: Run) -> None:
    producer = _producer(run, linger=0)
    for _ in range(run.count):
        began = time.perf_counter()
        producer.produce(run.topic, run.value)
        producer.flush(30)
        run.latencies.append(time.perf_counter() - began)


def _consumer(run: Run) -> Consumer:
    settings = {
        "bootstrap.servers": run.address,
        "group.id": "bench",
        "enable.auto.commit": False,
        "check.crcs": True,
        "queued.min.messages": 1_000_000,
        "queued.max.messages.kbytes": 1 << 20,
        "fetch.queue.backoff.ms": 1,
        "max.partition.fetch.bytes": FETCH_BYTES,
        **QUIET,
    }
    consumer = Consumer(settings)
    consumer.list_topics(run.topic, 30)
    return consumer


def consume(run: Run) -> None:
    consumer, seen, size = _consumer(run), 0, 0
    run.start()
    consumer.assign([TopicPartition(run.topic, 0, 0)])
    while seen < run.count:
        messages = consumer.consume(AT_ONCE, POLL_SECONDS)
        for message in messages:
            size += len(message.value())
        seen += len(messages)
    run.stop()
    run.check(seen, size)
    consumer.close()


def iterate(run: Run) -> None:
    consumer, seen, size = _consumer(run), 0, 0
    run.start()
    consumer.assign([TopicPartition(run.topic, 0, 0)])
    while seen < run.count:
        message = consumer.poll(POLL_SECONDS)
        if message is not None:
            size += len(message.value())
            seen += 1
    run.stop()
    run.check(seen, size)
    consumer.close()
