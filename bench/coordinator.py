"""Groups and transactions beside Apache Kafka 4.x, in one run on one machine.

    .venv/bin/python bench/coordinator.py [--quick] [--only NAME] [--no-kafka]

commits        OffsetCommit requests per second: 16 and 200 connections, each with one request in flight
transactions   transactions per second of one librdkafka producer, with 1 and with 100 records each
joins          from the first JoinGroup to everybody having an assignment, for groups of 1, 10 and 100 members
rss            what 10,000 groups with three offsets each add to the broker's memory

Kafka gets a warm-up of each kind before it is measured; both brokers run with one partition per internal topic and
without the initial rebalance delay. Ratios above 1 mean that Tidelog is ahead.
"""

from __future__ import annotations

import asyncio
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request

QUICK = "--quick" in sys.argv
SECONDS = 2.0 if QUICK else 6.0
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


class Connection(asyncio.Protocol):
    """One connection that speaks whole frames."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.on_frame: Callable[[bytes], None] = lambda frame: None
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while len(self.buffer) >= 4:
            size = 4 + struct.unpack_from(">i", self.buffer)[0]
            if len(self.buffer) < size:
                break
            frame = bytes(self.buffer[4:size])
            del self.buffer[:size]
            self.on_frame(frame)

    async def call(self, key: ApiKey, version: int, request: Any) -> Any:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.on_frame = lambda frame: future.set_result(frame) if not future.done() else None
        self.transport.write(encode_request(key, version, 1, "bench", request))
        return decode_response(key, version, await future)[1]


async def connect(address: str) -> Connection:
    host, port = address.split(":")
    _, protocol = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
    return protocol


async def find(address: str, group: str, key_type: int = 0) -> None:
    """Wait until the coordinator serves."""
    connection = await connect(address)
    while True:
        found = await connection.call(
            ApiKey.FIND_COORDINATOR, 2, m.FindCoordinatorRequest(key=group, key_type=key_type)
        )
        if not found.error_code:
            break
        await asyncio.sleep(0.1)
    request = m.OffsetFetchRequest(group_id=group, topics=[])
    while (await connection.call(ApiKey.OFFSET_FETCH, 5, request)).error_code:  # noqa: ASYNC110 - the peer has no event
        await asyncio.sleep(0.1)
    connection.transport.close()


# -- commits -------------------------------------------------------------------------------------------------------


def commit_request(group: str, topic: str, partitions: int = 1) -> m.OffsetCommitRequest:
    entries = [
        m.OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=12345, committed_leader_epoch=0, committed_metadata=""
        )
        for index in range(partitions)
    ]
    return m.OffsetCommitRequest(
        group_id=group,
        topics=[m.OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=entries)],
    )


async def commits(address: str, seconds: float, connections: int) -> float:
    await find(address, "commits-0")
    links = [await connect(address) for _ in range(connections)]
    count = 0

    def drive(link: Connection, number: int) -> None:
        frame = encode_request(ApiKey.OFFSET_COMMIT, 7, 1, "bench", commit_request(f"commits-{number}", "bench"))

        def answered(_: bytes) -> None:
            nonlocal count
            count += 1
            link.transport.write(frame)

        link.on_frame = answered
        link.transport.write(frame)

    for number, link in enumerate(links):
        drive(link, number)
    await asyncio.sleep(0.5 if QUICK else 1.5)
    start, before = time.perf_counter(), count
    await asyncio.sleep(seconds)
    rate = (count - before) / (time.perf_counter() - start)
    for link in links:
        link.on_frame = lambda frame: None
        link.transport.close()
    return rate


# -- transactions --------------------------------------------------------------------------------------------------


def transactions(address: str, seconds: float, records: int) -> float:
    producer = Producer({"bootstrap.servers": address, "transactional.id": f"bench-{records}", "linger.ms": 0})
    producer.init_transactions(60)
    deadline, count, start = None, 0, 0.0
    warm = time.perf_counter() + (0.5 if QUICK else 2)
    while deadline is None or time.perf_counter() < deadline:
        if deadline is None and time.perf_counter() > warm:
            start, count = time.perf_counter(), 0
            deadline = start + seconds
        producer.begin_transaction()
        for number in range(records):
            producer.produce("bench", b"x" * 100, key=b"%d" % number, partition=0)
        producer.commit_transaction(60)
        count += 1
    return count / (time.perf_counter() - start)


# -- joins ---------------------------------------------------------------------------------------------------------


async def join_once(address: str, group: str, members: int) -> float:
    """Seconds until every member of a new group has its assignment."""
    links = [await connect(address) for _ in range(members)]
    begun = time.perf_counter()

    async def member(link: Connection) -> None:
        member_id, protocols = "", [m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"x")]
        while True:
            joined = await link.call(
                ApiKey.JOIN_GROUP,
                5,
                m.JoinGroupRequest(
                    group_id=group,
                    session_timeout_ms=30_000,
                    rebalance_timeout_ms=30_000,
                    member_id=member_id,
                    protocol_type="bench",
                    protocols=protocols,
                ),
            )
            member_id = joined.member_id or member_id
            if joined.error_code:
                continue
            assignments = [
                m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=other.member_id, assignment=b"y")
                for other in joined.members
            ]
            synced = await link.call(
                ApiKey.SYNC_GROUP,
                3,
                m.SyncGroupRequest(
                    group_id=group,
                    generation_id=joined.generation_id,
                    member_id=member_id,
                    assignments=assignments,
                ),
            )
            if synced.error_code:
                continue
            ready.add(member_id)
            if len(ready) == members:
                finished.set()
            while not finished.is_set():
                beat = await link.call(
                    ApiKey.HEARTBEAT,
                    3,
                    m.HeartbeatRequest(group_id=group, generation_id=joined.generation_id, member_id=member_id),
                )
                if beat.error_code:
                    ready.discard(member_id)
                    break
                await asyncio.sleep(0.02)
            if finished.is_set():
                return

    ready: set[str] = set()
    finished = asyncio.Event()
    tasks = [asyncio.create_task(member(link)) for link in links]
    await asyncio.wait_for(finished.wait(), 60)
    taken = time.perf_counter() - begun
    await asyncio.gather(*tasks)
    for link in links:
        link.transport.close()
    return taken


async def joins(address: str, members: int) -> float:
    await find(address, "joins")
    rounds = 3 if QUICK else 7
    times = [await join_once(address, f"join-{members}-{number}-{time.time()}", members) for number in range(rounds)]
    return statistics.median(times[1:])


# -- memory --------------------------------------------------------------------------------------------------------


def rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


async def fill_groups(address: str, count: int = 10_000) -> None:
    await find(address, "fill")
    link = await connect(address)
    for number in range(count):
        await link.call(ApiKey.OFFSET_COMMIT, 7, commit_request(f"fill-{number:05d}", "bench", 3))
    link.transport.close()


# -- the run -------------------------------------------------------------------------------------------------------


def measure(broker: Any, only: str | None) -> dict[str, float]:
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic("bench", 3, 1)])["bench"].result(60)
    results: dict[str, float] = {}
    if only in (None, "commits"):
        for connections in (16, 200):
            rate = asyncio.run(commits(broker.address, SECONDS, connections))
            results[f"commits per second, {connections} connections"] = rate
    if only in (None, "transactions"):
        results["transactions per second, 1 record"] = transactions(broker.address, SECONDS, 1)
        results["transactions per second, 100 records"] = transactions(broker.address, SECONDS, 100)
    if only in (None, "joins"):
        for members in (1, 10, 100):
            results[f"ms to join, {members} members"] = 1000 * asyncio.run(joins(broker.address, members))
    if only in (None, "rss"):
        before = rss_mb(broker.pid)
        asyncio.run(fill_groups(broker.address))
        results["MB with 10,000 groups"] = rss_mb(broker.pid)
        results["MB added by 10,000 groups"] = max(rss_mb(broker.pid) - before, 0.1)
    return results


def main() -> None:
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
    with tempfile.TemporaryDirectory() as home:
        with TidelogServer(Path(home) / "tidelog", properties=SETTINGS) as tidelog:
            ours = measure(tidelog, only)
        theirs: dict[str, float] = {}
        if "--no-kafka" not in sys.argv:
            with KafkaBroker(KAFKA_4, Path(home) / "kafka", properties=SETTINGS) as kafka:
                theirs = measure(kafka, only)
    print(f"{'':40} {'Tidelog':>10} {'Kafka ' + KAFKA_4:>12} {'ratio':>7}")
    for name, value in ours.items():
        other = theirs.get(name)
        less_is_better = name.startswith(("ms", "MB"))
        ratio = "" if other is None else f"{(other / value if less_is_better else value / other):7.2f}"
        print(f"{name:40} {value:10.1f} {other if other is not None else float('nan'):12.1f} {ratio}")


if __name__ == "__main__":
    main()
