"""Kafka's own group and transaction tools, against groups and transactions of ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.kafka import java_tool

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
    found = member.committed([TopicPartition(name, number) for number in range(partitions)], 20)
    member.close()
    return [partition.offset for partition in found]


@pytest.mark.parametrize("version", VERSIONS)
def test_offsets_reset_in_all_forms(
    server: Any, filled: Callable[..., str], tool: Callable[..., str], version: str
) -> None:
    name = filled(2, 20)
    group = f"{name}-group"
    member = Consumer({"bootstrap.servers": server.address, "group.id": group})
    member.commit(offsets=[TopicPartition(name, 0, 5), TopicPartition(name, 1, 6)], asynchronous=False)
    member.close()

    def reset(*how: str) -> list[int]:
        tool(version, GROUPS, "--group", group, "--topic", name, "--reset-offsets", "--execute", *how)
        return committed(server, group, name)

    assert reset("--to-earliest") == [0, 0]
    assert reset("--to-latest") == [10, 10]
    assert reset("--shift-by", "-3") == [7, 7]
    assert reset("--to-offset", "4") == [4, 4]
    assert reset("--by-duration", "P1D") == [0, 0]
    assert reset("--to-datetime", "2020-01-01T00:00:00.000") == [0, 0]
    assert reset("--to-current") == [0, 0]


@pytest.mark.parametrize("version", VERSIONS)
def test_describe_list_and_delete(
    server: Any, filled: Callable[..., str], tool: Callable[..., str], version: str
) -> None:
    name = filled(2, 20)
    group = f"{name}-group"
    member = Consumer(
        {"bootstrap.servers": server.address, "group.id": group, "client.id": "alpha", "auto.offset.reset": "earliest"}
    )
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
    producer = Producer({"bootstrap.servers": server.address, "transactional.id": f"{name}-id"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(name, b"hanging")
    producer.flush(20)
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
    low, high = reader.get_watermark_offsets(TopicPartition(name, 0), 20)
    assert (low, high) == (0, 5)  # three records, the aborted one, its marker: the last stable offset has moved on
    reader.close()
