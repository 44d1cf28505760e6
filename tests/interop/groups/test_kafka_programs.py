"""Kafka's console and verifiable clients as members of our groups: alone, in pairs, and when one of them dies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from interop.conftest import PEER, Server
from interop.groups.programs import running
from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker, java_tool
from support.tidelog import TidelogServer

pytestmark = pytest.mark.java

#: Members of consumer groups that die are missed soon.
QUICK = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "12000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
}

#: Version, group protocol, and how the clients of that version divide the work.
KINDS = [
    pytest.param(KAFKA_3, ("--assignment-strategy", "org.apache.kafka.clients.consumer.RangeAssignor"), id="3.9-eager"),
    pytest.param(
        KAFKA_4,
        ("--assignment-strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"),
        id="4.3-cooperative",
    ),
    pytest.param(KAFKA_4, ("--group-protocol", "consumer"), id="4.3-consumer"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("broker")
    with KafkaBroker(PEER, home, properties=QUICK) if PEER else TidelogServer(home, properties=QUICK) as started:
        yield started


def committed(server: Any, group: str, name: str, partitions: int) -> list[int]:
    member = Consumer({"bootstrap.servers": server.address, "group.id": group})
    found = member.committed([TopicPartition(name, number) for number in range(partitions)], 60)
    member.close()
    return [partition.offset for partition in found]


@pytest.mark.parametrize(
    ("version", "protocol"),
    [(KAFKA_3, "classic"), (KAFKA_4, "classic"), (KAFKA_4, "consumer")],
    ids=["3.9-classic", "4.3-classic", "4.3-consumer"],
)
def test_console_consumer(server: Any, filled: Callable[..., str], tmp_path: Path, version: str, protocol: str) -> None:
    """It reads in a group, commits when it leaves, and the next one goes on from there."""
    name = filled(2, 20)
    group = f"{name}-group"
    tool = ("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", server.address)
    how = ("--topic", name, "--group", group, "--timeout-ms", "120000", "--max-messages")
    options = () if protocol == "classic" else ("--command-property", "group.protocol=consumer")
    first = java_tool(version, tmp_path, *tool, *how, "20", "--from-beginning", *options).stdout
    assert sorted(first.splitlines()) == sorted(f"value {number}" for number in range(20))
    assert committed(server, group, name, 2) == [10, 10]
    producer = Producer({"bootstrap.servers": server.address})
    producer.produce(name, b"more", partition=0)
    assert producer.flush(60) == 0
    assert java_tool(version, tmp_path, *tool, *how, "1", *options).stdout == "more\n"
    assert committed(server, group, name, 2) == [11, 10]


@pytest.mark.parametrize("version", [KAFKA_3, KAFKA_4])
def test_two_console_consumers_share_a_topic(
    server: Any, filled: Callable[..., str], tmp_path: Path, version: str
) -> None:
    name = filled(2, 0)
    group = f"{name}-group"
    how = ("--bootstrap-server", server.address, "--topic", name, "--group", group, "--from-beginning")
    admin = AdminClient({"bootstrap.servers": server.address})

    def shares() -> list[int]:
        described = admin.describe_consumer_groups([group])[group].result(60)
        return [len(member.assignment.topic_partitions) for member in described.members]

    main = "consumer.ConsoleConsumer"
    with running(version, tmp_path, main, *how) as one, running(version, tmp_path, main, *how) as two:
        one.wait_for(lambda: shares() == [1, 1])
        producer = Producer({"bootstrap.servers": server.address})
        for number in range(20):
            producer.produce(name, str(number), partition=number % 2)
        assert producer.flush(60) == 0
        one.wait_for(lambda: len(one.lines) + len(two.lines) == 20)
        seen = [{int(line) for line in program.lines} for program in (one, two)]
        evens = set(range(0, 20, 2))
        assert evens in seen
        assert set(range(20)) - evens in seen
        one.stop()
        two.wait_for(lambda: shares() == [2])


@pytest.mark.parametrize(("version", "division"), KINDS)
def test_verifiable_clients(
    server: Any, filled: Callable[..., str], tmp_path: Path, version: str, division: tuple[str, ...]
) -> None:
    """Two verifiable consumers share what a verifiable producer writes; one is killed, the other takes over."""
    name = filled(4, 0)
    group = f"{name}-group"
    arguments = ["--bootstrap-server", server.address, "--topic", name, "--group-id", group]
    arguments += ["--reset-policy", "earliest", *division]
    if "consumer" not in division:
        arguments += ["--session-timeout", "12000"]
    with running(version, tmp_path, "VerifiableConsumer", *arguments) as one:
        one.wait_for(lambda: one.partitions() == {0, 1, 2, 3})
        produce(server, version, tmp_path, name, 200)
        one.wait_for(lambda: consumed(one) == 200)
        with running(version, tmp_path, "VerifiableConsumer", *arguments) as two:
            two.wait_for(lambda: len(one.partitions()) == len(two.partitions()) == 2)
            assert one.partitions() | two.partitions() == {0, 1, 2, 3}
            produce(server, version, tmp_path, name, 200)
            one.wait_for(lambda: consumed(one) + consumed(two) == 400)
            assert consumed(two)
            two.process.kill()
            one.wait_for(lambda: one.partitions() == {0, 1, 2, 3})
        produce(server, version, tmp_path, name, 100)
        one.wait_for(lambda: sum(committed(server, group, name, 4)) == 500)
        one.stop()
        assert one.events("shutdown_complete")
        assert all(event["success"] for event in one.events("offsets_committed"))


def produce(server: Any, version: str, home: Path, topic: str, count: int) -> None:
    """By a verifiable producer, which hears of every record that it is written."""
    arguments = ("--topic", topic, "--max-messages", str(count), "--repeating-keys", "40", "--acks", "-1")
    with running(version, home, "VerifiableProducer", "--bootstrap-server", server.address, *arguments) as producer:
        assert producer.finish() == 0, producer.errors
        assert len(producer.events("producer_send_success")) == count
        assert [event["acked"] for event in producer.events("tool_data")] == [count]


def consumed(consumer: Any) -> int:
    return sum(event["count"] for event in consumer.events("records_consumed"))
