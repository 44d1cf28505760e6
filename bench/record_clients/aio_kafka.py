"""aiokafka, on uvloop, as ours is. `send` is awaited for room in the batch, and gives a future."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from record_clients.worker import AT_ONCE, BATCH_BYTES, FETCH_BYTES, LINGER_MS, REQUEST_BYTES, WAITERS, Run

Work = Callable[[AIOKafkaProducer], Awaitable[None]]


def _produce(run: Run, work: Work, linger: int = LINGER_MS) -> None:
    async def main() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=run.address,
            acks="all",
            enable_idempotence=True,
            linger_ms=linger,
            max_batch_size=BATCH_BYTES,
            max_request_size=REQUEST_BYTES,
        )
        await producer.start()
        await producer.send_and_wait(run.topic, run.value)
        await work(producer)
        await producer.stop()

    uvloop.run(main())


def send(run: Run) -> None:
    async def work(producer: AIOKafkaProducer) -> None:
        put, topic, value = producer.send, run.topic, run.value
        run.start()
        for _ in range(run.count):
            await put(topic, value)
        await producer.flush()
        run.stop()

    _produce(run, work)


def futures(run: Run) -> None:
    async def work(producer: AIOKafkaProducer) -> None:
        put, topic, value = producer.send, run.topic, run.value
        run.start()
        kept = [await put(topic, value) for _ in range(run.count)]
        offsets = [(await one).offset for one in kept]
        run.stop()
        assert len(offsets) == run.count

    _produce(run, work)


def wait(run: Run) -> None:
    async def work(producer: AIOKafkaProducer) -> None:
        async def waiter() -> None:
            for _ in range(run.count // WAITERS):
                await producer.send_and_wait(run.topic, run.value)

        run.start()
        await asyncio.gather(*[waiter() for _ in range(WAITERS)])
        run.stop()

    _produce(run, work)


def lone(run: Run) -> None:
    async def work(producer: AIOKafkaProducer) -> None:
        for _ in range(run.count):
            began = time.perf_counter()
            await producer.send_and_wait(run.topic, run.value)
            run.latencies.append(time.perf_counter() - began)

    _produce(run, work, linger=0)


def _consume(run: Run, work: Callable[[AIOKafkaConsumer], Awaitable[tuple[int, int]]]) -> None:
    async def main() -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=run.address,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=FETCH_BYTES,
        )
        await consumer.start()
        partition = TopicPartition(run.topic, 0)
        consumer.assign([partition])
        run.start()
        consumer.seek(partition, 0)
        seen, size = await work(consumer)
        run.stop()
        run.check(seen, size)
        await consumer.stop()

    uvloop.run(main())


def consume(run: Run) -> None:
    async def work(consumer: AIOKafkaConsumer) -> tuple[int, int]:
        seen = size = 0
        while seen < run.count:
            for records in (await consumer.getmany(timeout_ms=30_000, max_records=AT_ONCE)).values():
                for record in records:
                    size += len(record.value)
                seen += len(records)
        return seen, size

    _consume(run, work)


def iterate(run: Run) -> None:
    async def work(consumer: AIOKafkaConsumer) -> tuple[int, int]:
        seen = size = 0
        async for record in consumer:
            size += len(record.value)
            seen += 1
            if seen == run.count:
                break
        return seen, size

    _consume(run, work)
