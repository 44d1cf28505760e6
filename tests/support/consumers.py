"""Consumers of both faces behind one, for tests that hold for either; and records for them to read.

    with face.consumer(broker, group_id="g") as consumer:
        consumer.subscribe(["t"])
        take(consumer, 10)

The asyncio face is driven from plain code on a loop of its own, which stands still between two calls: what it does is
then done within the calls, so a test must not count on heartbeats in between.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import uvloop

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.consumer import aio, blocking
from tidelog.client.consumer._records import ConsumerRecord
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import ProduceRequest
from tidelog.records.format.builder import BatchBuilder
from tidelog.testing import Broker

#: Quick enough for tests, and within what brokers allow.
QUICK = {"fetch_max_wait_ms": 50, "retry_backoff_ms": 10, "heartbeat_interval_ms": 100}
PATIENCE_SECONDS = 30


class Driven:
    """An asyncio client whose methods can be called: coroutines are run on its loop."""

    def __init__(self, make: Callable[[], Any], new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self.loop = new_loop()
        self.client = self._run(_made(make))

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.client, name)

        def call(*arguments: Any, **keywords: Any) -> Any:
            outcome = attribute(*arguments, **keywords)
            return self._run(outcome) if inspect.isawaitable(outcome) else outcome

        return call if callable(attribute) else attribute

    def _run(self, coroutine: Any) -> Any:
        return self.loop.run_until_complete(coroutine)

    def close(self, *arguments: Any) -> None:
        if not self.loop.is_closed():
            self._run(self.client.close(*arguments))
            self._run(self.loop.shutdown_default_executor())
            self.loop.close()

    def __iter__(self) -> Any:
        records = self.client.__aiter__()
        while True:
            yield self._run(records.__anext__())

    def __enter__(self) -> Driven:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _made(make: Callable[[], Any]) -> Any:
    return make()


class Face:
    """One of the ways to use a consumer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def consumer(self, broker: Broker | str, *, more: dict[str, Any] | None = None, **keywords: Any) -> Any:
        """A consumer that begins at the beginning, unless the keywords say otherwise; `more` is others' settings."""
        address = broker if isinstance(broker, str) else broker.address
        settings = {"bootstrap_servers": address, "auto_offset_reset": "earliest", **QUICK, **keywords}
        if settings.get("group_protocol") == "consumer":
            settings.pop("heartbeat_interval_ms")
        if self.name == "blocking":
            return blocking.Consumer(more, **settings)
        loops = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
        return Driven(lambda: aio.Consumer(more, **settings), loops[self.name])


FACES = [Face("blocking"), Face("asyncio"), Face("uvloop")]


def take(consumer: Any, count: int) -> list[ConsumerRecord]:
    """Poll until so many records were returned."""
    records: list[ConsumerRecord] = []
    while len(records) < count:
        polled = consumer.poll(PATIENCE_SECONDS)
        assert polled, f"only {len(records)} of {count} records came"
        records += polled
    return records


def values(records: Iterable[ConsumerRecord]) -> list[Any]:
    return [record.value for record in records]


def write(broker: Broker | str, tp: TopicPartition, *batches: bytes | list[str]) -> int:
    """Append batches (or lists of values) to a partition, one request each; the first offset."""
    address = broker if isinstance(broker, str) else broker.address

    async def send() -> int:
        async with ClusterClient({"bootstrap.servers": address}) as cluster:
            made = [batch if isinstance(batch, bytes) else of(*batch) for batch in batches]
            offsets = [await _append(cluster, tp, batch) for batch in made]
            return offsets[0]

    return asyncio.run(send())


async def _append(cluster: ClusterClient, tp: TopicPartition, batch: bytes) -> int:
    async def once() -> int:
        leader = await cluster.node((await cluster.leader(tp)).id)
        partition = ProduceRequest.PartitionProduceData(index=tp.partition, records=batch)
        topic = ProduceRequest.TopicProduceData(name=tp.topic, partition_data=[partition])
        response = await leader.send(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic]), highest=12)
        answer = response.responses[0].partition_responses[0]
        if answer.error_code:
            raise KafkaError(answer.error_code)
        return int(answer.base_offset)

    return await cluster.retry(once)


def of(*texts: str | None, timestamp: int = 1_700_000_000_000, **options: Any) -> bytes:
    """A batch of these values; each has its own text as key, too."""
    builder = BatchBuilder(**options)
    for index, text in enumerate(texts):
        value = None if text is None else text.encode()
        builder.append(timestamp + index, value, value)
    return builder.build()


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)
