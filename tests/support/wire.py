"""A plain client for tests of the broker's data plane: whole requests out, whole responses back."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop

from support.mini_broker import MiniBroker
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request
from tidelog.protocol.message import Message
from tidelog.protocol.messages import FetchRequest, ProduceRequest
from tidelog.records.format.builder import BatchBuilder

NOW = 1_800_000_000_000


class WireClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._correlation = 0

    def send(self, key: ApiKey, version: int, message: Message, client_id: str = "test") -> int:
        self._correlation += 1
        self.writer.write(encode_request(key, version, self._correlation, client_id, message))
        return self._correlation

    async def receive_frame(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return await self.reader.readexactly(size)

    async def receive(self, key: ApiKey, version: int) -> Any:
        return decode_response(key, version, await self.receive_frame())[1]

    async def ask(self, key: ApiKey, version: int, message: Message) -> Any:
        correlation = self.send(key, version, message)
        found, response = decode_response(key, version, await self.receive_frame())
        assert found == correlation
        return response

    async def closed(self) -> bool:
        """Whether the broker closes the connection without another byte."""
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True

    # -- the usual requests ------------------------------------------------------------------------------------------

    async def produce(
        self, topic: str | bytes, data: Any, *, version: int = 9, partition: int = 0, **fields: Any
    ) -> Any:
        request = produce_request({topic: {partition: data}}, **fields)
        response = await self.ask(ApiKey.PRODUCE, version, request)
        return response.responses[0].partition_responses[0]

    async def fetch(
        self, topic: str | bytes, offset: int = 0, *, version: int = 12, partition: int = 0, **fields: Any
    ) -> Any:
        request = fetch_request({topic: {partition: offset}}, **fields)
        return await self.ask(ApiKey.FETCH, version, request)


def produce_request(
    data: dict[Any, dict[int, Any]], *, acks: int = 1, timeout_ms: int = 5000, transactional_id: str | None = None
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            ProduceRequest.TopicProduceData(
                **named(topic, "name"),
                partition_data=[
                    ProduceRequest.PartitionProduceData(index=index, records=records)
                    for index, records in partitions.items()
                ],
            )
            for topic, partitions in data.items()
        ],
    )


def fetch_request(
    offsets: dict[Any, dict[int, int]],
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    isolation_level: int = 0,
    session_id: int = 0,
    session_epoch: int = -1,
    forgotten: dict[Any, list[int]] | None = None,
    replica_id: int = -1,
    **partition_fields: Any,
) -> FetchRequest:
    return FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[
            FetchRequest.FetchTopic(
                **named(topic, "topic"),
                partitions=[
                    FetchRequest.FetchPartition(
                        partition=index,
                        fetch_offset=offset,
                        partition_max_bytes=partition_max_bytes,
                        **partition_fields,
                    )
                    for index, offset in partitions.items()
                ],
            )
            for topic, partitions in offsets.items()
        ],
        forgotten_topics_data=[
            FetchRequest.ForgottenTopic(**named(topic, "topic"), partitions=partitions)
            for topic, partitions in (forgotten or {}).items()
        ],
    )


def named(topic: str | bytes, field: str) -> dict[str, Any]:
    """A topic by its name or by its id."""
    return {"topic_id": topic} if isinstance(topic, bytes) else {field: topic}


def batch(*values: bytes | None, timestamp: int | None = None, key: bytes | None = b"k", **fields: Any) -> bytearray:
    """One batch of these values, with the time of the test's clock."""
    builder = BatchBuilder(**fields)
    for value in values:
        builder.append(NOW if timestamp is None else timestamp, key, value)
    return bytearray(builder.build())


class FixedClock:
    """Wall clock that stands still; the loop's own time goes on."""

    def __init__(self) -> None:
        self.now_ms = NOW

    def time_ms(self) -> int:
        return self.now_ms

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def sleep(self, seconds: float) -> None:
        raise AssertionError("the broker never sleeps")


def run(coroutine: Any) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(asyncio.wait_for(coroutine, 120))


@asynccontextmanager
async def serving(path: Path, settings: dict[str, str] | None = None, *, hot: bool = True, fs: FileSystem = LOCAL_FS):
    async with MiniBroker(path, settings, FixedClock(), fs) as broker:
        broker.network.sink.hot = hot
        yield broker


@asynccontextmanager
async def connected(broker: MiniBroker):
    reader, writer = await asyncio.open_connection(broker.host, broker.port, limit=64 << 20)
    try:
        yield WireClient(reader, writer)
    finally:
        writer.close()
