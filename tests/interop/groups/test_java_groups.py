"""Java clients in groups and transactions: every era, both protocols, and Kafka's own tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState
from confluent_kafka.admin import AdminClient

from support.kafka import java_tool
from support.patience import eventually
from support.tidelog import TidelogServer
from tidelog.broker.coordinator.records import TRANSACTION_CODEC
from tidelog.records.format.batch import iter_batches

pytestmark = pytest.mark.java

ERAS = ["0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.3.1", "2.8.2", "3.5.2", "3.9.2", "4.0.0", "4.3.1"]


@pytest.mark.parametrize("version", ERAS)
def test_a_group_of_every_era(server: Any, filled: Callable[..., str], java: Callable[..., str], version: str) -> None:
    name = filled(3, 60)
    assert "CONSUMED 60" in java("GroupEra", version, server.address, name, f"{name}-group", "60")
    admin = AdminClient({"bootstrap.servers": server.address})
    eventually(  # a client of old does not wait for the answer when it leaves
        lambda: admin.describe_consumer_groups([f"{name}-group"])[f"{name}-group"].result(60).state,
        lambda state: state == ConsumerGroupState.EMPTY,
    )
    lines = groups_tool(server, "--describe", "--group", f"{name}-group")
    assert lines.count(f"{name}-group") >= 3
    assert " 20 " in lines  # each of the three partitions is committed to its end
    assert "has no active members" in lines


@pytest.mark.parametrize("version", ["4.0.0", "4.3.1"])
def test_the_consumer_protocol(server: Any, filled: Callable[..., str], java: Callable[..., str], version: str) -> None:
    name = filled(3, 60)
    out = java("GroupEra", version, server.address, name, f"{name}-group", "60", "group.protocol=consumer")
    assert "CONSUMED 60" in out
    assert "Consumer" in groups_tool(server, "--list", "--type").split(f"{name}-group")[1].splitlines()[0]


@pytest.mark.parametrize(
    ("version", "protocol"), [("2.8.2", "classic"), ("3.9.2", "classic"), ("4.3.1", "classic"), ("4.3.1", "consumer")]
)
def test_exactly_once_copy(
    server: Any, filled: Callable[..., str], java: Callable[..., str], version: str, protocol: str
) -> None:
    source, target = filled(2, 200), filled(2, 0)
    options = [] if protocol == "classic" else ["group.protocol=consumer"]
    limits = ["max.poll.records=30"]
    out = java(
        "Copier", version, server.address, source, target, f"{source}-copy", f"{source}-id", "200", *limits, *options
    )
    assert "COPIED 200" in out
    consumer = Consumer(
        {
            "bootstrap.servers": server.address,
            "group.id": f"{source}-check",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([target])
    seen: list[str] = []
    while len(seen) < 200 and (message := consumer.poll(60)) is not None:
        assert message.error() is None
        seen.append(message.value().decode())
    assert consumer.poll(0.5) is None
    consumer.close()
    assert sorted(seen) == sorted(f"VALUE {number}" for number in range(200))
    if isinstance(server, TidelogServer):
        assert protocol_versions(server, f"{source}-id") == ({2} if version.startswith("4.") else {0})


def protocol_versions(server: TidelogServer, transactional_id: str) -> set[int]:
    """Which versions of the transaction protocol the id's finished transactions used: KIP-890's is the second."""
    found = set()
    for path in server.data.glob("__transaction_state-*/*.log"):
        for batch in iter_batches(path.read_bytes()):
            for record in batch:
                entry = TRANSACTION_CODEC.decode(record.key, record.value)
                assert entry is not None
                if entry.key.transactional_id == transactional_id and entry.value.transaction_status in (4, 5):
                    found.add(entry.value.client_transaction_version)
    return found


def groups_tool(server: Any, *arguments: str) -> str:
    done = java_tool(
        "4.3.1",
        server.home / "conf",
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--bootstrap-server",
        server.address,
        *arguments,
    )
    return done.stdout + done.stderr
