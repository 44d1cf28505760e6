"""A full disk takes its log directory offline with a clear error; nothing acknowledged is lost, the broker stays up."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.tidelog import TidelogServer

SIZE_MB = 24
CONFIG = {"delivery.timeout.ms": 15_000, "request.timeout.ms": 10_000, "linger.ms": 1, "log_level": 0}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    where = tmp_path / "small"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(where)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


def fill_until_it_fails(address: str, topic: str) -> dict[int, int]:
    """Produce until the broker refuses; returns what was acknowledged (number → offset)."""
    acknowledged: dict[int, int] = {}
    failures: list[str] = []

    def delivered(error: object, message: Message, number: int) -> None:
        if error is None:
            acknowledged[number] = message.offset()
        else:
            failures.append(str(error))

    producer = Producer({"bootstrap.servers": address, **CONFIG})
    for number in range(100_000):
        if failures:
            break
        producer.produce(
            topic,
            value=b"%d" % number + bytes(100_000),
            partition=0,
            on_delivery=lambda e, m, n=number: delivered(e, m, n),
        )
        producer.poll(0.01)
    producer.flush(60)
    assert failures, "the disk never got full"
    return acknowledged


def values(address: str, topic: str, count: int) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "check", "log_level": 0})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: dict[int, int] = {}
        deadline = time.monotonic() + 120
        while len(found) < count and time.monotonic() < deadline:
            for message in consumer.consume(500, 0.5):
                if message.error() is None:
                    found[int(message.value().rstrip(b"\0"))] = message.offset()
        return found
    finally:
        consumer.close()


def test_full_directory_goes_offline_alone(small_disk: Path, tmp_path: Path) -> None:
    server = TidelogServer(tmp_path / "broker")
    roomy, small = tmp_path / "roomy", small_disk / "log"
    server.properties |= {"log.dirs": f"{roomy},{small}"}
    server.arguments = []
    command = server.command
    server.command = lambda: [part for part in command() if part not in ("--data-dir", str(server.data))]  # type: ignore[method-assign] # log.dirs instead
    with server:
        admin = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
        for name in ("one", "two"):
            admin.create_topics([NewTopic(name, 1, 1)])[name].result(60)
        on_small = next(name for name in ("one", "two") if (small / f"{name}-0").is_dir())
        other = "two" if on_small == "one" else "one"
        acknowledged = fill_until_it_fails(server.address, on_small)
        assert len(acknowledged) > 50
        assert "No space left" in server.log
        producer = Producer({"bootstrap.servers": server.address, **CONFIG})
        outcome: list[object] = []
        producer.produce(other, value=b"1", partition=0, on_delivery=lambda error, _: outcome.append(error))
        producer.flush(60)
        assert outcome == [None], "the other directory must serve on"
        server.kill()
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        server.start()
        found = values(server.address, on_small, len(acknowledged))
        assert {number: found.get(number) for number in acknowledged} == acknowledged
