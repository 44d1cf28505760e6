"""Our consumer beside librdkafka's and Java's in one group, on Tidelog and on Apache Kafka: classic, cooperative and
KIP-848.

The coordinator picks whichever joined first as a classic group's leader, so both orders are tried: each shares out for
the other, each reads the other's bytes, and each goes on from the other's commits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from interop.groups.programs import Program
from support.confluent import produce
from support.kafka import KAFKA_4, KafkaBroker, require_java
from tidelog.client.consumer.blocking import Consumer
from tidelog.testing import Broker

PARTITIONS = 6
QUICK_GROUPS = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
}
STRATEGIES: list[dict[str, object]] = [
    {"partition.assignment.strategy": "range"},
    {"partition.assignment.strategy": "roundrobin"},
    {"partition.assignment.strategy": "cooperative-sticky"},
    {"group.protocol": "consumer"},
]
NAMES = ["range", "roundrobin", "cooperative-sticky", "consumer"]


@pytest.fixture(scope="module", params=["tidelog", pytest.param("kafka", marks=pytest.mark.java)])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "tidelog":
        with Broker(config=QUICK_GROUPS) as broker:
            yield broker.address
    else:
        require_java()
        with KafkaBroker(KAFKA_4, tmp_path_factory.mktemp("kafka"), properties=QUICK_GROUPS) as kafka:
            yield kafka.address


@pytest.fixture
def topic(address: str, request: pytest.FixtureRequest) -> str:
    name = "".join(char if char.isalnum() else "-" for char in request.node.name)
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(60)
    return name


class Ours:
    """The face of ours that the tests need."""

    def __init__(self, address: str, topic: str, options: dict[str, object]) -> None:
        classic = {} if "group.protocol" in options else {"heartbeat.interval.ms": 200}
        self.consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "client.id": "ours",
                **classic,
                **options,
            }
        )
        self.consumer.subscribe([topic])
        self.seen: list[bytes] = []

    def poll(self) -> None:
        self.seen += [bytes(record.value) for record in self.consumer.poll(0.05)]

    def partitions(self) -> set[int]:
        return {tp.partition for tp in self.consumer.assignment()}

    def close(self) -> None:
        self.consumer.close()


class Theirs:
    """The same of librdkafka's."""

    def __init__(self, address: str, topic: str, options: dict[str, object]) -> None:
        classic = {} if "group.protocol" in options else {"heartbeat.interval.ms": 200, "session.timeout.ms": 6000}
        self.consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": address,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "client.id": "theirs",
                **classic,
                **options,
            }
        )
        self.consumer.subscribe([topic])
        self.seen: list[bytes] = []

    def poll(self) -> None:
        for message in self.consumer.consume(100, 0.05):
            assert message.error() is None or message.error().retriable(), message.error()
            if message.error() is None:
                self.seen.append(message.value())

    def partitions(self) -> set[int]:
        return {tp.partition for tp in self.consumer.assignment()}

    def close(self) -> None:
        self.consumer.close()


JAVA_CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


class Java:
    """Java's, in a process of its own that polls by itself: Kafka's verifiable consumer."""

    def __init__(self, address: str, topic: str, options: dict[str, object], home: Path) -> None:
        strategy = options.get("partition.assignment.strategy")
        chosen = ["--group-protocol", "consumer"]
        if strategy is not None:
            name = f"org.apache.kafka.clients.consumer.{JAVA_CLASSES[str(strategy)]}"
            chosen = ["--assignment-strategy", name, "--session-timeout", "12000"]
        where = ["--bootstrap-server", address, "--topic", topic, "--group-id", topic, "--reset-policy", "earliest"]
        self.program = Program(KAFKA_4, home, "VerifiableConsumer", *where, *chosen)

    def poll(self) -> None:
        """It does so by itself."""

    def partitions(self) -> set[int]:
        return self.program.partitions()

    def consumed(self) -> int:
        return sum(int(event["count"]) for event in self.program.events("records_consumed"))

    def close(self) -> None:
        if self.program.process.poll() is None:
            self.program.stop()
        self.program.close()


def poll_until(members: list[Any], done: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, [member.partitions() for member in members]
        for member in members:
            member.poll()


def shared(members: list[Any]) -> Callable[[], bool]:
    """Each partition has one owner, and all have as many (or one more)."""

    def check() -> bool:
        parts = [member.partitions() for member in members]
        sizes = [len(part) for part in parts]
        return sum(sizes) == len(set().union(*parts)) == PARTITIONS and max(sizes) - min(sizes) <= 1

    return check


@pytest.mark.parametrize("order", [(Ours, Theirs), (Theirs, Ours)], ids=["we-lead", "they-lead"])
@pytest.mark.parametrize("options", STRATEGIES, ids=NAMES)
def test_they_share_read_and_go_on_from_each_others_commits(
    address: str, topic: str, options: dict[str, object], order: tuple[Any, Any]
) -> None:
    first = order[0](address, topic, options)
    poll_until([first], shared([first]))
    second = order[1](address, topic, options)
    both = [first, second]
    poll_until(both, shared(both))
    values = [b"%d" % number for number in range(300)]
    produce(address, topic, values)
    poll_until(both, lambda: len(first.seen) + len(second.seen) >= 300)
    assert first.seen
    assert second.seen
    first.close()
    poll_until([second], shared([second]))
    produce(address, topic, [b"late-%d" % number for number in range(30)])
    poll_until([second], lambda: sum(value.startswith(b"late") for value in second.seen) >= 30)
    second.close()
    assert sorted(first.seen + second.seen) == sorted([*values, *(b"late-%d" % number for number in range(30))])


@pytest.mark.parametrize("options", STRATEGIES, ids=NAMES)
def test_more_consumers_than_partitions(address: str, topic: str, options: dict[str, object]) -> None:
    """Two of eight wait; when one that reads goes, one of them takes its place."""
    members = [(Ours if index % 2 else Theirs)(address, topic, options) for index in range(8)]
    poll_until(members, shared(members))
    assert sorted(len(member.partitions()) for member in members) == [0, 0, 1, 1, 1, 1, 1, 1]
    reader = next(member for member in members if member.partitions())
    members.remove(reader)
    reader.close()
    poll_until(members, shared(members))
    assert sorted(len(member.partitions()) for member in members) == [0, 1, 1, 1, 1, 1, 1]
    for member in members:
        member.close()


@pytest.mark.java
@pytest.mark.parametrize("first", ["ours", "java"])
@pytest.mark.parametrize("options", STRATEGIES, ids=NAMES)
def test_we_share_with_java(address: str, topic: str, options: dict[str, object], first: str, tmp_path: Path) -> None:
    """The one that comes first leads a classic group, and shares out for both."""
    require_java()
    java = None if first == "ours" else Java(address, topic, options, tmp_path)
    if java is not None:
        poll_until([java], shared([java]))
    ours = Ours(address, topic, options)
    if java is None:
        poll_until([ours], shared([ours]))
        java = Java(address, topic, options, tmp_path)
    other = java
    try:
        poll_until([ours, other], shared([ours, other]))
        produce(address, topic, [b"%d" % number for number in range(300)])
        poll_until([ours], lambda: len(ours.seen) + other.consumed() >= 300)
        assert ours.seen
        assert other.consumed()
        other.close()
        poll_until([ours], shared([ours]))
        produce(address, topic, [b"late"] * 10)
        poll_until([ours], lambda: ours.seen.count(b"late") == 10)
        assert len(ours.seen) + other.consumed() == 310
    finally:
        other.close()
        ours.close()
