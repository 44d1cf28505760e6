"""Rows of columns, written by the one producer over a test's own connections, and waited for."""

from __future__ import annotations

from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer.aio import Producer
from tidelog.client.producer.columns import WrittenRows


async def write_rows(cluster: ClusterClient, topic: str, **columns: Any) -> list[WrittenRows]:
    """Where they are; `columns` are `send_arrow`'s, None for those that are not there."""
    async with Producer.over(cluster) as producer:
        return await send_rows(producer, topic, **columns)


async def send_rows(producer: Producer, topic: str, **columns: Any) -> list[WrittenRows]:
    """The same with a producer that is there already."""
    return await (await producer.send_arrow(topic, {name: rows for name, rows in columns.items() if rows is not None}))


async def begun(cluster: ClusterClient, transactional_id: str) -> Producer:
    """A producer in a transaction that somebody else may end."""
    producer = Producer.over(cluster, detachable=True, transactional_id=transactional_id)
    await producer.init_transactions()
    producer.begin_transaction()
    return producer
