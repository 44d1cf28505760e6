"""kafka-python and aiokafka in groups and, for those who have them, in transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import aiokafka
from kafka import KafkaConsumer, KafkaProducer, TopicPartition


def test_kafka_python_group(server: Any, filled: Callable[..., str]) -> None:
    name = filled(3, 30)
    settings: dict[str, Any] = {
        "bootstrap_servers": server.address,
        "group_id": f"{name}-group",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
    member = KafkaConsumer(name, consumer_timeout_ms=60_000, **settings)
    seen = [next(member).value for _ in range(30)]
    assert sorted(seen) == sorted(b"value %d" % number for number in range(30))
    member.commit()
    member.close()
    again = KafkaConsumer(**settings)
    assert [again.committed(TopicPartition(name, number)) for number in range(3)] == [10, 10, 10]
    again.close()


def test_kafka_python_transaction(server: Any, filled: Callable[..., str]) -> None:
    name = filled(1, 0)
    producer = KafkaProducer(bootstrap_servers=server.address, transactional_id=f"{name}-id")
    producer.init_transactions()
    for committed in (False, True):
        producer.begin_transaction()
        producer.send(name, b"yes" if committed else b"no").get(60)
        if committed:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()
    reader = KafkaConsumer(
        name,
        bootstrap_servers=server.address,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        consumer_timeout_ms=60_000,
    )
    assert next(reader).value == b"yes"
    reader.close()


def test_aiokafka_group_rebalances(server: Any, filled: Callable[..., str]) -> None:
    name = filled(4, 40)

    async def run() -> None:
        settings: dict[str, Any] = {
            "bootstrap_servers": server.address,
            "group_id": f"{name}-group",
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "heartbeat_interval_ms": 300,
            "session_timeout_ms": 30_000,
        }
        first = aiokafka.AIOKafkaConsumer(name, **settings)
        await first.start()
        seen = [await asyncio.wait_for(first.getone(), 60) for _ in range(40)]
        assert len({record.value for record in seen}) == 40
        await first.commit()
        second = aiokafka.AIOKafkaConsumer(name, **settings)
        await second.start()
        async with asyncio.timeout(120):
            while len(first.assignment()) != 2 or len(second.assignment()) != 2:  # noqa: ASYNC110 - no event for it
                await asyncio.sleep(0.05)
        await first.stop()
        async with asyncio.timeout(120):
            while len(second.assignment()) != 4:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.05)
        assert [await second.committed(partition) for partition in sorted(second.assignment())] == [10] * 4
        await second.stop()

    asyncio.run(run())


def test_aiokafka_exactly_once(server: Any, filled: Callable[..., str]) -> None:
    source, target = filled(1, 20), filled(1, 0)

    async def run() -> None:
        reader = aiokafka.AIOKafkaConsumer(
            source,
            bootstrap_servers=server.address,
            group_id=f"{source}-copy",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        writer = aiokafka.AIOKafkaProducer(bootstrap_servers=server.address, transactional_id=f"{source}-id")
        await reader.start()
        await writer.start()
        copied = 0
        while copied < 20:
            batch = await reader.getmany(timeout_ms=5000, max_records=7)
            async with writer.transaction():
                for partition, records in batch.items():
                    for record in records:
                        await writer.send(target, record.value)
                        copied += 1
                    await writer.send_offsets_to_transaction({partition: records[-1].offset + 1}, f"{source}-copy")
        await writer.stop()
        partition = next(iter(reader.assignment()))
        async with asyncio.timeout(60):  # offsets count when their marker is written, after the commit was answered
            while await reader.committed(partition) != 20:  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0.05)
        await reader.stop()
        check = aiokafka.AIOKafkaConsumer(
            target,
            bootstrap_servers=server.address,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        await check.start()
        seen = [(await asyncio.wait_for(check.getone(), 60)).value for _ in range(20)]
        assert seen == [b"value %d" % number for number in range(20)]
        await check.stop()

    asyncio.run(run())
