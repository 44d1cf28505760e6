"""Groups and transactions beside Apache Kafka 4.x: both brokers up at once, in one run, taking turns.

    .venv/bin/python bench/coordinator.py [--quick] [--only TEXT] [--rounds N]

joins          from the first JoinGroup to the first record of every member, for new groups of 1, 10 and 100 members:
               join, sync, fetch of the committed offset, start of the log, first Fetch; a topic with a partition each
commits        OffsetCommit requests per second: 16 and 200 connections, each with one request in flight, and what each
               costs in CPU time: Tidelog has one thread, Kafka as many as there are cores to run them
transactions   transactions per second of one librdkafka producer, with 1 and with 100 records each
memory         of the broker's process with 10,000 groups that have three offsets each

The JVM is warmed up with a round of its own; the table shows medians of the others. Both brokers run with one partition
per internal topic and without the initial rebalance delay. The goal of each row is to be ahead: a ratio above 1.
The load is made so that it costs less than a broker: requests are encoded once, answers counted, not parsed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import select
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import uvloop
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
MEMBERS = (1, 10, 100)
GROUPS = 10_000
HEARTBEAT_SECONDS = 0.02
RECORD = b"first record"
#: How an OffsetFetch answer ends: offset -1, epoch -1, no metadata, and no error of the partition or the group.
NOT_COMMITTED = struct.pack(">qihhh", -1, -1, 0, 0, 0)
NUMBERS = itertools.count()


class Connection(asyncio.Protocol):
    """One connection that speaks whole frames, one request at a time."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.answer: asyncio.Future[bytes] | None = None
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if len(self.buffer) >= 4 and self.answer is not None:
            size = 4 + struct.unpack_from(">i", self.buffer)[0]
            if len(self.buffer) >= size:
                frame = bytes(self.buffer[4:size])
                del self.buffer[:size]
                if not self.answer.done():  # nobody waits any more once everybody has a record
                    self.answer.set_result(frame)

    async def ask(self, frame: bytes) -> bytes:
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(frame)
        return await self.answer

    async def call(self, key: ApiKey, version: int, request: Any) -> Any:
        return decode_response(key, version, await self.ask(encode_request(key, version, 1, "bench", request)))[1]


async def connect(address: str) -> Connection:
    host, port = address.split(":")
    _, protocol = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
    return protocol


async def find(address: str) -> None:
    """Wait until the group coordinator serves."""
    connection = await connect(address)
    request = m.FindCoordinatorRequest(key="any", key_type=0)
    while (await connection.call(ApiKey.FIND_COORDINATOR, 2, request)).error_code:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.1)
    fetch = m.OffsetFetchRequest(group_id="any", topics=[])
    while (await connection.call(ApiKey.OFFSET_FETCH, 5, fetch)).error_code:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.1)
    connection.transport.close()


# -- commits -------------------------------------------------------------------------------------------------------


def commit_frame(group: str, partitions: int = 1) -> bytes:
    entries = [
        m.OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=12345, committed_leader_epoch=0, committed_metadata=""
        )
        for index in range(partitions)
    ]
    topics = [m.OffsetCommitRequest.OffsetCommitRequestTopic(name="bench", partitions=entries)]
    return encode_request(ApiKey.OFFSET_COMMIT, 7, 1, "bench", m.OffsetCommitRequest(group_id=group, topics=topics))


def dial(address: str) -> socket.socket:
    host, port = address.split(":")
    link = socket.create_connection((host, int(port)))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def first_commit(link: socket.socket, frame: bytes) -> int:
    """Commit once, look at the answer, and return its size: all that follow are as long."""
    link.sendall(frame)
    head = link.recv(4, socket.MSG_WAITALL)
    body = link.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)
    answer = decode_response(ApiKey.OFFSET_COMMIT, 7, body)[1]
    codes = {part.error_code for topic in answer.topics for part in topic.partitions}
    assert codes == {0}, codes
    return 4 + len(body)


def commits(broker: Any, seconds: float, connections: int) -> float:
    uvloop.run(find(broker.address))
    poll = select.epoll()
    links: dict[int, tuple[socket.socket, bytes]] = {}
    size = 0
    for number in range(connections):
        link, frame = dial(broker.address), commit_frame(f"commits-{number:05d}")
        size = first_commit(link, frame)
        links[link.fileno()] = link, frame
        poll.register(link, select.EPOLLIN)
    for link, frame in links.values():
        link.send(frame)
    received = 0
    begun = time.perf_counter()
    while (now := time.perf_counter()) < begun + seconds:
        for number, _ in poll.poll(1):
            link, frame = links[number]
            received += len(link.recv(65536))
            link.send(frame)
    for link, _ in links.values():
        link.close()
    poll.close()
    return received / size / (now - begun)


def commit_cpu(broker: Any, seconds: float, connections: int) -> float:
    """Microseconds of the broker's CPU per commit: what it costs, however many threads share it out."""
    before = cpu_seconds(broker.pid)
    rate = commits(broker, seconds, connections)
    return 1e6 * (cpu_seconds(broker.pid) - before) / (rate * seconds)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- transactions --------------------------------------------------------------------------------------------------


def transactions(broker: Any, seconds: float, records: int) -> float:
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": f"bench-{records}", "linger.ms": 0})
    producer.init_transactions(60)
    count, begun = 0, time.perf_counter()
    while time.perf_counter() < begun + seconds:
        producer.begin_transaction()
        for number in range(records):
            producer.produce("bench", b"x" * 100, key=b"%d" % number, partition=0)
        producer.commit_transaction(60)
        count += 1
    return count / (time.perf_counter() - begun)


# -- joins ---------------------------------------------------------------------------------------------------------


class Group:
    """A new group whose members all want their first record."""

    def __init__(self, name: str, members: int) -> None:
        self.name, self.members = name, members
        self.topic = f"joins-{members}"
        self.reads = [self._reads(partition) for partition in range(members)]
        self.ready: set[str] = set()
        self.finished = asyncio.Event()

    async def member(self, link: Connection) -> None:
        member_id = ""
        while not self.finished.is_set():
            joined = await link.call(ApiKey.JOIN_GROUP, 5, self._join(member_id))
            member_id = joined.member_id or member_id
            if joined.error_code:
                continue
            assignments = [
                m.SyncGroupRequest.SyncGroupRequestAssignment(
                    member_id=other.member_id, assignment=struct.pack(">i", number)
                )
                for number, other in enumerate(joined.members)
            ]
            generation = {"generation_id": joined.generation_id, "member_id": member_id, "group_id": self.name}
            synced = await link.call(ApiKey.SYNC_GROUP, 3, m.SyncGroupRequest(**generation, assignments=assignments))
            if synced.error_code:
                continue
            await self._first_record(link, *struct.unpack(">i", synced.assignment))
            self.ready.add(member_id)
            if len(self.ready) == self.members:
                self.finished.set()
            await self._stay(link, m.HeartbeatRequest(**generation))
            self.ready.discard(member_id)

    def _join(self, member_id: str) -> m.JoinGroupRequest:
        return m.JoinGroupRequest(
            group_id=self.name,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=member_id,
            protocol_type="bench",
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"x")],
        )

    def _reads(self, partition: int) -> list[bytes]:
        """What a consumer asks for a partition: what is committed, if nothing where the log starts, then a Fetch."""
        asked = m.OffsetFetchRequest.OffsetFetchRequestTopic(name=self.topic, partition_indexes=[partition])
        committed = m.OffsetFetchRequest(group_id=self.name, topics=[asked])
        start = m.ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=-2)
        topic = m.ListOffsetsRequest.ListOffsetsTopic(name=self.topic, partitions=[start])
        wanted = m.FetchRequest.FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
        fetch = m.FetchRequest(
            max_wait_ms=500, min_bytes=1, topics=[m.FetchRequest.FetchTopic(topic=self.topic, partitions=[wanted])]
        )
        return [
            encode_request(ApiKey.OFFSET_FETCH, 5, 1, "bench", committed),
            encode_request(ApiKey.LIST_OFFSETS, 2, 1, "bench", m.ListOffsetsRequest(replica_id=-1, topics=[topic])),
            encode_request(ApiKey.FETCH, 4, 1, "bench", fetch),
        ]

    async def _first_record(self, link: Connection, partition: int) -> None:
        committed, start, fetch = self.reads[partition]
        nothing = (await link.ask(committed))[-18:]
        assert nothing == NOT_COMMITTED, nothing
        begin = (await link.ask(start))[-8:]
        assert begin == bytes(8), begin
        answer = await link.ask(fetch)
        assert RECORD in answer, answer

    async def _stay(self, link: Connection, beat: m.HeartbeatRequest) -> None:
        """Until everybody has a record, or the group rebalances once more."""
        while not (await link.call(ApiKey.HEARTBEAT, 3, beat)).error_code:  # noqa: ASYNC110 - so often consumers ask
            await asyncio.sleep(HEARTBEAT_SECONDS)


async def join(address: str, name: str, members: int) -> float:
    """Milliseconds until every member of a new group has a record."""
    group = Group(name, members)
    links = [await connect(address) for _ in range(members)]
    begun = time.perf_counter()
    tasks = [asyncio.create_task(group.member(link)) for link in links]
    await asyncio.wait_for(group.finished.wait(), 60)
    taken = time.perf_counter() - begun
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for link in links:
        link.transport.close()
    return 1000 * taken


def joins(broker: Any, seconds: float, members: int) -> float:
    async def run() -> float:
        await find(broker.address)
        begun = time.perf_counter()
        times = []
        while len(times) < 5 or time.perf_counter() < begun + seconds / 2:
            times.append(await join(broker.address, f"join-{members}-{next(NUMBERS)}", members))
        return statistics.median(times)

    return uvloop.run(run())


# -- memory --------------------------------------------------------------------------------------------------------


def memory(broker: Any, seconds: float, groups: int) -> float:
    """MB of the process, once so many groups have offsets."""
    uvloop.run(find(broker.address))
    link = dial(broker.address)
    size = first_commit(link, commit_frame("fill-00000", 3))
    for number in range(1, groups):
        link.sendall(commit_frame(f"fill-{number:05d}", 3))
        assert len(link.recv(size, socket.MSG_WAITALL)) == size
    link.close()
    for line in Path(f"/proc/{broker.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


# -- the run -------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    name: str
    measure: Callable[[Any, float, int], float]
    argument: int
    less_is_better: bool = False

    def ratio(self, ours: float, theirs: float) -> float:
        return theirs / ours if self.less_is_better else ours / theirs


ROWS = (
    *(Row(f"join to first record, ms, {count} members", joins, count, True) for count in MEMBERS),
    *(Row(f"commits per second, {count} connections", commits, count) for count in (16, 200)),
    *(Row(f"CPU per commit, us, {count} connections", commit_cpu, count, True) for count in (16, 200)),
    *(Row(f"transactions per second, {count} records each", transactions, count) for count in (1, 100)),
    Row(f"MB with {GROUPS:,} groups", memory, GROUPS, True),
)


def prepare(broker: Any) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    topics = {"bench": 3, **{f"joins-{count}": count for count in MEMBERS}}
    for future in admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()]).values():
        future.result(60)
    producer = Producer({"bootstrap.servers": broker.address})
    for name, count in topics.items():
        for partition in range(count):
            producer.produce(name, RECORD, partition=partition)
    assert producer.flush(60) == 0


def run(rows: list[Row], brokers: list[Any], rounds: int, seconds: float) -> dict[Row, list[list[float]]]:
    """The figures of each broker, by row; the first round warms up. Memory is measured once, as it does not fall."""
    for broker in brokers:
        prepare(broker)
    figures: dict[Row, list[list[float]]] = {row: [[] for _ in brokers] for row in rows}
    for row in rows:
        for number in range(1 if row.measure is memory else rounds + 1):
            for index, broker in enumerate(brokers):
                figure = row.measure(broker, seconds, row.argument)
                if number or row.measure is memory:
                    figures[row][index].append(figure)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="short rounds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument("--no-kafka", action="store_true", help="Tidelog alone, for a profile")
    given = parser.parse_args()
    rows = [row for row in ROWS if given.only in row.name]
    seconds = 1.0 if given.quick else 4.0
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        brokers: list[Any] = [stack.enter_context(TidelogServer(home / "tidelog", properties=SETTINGS))]
        if not given.no_kafka:
            brokers.append(stack.enter_context(KafkaBroker(KAFKA_4, home / "kafka", properties=SETTINGS)))
        figures = run(rows, brokers, given.rounds, seconds)
    print(f"{'':42} {'Tidelog':>10} {'Kafka ' + KAFKA_4:>12} {'ratio':>7}  goal")
    for row, found in figures.items():
        ours, *others = (statistics.median(values) for values in found)
        line = f"{row.name:42} {ours:10.1f}"
        if others:
            ratio = row.ratio(ours, others[0])
            line += f" {others[0]:12.1f} {ratio:7.2f}  > 1 {'met' if ratio > 1 else 'MISSED'}"
        print(line)


if __name__ == "__main__":
    main()
