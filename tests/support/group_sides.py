"""Brokers in this process, with a member of each group protocol: one that serves common requests from their bytes and
one that does not. Whatever they are asked, they must agree."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from scenarios.coordinator.driver import encode_subscription
from support.loop import PATIENCE_SECONDS
from support.wire import FixedClock, WireClient
from tidelog.broker.server import Broker
from tidelog.common.rng import seeded_rng
from tidelog.common.types import GROUP_METADATA_TOPIC, TopicPartition
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.records.format.batch import iter_batches

SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "offset.metadata.max.bytes": "40",
    "node.id": "1",
}
OFFSETS = TopicPartition(GROUP_METADATA_TOPIC, 0)


async def until(ask: Callable[[], Awaitable[Any]]) -> Any:
    """The first answer without an error: the internal topic is made by the first question, and then loaded."""
    time = asyncio.get_running_loop().time
    deadline = time() + PATIENCE_SECONDS
    while (answer := await ask()).error_code:
        assert time() < deadline, f"still no other answer than {answer}"
        await asyncio.sleep(0.01)
    return answer


class Side:
    """A broker with two topics, and with a member of each protocol."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.classic = ("", -1)
        self.consumer = ("", -1)
        self.ids: dict[str, bytes] = {}

    @property
    def machine(self) -> Any:
        return self.broker.coordinators.group.runtime.active(0).machine

    def taken(self, key: ApiKey) -> int:
        """How many requests of this API did not go the long way."""
        assert self.broker.network.sink is not None
        return self.broker.network.sink.taken()[key]

    @asynccontextmanager
    async def client(self) -> AsyncIterator[WireClient]:
        host, port = self.broker.address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            yield WireClient(reader, writer)
        finally:
            writer.close()

    async def prepare(self) -> None:
        async with self.client() as client:
            wanted = [
                m.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=count, replication_factor=1)
                for name, count in (("one", 1), ("three", 3))
            ]
            made = await client.ask(ApiKey.CREATE_TOPICS, 5, m.CreateTopicsRequest(topics=wanted, timeout_ms=9000))
            assert {topic.error_code for topic in made.topics} == {0}
            self.ids = {name: self.broker.metadata.topic_id(name) for name in ("one", "three")}
            self.ids["nowhere"] = bytes(15) + b"\x01"
            find = m.FindCoordinatorRequest(key="any", key_type=0)
            await until(lambda: client.ask(ApiKey.FIND_COORDINATOR, 2, find))
            fetch = m.OffsetFetchRequest(group_id="any", topics=[])
            await until(lambda: client.ask(ApiKey.OFFSET_FETCH, 5, fetch))
            await self._join_classic(client)
            beat = m.ConsumerGroupHeartbeatRequest(
                group_id="consumer",
                member_id="c1",
                member_epoch=0,
                rebalance_timeout_ms=9000,
                subscribed_topic_names=["three"],
                topic_partitions=[],
            )
            answer = await client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, beat)
            assert answer.error_code == 0
            self.consumer = ("c1", answer.member_epoch)

    async def _join_classic(self, client: WireClient) -> None:
        protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=encode_subscription(["one"]))
        join = m.JoinGroupRequest(
            group_id="classic",
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            group_instance_id="i1",
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined = await client.ask(ApiKey.JOIN_GROUP, 5, join)
        self.classic = (joined.member_id, joined.generation_id)
        assignment = m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")
        sync = m.SyncGroupRequest(
            group_id="classic",
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id="i1",
            assignments=[assignment],
        )
        assert (await client.ask(ApiKey.SYNC_GROUP, 3, sync)).error_code == 0

    def commits(self) -> list[list[tuple[bytes | None, bytes | None]]]:
        """The commits in the log, batch by batch."""
        batches = [
            [(record.key, record.value) for record in batch if record.key and record.key[:2] == b"\x00\x01"]
            for buffer in self.broker.replicas.read_committed_batches(OFFSETS)
            for batch in iter_batches(buffer)
        ]
        return [records for records in batches if records]


@asynccontextmanager
async def side(path: Path, *, hot: bool = True) -> AsyncIterator[Side]:
    async with Broker({**SETTINGS, "log.dirs": str(path)}, clock=FixedClock(), rng=seeded_rng(5)) as broker:
        made = Side(broker)
        await made.prepare()
        assert broker.network.sink is not None
        broker.network.sink.hot = hot
        yield made


class Choices:
    """Draws requests: the usual ones most of the time. Two of the same seed draw alike."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def one(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def mostly(self, usual: Any, *odd: Any) -> Any:
        return usual if self.rng.random() < 0.85 else self.rng.choice(odd)

    def mutated(self, frame: bytes) -> bytes:
        """The frame with bytes of its body changed, cut out or put in, under a right length."""
        body = bytearray(frame[4:])
        at = self.rng.randrange(8, len(body))
        kind = self.rng.random()
        if kind < 0.7:
            body[at] = self.one(0, 1, 2, 0x7F, 0x80, 0xC3, 0xFF, self.rng.randrange(256))
        elif kind < 0.85:
            del body[at : at + self.rng.randrange(1, 9)]
        else:
            body[at:at] = self.rng.randbytes(self.rng.randrange(1, 9))
        return len(body).to_bytes(4, "big") + bytes(body)

    def perhaps_mutated(self, frame: bytes) -> bytes:
        return self.mutated(frame) if self.rng.random() < 0.25 else frame


async def exchange(client: WireClient, frame: bytes) -> bytes | None:
    """The answer, or None when the connection is closed instead."""
    try:
        client.writer.write(frame)
        return await asyncio.wait_for(client.receive_frame(), PATIENCE_SECONDS)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
