"""aiokafka: asyncio, old non-flexible versions only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic


async def create(server: Any, name: str, partitions: int = 1) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=server.address)
    await client.start()
    try:
        await client.create_topics([NewTopic(name, partitions, 1)])
    finally:
        await client.close()


async def read(server: Any, topic: str, count: int, **config: Any) -> list[Any]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=server.address, auto_offset_reset="earliest", enable_auto_commit=False, **config
    )
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return [await asyncio.wait_for(consumer.getone(), 60) for _ in range(count)]
    finally:
        await consumer.stop()


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_round_trip_with_every_codec(server: Any, topic: Callable[[], str], codec: str | None) -> None:
    name = topic()

    async def run() -> None:
        await create(server, name)
        producer = AIOKafkaProducer(bootstrap_servers=server.address, compression_type=codec, linger_ms=5)
        await producer.start()
        futures = [await producer.send(name, b"v%d" % n * 10, key=b"k%d" % n, partition=0) for n in range(200)]
        assert [(await future).offset for future in futures] == list(range(200))
        await producer.stop()
        records = await read(server, name, 200)
        assert [(r.key, r.value) for r in records] == [(b"k%d" % n, b"v%d" % n * 10) for n in range(200)]

    asyncio.run(run())


def test_idempotent_producer(server: Any, topic: Callable[[], str]) -> None:
    name = topic()

    async def run() -> None:
        await create(server, name)
        producer = AIOKafkaProducer(bootstrap_servers=server.address, enable_idempotence=True)
        await producer.start()
        for n in range(100):
            await producer.send_and_wait(name, b"%d" % n, partition=0)
        await producer.stop()
        assert [r.value for r in await read(server, name, 100)] == [b"%d" % n for n in range(100)]

    asyncio.run(run())


def test_long_poll_wakes_at_once(server: Any, topic: Callable[[], str]) -> None:
    """A consumer that waits gets a record when it is written, not at the end of fetch.max.wait.ms, in five minutes."""
    name = topic()

    async def run() -> None:
        await create(server, name)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=server.address,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=300_000,
            request_timeout_ms=600_000,
        )
        producer = AIOKafkaProducer(bootstrap_servers=server.address)
        await consumer.start()
        await producer.start()
        consumer.assign([TopicPartition(name, 0)])
        waiting = asyncio.ensure_future(consumer.getone())
        await asyncio.sleep(0.5)  # that its fetch waits by now, nobody tells
        await producer.send_and_wait(name, b"now", partition=0)
        record = await asyncio.wait_for(waiting, 120)
        assert record.value == b"now"
        await consumer.stop()
        await producer.stop()

    asyncio.run(run())
