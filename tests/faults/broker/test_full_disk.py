"""A full disk takes its log directory offline with a clear error; nothing acknowledged is lost, the broker stays up (as
long as there is another directory). A store without room refuses changes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.ports import free_port
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


def fill_until_it_fails(address: str, topic: str, size: int) -> dict[int, int]:
    """Produce records of `size` bytes until the broker refuses; returns what was acknowledged (number → offset)."""
    acknowledged: dict[int, int] = {}
    failures: list[str] = []

    def delivered(error: object, message: Message, number: int) -> None:
        if error is None:
            acknowledged[number] = message.offset()
        else:
            failures.append(str(error))

    # A batch per record; few under way, so that the first failure ends it soon.
    settings = {"batch.num.messages": 1, "queue.buffering.max.messages": 64}
    producer = Producer({"bootstrap.servers": address, **CONFIG, "delivery.timeout.ms": 10_000, **settings})
    number = 0
    while not failures:
        try:
            producer.produce(
                topic,
                value=(b"%d" % number).ljust(size, b"\0"),
                partition=0,
                on_delivery=lambda e, m, n=number: delivered(e, m, n),
            )
            number += 1
        except BufferError:
            producer.poll(0.1)
    producer.flush(60)
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


class TwoDisks(TidelogServer):
    """A broker with a roomy and a small disk; the first of them holds the store."""

    def __init__(self, home: Path, small: Path, *, store_on_small: bool = False) -> None:
        self.http = f"127.0.0.1:{free_port()}"
        super().__init__(home, arguments=["--http", self.http])
        self.roomy, self.small = home / "roomy", small / "log"
        dirs = [self.small, self.roomy] if store_on_small else [self.roomy, self.small]
        self.properties |= {"log.dirs": ",".join(map(str, dirs)), "log.index.interval.bytes": "0"}

    def command(self) -> list[str]:
        return [part for part in super().command() if part not in ("--data-dir", str(self.data))]

    def health(self) -> tuple[int, dict[str, object]]:
        try:
            with urllib.request.urlopen(f"http://{self.http}/health", timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def topics(self) -> tuple[str, str]:
        """A topic on each disk: (on the small one, on the roomy one)."""
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        for name in ("one", "two"):
            admin.create_topics([NewTopic(name, 1, 1)])[name].result(60)
        return ("one", "two") if (self.small / "one-0").is_dir() else ("two", "one")


def produces(address: str, topic: str) -> bool:
    producer = Producer({"bootstrap.servers": address, **CONFIG})
    outcome: list[object] = []
    producer.produce(topic, value=b"1", partition=0, on_delivery=lambda error, _: outcome.append(error))
    producer.flush(60)
    return outcome == [None]


@pytest.mark.parametrize("size", [100_000, 10])
def test_full_directory_goes_offline_alone(small_disk: Path, tmp_path: Path, size: int) -> None:
    """Large records meet the full disk in a write; for small ones, with an index entry each, pages of the maps run
    out as often."""
    with TwoDisks(tmp_path / "broker", small_disk) as server:
        on_small, other = server.topics()
        assert produces(server.address, on_small)
        if size < 1000:
            fill_up(small_disk / "ballast", spare=1 << 20)
        acknowledged = fill_until_it_fails(server.address, on_small, size)
        assert len(acknowledged) > 50
        assert server.process is not None
        assert server.process.poll() is None, "ended by a signal"
        assert "No space left" in server.log
        assert produces(server.address, other), "the other directory must serve on"
        server.kill()
        subprocess.run(["mount", "-o", "remount,size=96m", str(small_disk)], check=True)
        server.start()
        found = values(server.address, on_small, len(acknowledged))
        assert {number: found.get(number) for number in acknowledged} == acknowledged


def test_a_disk_that_fills_up_behind_the_brokers_back(small_disk: Path, tmp_path: Path) -> None:
    """Somebody else takes the last page; the next entry of an index then has none. The process must live."""
    with TwoDisks(tmp_path / "broker", small_disk) as server:
        on_small, other = server.topics()
        assert produces(server.address, on_small)
        assert server.health()[0] == 200
        fill_up(small_disk / "ballast")
        acknowledged = fill_until_it_fails(server.address, on_small, 10)
        assert produces(server.address, other)
        status, health = server.health()
        assert (status, health["status"], health["offline_dirs"]) == (503, "degraded", [str(server.small)])
        assert server.process is not None
        assert server.process.poll() is None, "ended by a signal"
        server.kill()
        (small_disk / "ballast").unlink()
        server.start()
        assert produces(server.address, on_small)
        assert len(values(server.address, on_small, len(acknowledged))) >= len(acknowledged)


def test_a_broker_on_one_full_disk_ends(small_disk: Path, tmp_path: Path) -> None:
    """With nothing left to serve, it ends with status 1 as Apache Kafka does, and says why."""
    server = TidelogServer(tmp_path / "broker")
    server.data = small_disk / "data"
    with server:
        admin = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(60)
        assert produces(server.address, "t")
        fill_up(small_disk / "ballast")
        producer = Producer({"bootstrap.servers": server.address, **CONFIG})
        producer.produce("t", value=bytes(100_000), partition=0)
        assert server.process is not None
        deadline = time.monotonic() + 60
        while server.process.poll() is None and time.monotonic() < deadline:
            producer.poll(0.1)
        assert server.process.poll() == 1
        assert server.log.splitlines()[-1].startswith("error: the broker has ended: ")
        assert "every log directory has failed" in server.log.splitlines()[-1]
        server.kill()
        (small_disk / "ballast").unlink()
        server.start()
        assert produces(server.address, "t")


def test_a_store_without_room_refuses_changes_and_the_broker_serves(small_disk: Path, tmp_path: Path) -> None:
    with TwoDisks(tmp_path / "broker", small_disk, store_on_small=True) as server:
        admin = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
        _, other = server.topics()
        fill_up(small_disk / "ballast")
        with pytest.raises(KafkaException, match="KAFKA_STORAGE_ERROR"):
            admin.create_topics([NewTopic("large", 500, 1)], request_timeout=60)["large"].result(60)
        assert produces(server.address, other)
        (small_disk / "ballast").unlink()
        admin.create_topics([NewTopic("large", 500, 1)])["large"].result(60)
        assert produces(server.address, "large")
        server.kill()
        server.start()
        topics = AdminClient({"bootstrap.servers": server.address, "log_level": 0}).list_topics(timeout=60).topics
        assert len(topics["large"].partitions) == 500


def fill_up(path: Path, spare: int = 0) -> None:
    """Take every page that is left, but for `spare` bytes."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(path, path.stat().st_size - spare)
