"""Tidelog's own: the blocking producer and consumer; `wait` is the asyncio producer."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import uvloop
from record_clients.worker import (
    AT_ONCE,
    BATCH_BYTES,
    FETCH_BYTES,
    LINGER_MS,
    POLL_SECONDS,
    REQUEST_BYTES,
    WAITERS,
    Run,
)

from tidelog import Consumer, Producer, TopicPartition, aio


def _settings(run: Run, linger: int = LINGER_MS) -> dict[str, Any]:
    return {
        "bootstrap.servers": run.address,
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": linger,
        "batch.size": BATCH_BYTES,
        "max.request.size": REQUEST_BYTES,
    }


def send(run: Run) -> None:
    with Producer(_settings(run)) as producer:
        producer.send(run.topic, run.value).result(30)
        put, topic, value = producer.send, run.topic, run.value
        run.start()
        for _ in range(run.count):
            put(topic, value)
        producer.flush(120)
        run.stop()


def futures(run: Run) -> None:
    with Producer(_settings(run)) as producer:
        producer.send(run.topic, run.value).result(30)
        put, topic, value = producer.send, run.topic, run.value
        run.start()
        kept = [put(topic, value) for _ in range(run.count)]
        offsets = [one.result(120).offset for one in kept]
        run.stop()
        assert len(offsets) == run.count


def wait(run: Run) -> None:
    async def main() -> None:
        async with aio.Producer(_settings(run)) as producer:
            await producer.send(run.topic, run.value)

            async def waiter() -> None:
                for _ in range(run.count // WAITERS):
                    await producer.send(run.topic, run.value)

            run.start()
            await asyncio.gather(*[waiter() for _ in range(WAITERS)])
            run.stop()

    uvloop.run(main())


def lone(run: Run) -> None:
    with Producer(_settings(run, linger=0)) as producer:
        for _ in range(run.count):
            began = time.perf_counter()
            producer.send(run.topic, run.value).result(30)
            run.latencies.append(time.perf_counter() - began)


def _consumer(run: Run) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": run.address,
            "auto.offset.reset": "earliest",
            "max.partition.fetch.bytes": FETCH_BYTES,
            "max.poll.records": AT_ONCE,
        }
    )
    consumer.partitions_for(run.topic)
    return consumer


def consume(run: Run) -> None:
    with _consumer(run) as consumer:
        seen = size = 0
        run.start()
        consumer.assign([TopicPartition(run.topic, 0)])
        while seen < run.count:
            records = consumer.poll(POLL_SECONDS)
            for record in records:
                size += len(record.value)
            seen += len(records)
        run.stop()
        run.check(seen, size)


def iterate(run: Run) -> None:
    with _consumer(run) as consumer:
        seen = size = 0
        run.start()
        consumer.assign([TopicPartition(run.topic, 0)])
        for record in consumer:
            size += len(record.value)
            seen += 1
            if seen == run.count:
                break
        run.stop()
        run.check(seen, size)
