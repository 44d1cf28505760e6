"""Requests on a node without sockets, on a loop with virtual time: long polls and sessions pass in no time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidelog.broker.metrics import BrokerMetrics
from tidelog.broker.network.dispatcher import Dispatcher
from tidelog.broker.node import BrokerCore
from tidelog.broker.requests._session import Session
from tidelog.broker.workers import Workers
from tidelog.common.rng import seeded_rng
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request
from tidelog.records.format.attributes import Codec
from tidelog.records.format.builder import BatchBuilder
from tidelog.testing.clock import LoopClock
from tidelog.testing.loop import InPlace, VirtualLoop

CONFIG = {
    "listeners": "PLAINTEXT://sim:9092",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "3000",
    "log.cleaner.enable": "false",
}


class Connection:
    """What the dispatcher and the handlers use of one: a request at a time, and its answer as bytes."""

    def __init__(self) -> None:
        self.peer = self.client_host = "sim"
        self.session = Session("PLAINTEXT", "PLAINTEXT", self.peer)
        self.busy = False
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def begin(self) -> None:
        self.busy = True

    def finish(self, parts: Sequence[Any] | None = None) -> None:
        self.busy = False
        self.write(parts or [])

    def write(self, parts: Sequence[Any]) -> None:
        data = b""
        for part in parts:
            if isinstance(part, (bytes, bytearray, memoryview)):
                data += part
            else:
                data += part.read()
                part.release()
        self.answer.set_result(data)

    def close(self, reason: str | None = None) -> None:
        raise AssertionError(f"closed: {reason}")


class Requests:
    """Each on a connection of its own, by way of the dispatcher."""

    def __init__(self, node: BrokerCore) -> None:
        self.workers = Workers(1, 100, make_executor=InPlace)
        self._dispatcher = Dispatcher(node.handler_services(self.workers), BrokerMetrics())

    async def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        connection = Connection()
        frame = encode_request(key, version, 1, "sim", request)[4:]
        self._dispatcher.on_request(connection, bytearray(frame))  # type: ignore[arg-type]  # the part that it uses
        return decode_response(key, version, (await connection.answer)[4:])[1]

    async def produce(self, data: bytes) -> int:
        partition = m.ProduceRequest.PartitionProduceData(index=0, records=data)
        topic = m.ProduceRequest.TopicProduceData(name="t", partition_data=[partition])
        request = m.ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic])
        answer = (await self.ask(ApiKey.PRODUCE, 9, request)).responses[0].partition_responses[0]
        assert answer.error_code == 0
        return int(answer.base_offset)

    async def fetch(self, offset: int) -> int:
        """How many bytes came of what waits for up to half a minute."""
        partition = m.FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        topic = m.FetchRequest.FetchTopic(topic="t", partitions=[partition])
        request = m.FetchRequest(max_wait_ms=30_000, min_bytes=1, max_bytes=1 << 20, topics=[topic])
        return len((await self.ask(ApiKey.FETCH, 12, request)).responses[0].partitions[0].records or b"")

    async def join(self) -> Any:
        protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
        request = m.JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            member_id="",
            protocol_type="consumer",
            protocols=[protocol],
        )
        return await self.ask(ApiKey.JOIN_GROUP, 2, request)

    async def commit(self, generation: int, member: str) -> int:
        partition = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=[partition])
        request = m.OffsetCommitRequest(
            group_id="g", generation_id_or_member_epoch=generation, member_id=member, topics=[topic]
        )
        return int((await self.ask(ApiKey.OFFSET_COMMIT, 8, request)).topics[0].partitions[0].error_code)

    async def state(self) -> str:
        answer = await self.ask(ApiKey.DESCRIBE_GROUPS, 5, m.DescribeGroupsRequest(groups=["g"]))
        return str(answer.groups[0].group_state)


def packed(clock: LoopClock, size: int) -> bytes:
    """Large enough for a thread, were there any."""
    builder = BatchBuilder(codec=Codec.GZIP)
    builder.append(clock.time_ms(), b"k", seeded_rng(size).randbytes(size))
    return bytes(builder.build())


async def serve(node: BrokerCore, clock: LoopClock, facts: list[Any]) -> None:
    requests = Requests(node)
    topic = m.CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    made = await requests.ask(ApiKey.CREATE_TOPICS, 5, m.CreateTopicsRequest(topics=[topic], timeout_ms=1000))
    facts.append(("made", made.topics[0].error_code))
    facts.append(("packed", await requests.produce(packed(clock, 30_000)), len(requests.workers)))

    begun = clock.monotonic()
    empty = await requests.fetch(1)
    facts.append(("a long poll", empty, round(clock.monotonic() - begun, 3)))
    begun = clock.monotonic()
    waiting = asyncio.create_task(requests.fetch(1))
    await asyncio.sleep(10)
    await requests.produce(packed(clock, 100))
    facts.append(("woken", await waiting > 0, round(clock.monotonic() - begun, 3)))

    found = await requests.ask(ApiKey.FIND_COORDINATOR, 3, m.FindCoordinatorRequest(key="g", key_type=0))
    facts.append(("coordinator", found.error_code, found.host, found.port))
    await asyncio.sleep(1)
    begun = clock.monotonic()
    joined = await requests.join()
    facts.append(("joined", joined.error_code, joined.generation_id, round(clock.monotonic() - begun, 3)))
    assignment = m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
    sync = m.SyncGroupRequest(
        group_id="g", generation_id=joined.generation_id, member_id=joined.member_id, assignments=[assignment]
    )
    facts.append(("synced", bytes((await requests.ask(ApiKey.SYNC_GROUP, 3, sync)).assignment)))
    facts.append(("committed", await requests.commit(joined.generation_id, joined.member_id), await requests.state()))
    await asyncio.sleep(11)  # nobody has heard of the member for its session's time
    facts.append(("gone", await requests.state()))


def life(home: Path) -> list[Any]:
    loop, facts = VirtualLoop(), []
    clock = LoopClock(loop)

    async def main() -> None:
        async with BrokerCore({**CONFIG, "log.dirs": str(home)}, clock=clock, rng=seeded_rng(7)) as node:
            await serve(node, clock, facts)
            assert node.failure is None

    loop.run_until_complete(main())
    loop.close()
    return facts


def test_requests_are_served_without_sockets_threads_or_time(tmp_path: Path) -> None:
    threads = threading.active_count()
    facts = life(tmp_path / "one")
    assert facts == [
        ("made", 0),
        ("packed", 0, 0),
        ("a long poll", 0, 30.0),
        ("woken", True, 10.0),
        ("coordinator", 0, "sim", 9092),
        ("joined", 0, 1, 3.0),
        ("synced", b"all"),
        ("committed", 0, "Stable"),
        ("gone", "Empty"),
    ]
    assert threading.active_count() == threads
    assert life(tmp_path / "two") == facts
