"""Kafka's own group and transaction tools, against groups and transactions of ours."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.kafka import java_tool
from support.tidelog import TidelogServer
from support.wire import produce_request
from tidelog.net.node_client import NodeClient
from tidelog.protocol.messages import FindCoordinatorRequest, InitProducerIdRequest
from tidelog.records.format.builder import BatchBuilder

pytestmark = pytest.mark.java

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
VERSIONS = ["3.9.2", "4.3.1"]


@pytest.fixture
def tool(server: Any, tmp_path: Path) -> Callable[..., str]:
    def run(version: str, main: str, *arguments: str) -> str:
        done = java_tool(version, tmp_path, main, "--bootstrap-server", server.address, *arguments)
        return done.stdout

    return run


def committed(server: Any, group: str, name: str, partitions: int = 2) -> list[int]:
    member = Consumer({"bootstrap.servers": server.address, "group.id": group})
    found = member.committed([TopicPartition(name, number) for number in range(partitions)], 60)
    member.close()
    return [partition.offset for partition in found]


#: The records of `dated` are a day apart and begin here.
FIRST_DAY_MS = 1_609_459_200_000  # 2021-01-01
DAY_MS = 86_400_000


@pytest.fixture
def dated(server: Any, topic: Callable[[], str]) -> str:
    """A topic of two partitions with ten records each; record n was made on day n."""
    name = topic()
    admin = AdminClient({"bootstrap.servers": server.address})
    admin.create_topics([NewTopic(name, 2, 1, config={"retention.ms": "-1"})])[name].result(60)
    producer = Producer({"bootstrap.servers": server.address})
    for number in range(20):
        producer.produce(name, b"x", partition=number % 2, timestamp=FIRST_DAY_MS + number // 2 * DAY_MS)
    assert producer.flush(60) == 0
    return name


@pytest.mark.parametrize("version", VERSIONS)
def test_offsets_reset_in_all_forms(
    server: Any, dated: str, tool: Callable[..., str], tmp_path: Path, version: str
) -> None:
    name, group = dated, f"{dated}-group"
    member = Consumer({"bootstrap.servers": server.address, "group.id": group})
    member.commit(offsets=[TopicPartition(name, 0, 5), TopicPartition(name, 1, 6)], asynchronous=False)
    member.close()
    form = ("--group", group, "--reset-offsets")

    def reset(*how: str, topic: str = name) -> list[int]:
        tool(version, GROUPS, *form, "--topic", topic, "--execute", *how)
        return committed(server, group, name)

    assert reset("--to-current") == [5, 6]
    assert reset("--to-earliest") == [0, 0]
    assert reset("--to-latest") == [10, 10]
    assert reset("--shift-by", "-3") == [7, 7]
    assert reset("--shift-by", "1", topic=f"{name}:1") == [7, 8]  # one partition only
    assert reset("--to-offset", "4") == [4, 4]
    assert reset("--to-offset", "99") == [10, 10]  # there is no such offset: the nearest one
    assert reset("--to-datetime", "2021-01-04T00:00:00.000Z") == [3, 3]
    assert reset("--to-datetime", "2020-01-01T00:00:00.000") == [0, 0]
    assert reset("--by-duration", "P1D") == [10, 10]  # nothing is that new: the end
    hours = int((time.time() * 1000 - FIRST_DAY_MS - 6.5 * DAY_MS) // 3_600_000)  # half a day from either record
    assert reset("--by-duration", f"PT{hours}H") == [7, 7]
    plan = tool(version, GROUPS, *form, "--all-topics", "--to-earliest", "--export")  # a plan, not carried out
    assert committed(server, group, name) == [7, 7]
    exported = [line for line in plan.splitlines() if line.count(",") == 2]
    assert sorted(exported) == [f'"{name}",0,0', f'"{name}",1,0'] or sorted(exported) == [f"{name},0,0", f"{name},1,0"]
    wanted = tmp_path / "offsets.csv"
    wanted.write_text(f"{name},0,2\n{name},1,9\n")
    tool(version, GROUPS, *form, "--from-file", str(wanted), "--execute")
    assert committed(server, group, name) == [2, 9]


@pytest.mark.parametrize("version", VERSIONS)
def test_describe_list_and_delete(
    server: Any, filled: Callable[..., str], tool: Callable[..., str], version: str
) -> None:
    name = filled(2, 20)
    group = f"{name}-group"
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False}  # nothing is committed but what we say
    member = Consumer({"bootstrap.servers": server.address, "group.id": group, "client.id": "alpha", **settings})
    member.subscribe([name])
    while len(member.assignment()) < 2:
        member.poll(0.1)
    member.commit(offsets=[TopicPartition(name, 0, 5)], asynchronous=False)
    described = tool(version, GROUPS, "--describe", "--group", group)
    row = next(line for line in described.splitlines() if re.search(rf"{name}\s+0\s", line))
    assert row.split()[3:6] == ["5", "10", "5"]
    assert "alpha" in row
    assert "/127.0.0.1" in row
    members = tool(version, GROUPS, "--describe", "--group", group, "--members", "--verbose")
    assert "alpha" in members
    state = tool(version, GROUPS, "--describe", "--group", group, "--state")
    assert "Stable" in state
    assert "range" in state
    assert group in tool(version, GROUPS, "--list")
    assert re.search(rf"{group}\s+.*Stable", tool(version, GROUPS, "--list", "--state"))
    member.close()
    tool(version, GROUPS, "--delete-offsets", "--group", group, "--topic", name)
    assert committed(server, group, name) == [-1001, -1001]
    tool(version, GROUPS, "--delete", "--group", group)
    assert group not in tool(version, GROUPS, "--list")


@pytest.mark.parametrize("version", VERSIONS)
def test_transactions_listed_described_and_aborted(
    server: Any, filled: Callable[..., str], tool: Callable[..., str], version: str
) -> None:
    name = filled(1, 3)
    settings = {"transactional.id": f"{name}-id", "transaction.timeout.ms": 600_000}  # open until it is aborted
    producer = Producer({"bootstrap.servers": server.address, **settings})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(name, b"hanging")
    producer.flush(60)
    listed = tool(version, TRANSACTIONS, "list")
    assert re.search(rf"{name}-id.*Ongoing", listed)
    described = tool(version, TRANSACTIONS, "describe", "--transactional-id", f"{name}-id")
    assert f"{name}-0" in described
    assert "Ongoing" in described
    producers = tool(version, TRANSACTIONS, "describe-producers", "--topic", name, "--partition", "0")
    assert re.search(r"\s3\s*$", producers, re.MULTILINE), producers  # the open transaction begins at offset 3
    tool(version, TRANSACTIONS, "abort", "--topic", name, "--partition", "0", "--start-offset", "3")
    reader = Consumer(
        {
            "bootstrap.servers": server.address,
            "group.id": f"{name}-check",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    low, high = reader.get_watermark_offsets(TopicPartition(name, 0), 60)
    assert (low, high) == (0, 5)  # three records, the aborted one, its marker: the last stable offset has moved on
    reader.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_hanging_transaction_is_found_and_aborted(tmp_path: Path, version: str) -> None:
    """Records of a transaction that its coordinator knows nothing of: KIP-890 prevents it, unless switched off."""
    settings = {"transaction.partition.verification.enable": "false", "node.id": "1"}
    with TidelogServer(tmp_path / "broker", properties=settings) as server:
        admin = AdminClient({"bootstrap.servers": server.address})
        admin.create_topics([NewTopic("hung", 1, 1)])["hung"].result(60)
        hang(server, "hung")
        where = ("--bootstrap-server", server.address)
        look = ("find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0")
        found = java_tool(version, tmp_path, TRANSACTIONS, *where, *look).stdout
        row = next(line for line in found.splitlines() if line.startswith("hung"))
        assert row.split()[:2] == ["hung", "0"]
        end = ("abort", "--topic", "hung", "--partition", "0", "--start-offset", "0")
        java_tool(version, tmp_path, TRANSACTIONS, *where, *end)
        again = java_tool(version, tmp_path, TRANSACTIONS, *where, *look).stdout
        assert not [line for line in again.splitlines() if line.startswith("hung")]


def hang(server: TidelogServer, topic: str) -> None:
    """Write into a transaction without asking its coordinator first."""

    async def run() -> None:
        node = await NodeClient.connect("127.0.0.1", server.port)
        await node.send(FindCoordinatorRequest(key_type=1, coordinator_keys=["hanging"]), 4)  # makes its topic
        init = InitProducerIdRequest(transactional_id="hanging", transaction_timeout_ms=600_000)
        while (made := await node.send(init, 4)).error_code:  # noqa: ASYNC110  # the broker has no event for it
            await asyncio.sleep(0.05)
        batch = BatchBuilder(
            producer_id=made.producer_id, producer_epoch=made.producer_epoch, base_sequence=0, transactional=True
        )
        batch.append(int(time.time() * 1000) - 60_000, None, b"x")
        request = produce_request({topic: {0: batch.build()}}, acks=-1, transactional_id="hanging")
        answer = await node.send(request, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
        await node.close()

    asyncio.run(run())
