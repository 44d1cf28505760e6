"""Exactly-once under fire: copiers and the broker are killed at random; the copy is complete, once, and in order."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.tidelog import TidelogServer

PARTITIONS = 4
COPIERS = 3
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class Copiers:
    """The copying processes; whoever dies is replaced by `tend`."""

    def __init__(self, server: TidelogServer, home: Path, protocol: str) -> None:
        self.server, self.home, self.protocol = server, home, protocol
        self.processes: list[subprocess.Popen[bytes] | None] = [None] * COPIERS
        self.starts = 0

    def tend(self) -> None:
        for number, process in enumerate(self.processes):
            if process is None or process.poll() is not None:
                command = [sys.executable, str(Path(__file__).with_name("copier.py")), self.server.address]
                command += ["in", "out", "copy", f"copier-{number}", self.protocol]
                with (self.home / f"copier-{number}.log").open("ab") as log:
                    self.processes[number] = subprocess.Popen(command, stdout=log, stderr=log)
                self.starts += 1

    def kill_one(self, rng: random.Random) -> None:
        process = rng.choice(self.processes)
        if process is not None:
            process.kill()
            process.wait()

    def stop(self) -> None:
        for process in self.processes:
            if process is not None:
                process.kill()
                process.wait()


@contextmanager
def copiers(server: TidelogServer, home: Path, protocol: str) -> Iterator[Copiers]:
    team = Copiers(server, home, protocol)
    try:
        yield team
    finally:
        team.stop()


def fill(server: TidelogServer, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": server.address})
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in ("in", "out")]).values():
        future.result(60)
    producer = Producer({"bootstrap.servers": server.address, "enable.idempotence": True})
    for number in range(count):
        producer.produce("in", str(number), str(number % 16), partition=number % PARTITIONS)
        producer.poll(0)
    assert producer.flush(30) == 0


def read_copy(server: TidelogServer, enough: int, seconds: float) -> dict[int, list[int]]:
    """What a read_committed reader sees, by partition; until there is enough of it, or time is up."""
    reader = Consumer({"bootstrap.servers": server.address, "group.id": "check", "isolation.level": "read_committed"})
    reader.assign([TopicPartition("out", number, 0) for number in range(PARTITIONS)])
    seen: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and sum(map(len, seen.values())) < enough:
        for record in reader.consume(1000, 0.5):
            if record.error() is None:
                seen[record.partition()].append(int(record.value()))
    for record in reader.consume(1000, 1.0):
        seen[record.partition()].append(int(record.value()))
    reader.close()
    return seen


def check(seen: dict[int, list[int]], count: int) -> None:
    everything = Counter(number for numbers in seen.values() for number in numbers)
    twice = [number for number, times in everything.items() if times > 1]
    missing = [number for number in range(count) if number not in everything]
    assert not twice, f"{len(twice)} records were copied twice, first {twice[:5]}"
    assert not missing, f"{len(missing)} records are missing, first {missing[:5]}"
    for partition, numbers in seen.items():
        assert numbers == sorted(numbers), f"partition {partition} is out of order"


def under_fire(tmp_path: Path, protocol: str, seconds: float, count: int, seed: int) -> None:
    rng = random.Random(seed)
    with TidelogServer(tmp_path, properties=SETTINGS) as server:
        fill(server, count)
        with copiers(server, tmp_path, protocol) as team:
            until = time.monotonic() + seconds
            broker_kills = 0
            while time.monotonic() < until:
                team.tend()
                time.sleep(rng.uniform(0.5, 2.0))
                if rng.random() < 0.5:
                    server.kill()
                    broker_kills += 1
                    server.start()
                else:
                    team.kill_one(rng)
            deadline = time.monotonic() + 60
            seen: dict[int, list[int]] = {}
            while time.monotonic() < deadline and sum(map(len, seen.values())) < count:
                team.tend()
                seen = read_copy(server, count, 5)
        print(f"seed {seed}: {team.starts} copiers started, broker killed {broker_kills} times")
        check(seen, count)
        assert team.starts > COPIERS
        assert broker_kills > 0


@pytest.mark.timeout(180)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_every_record_is_copied_once(tmp_path: Path, protocol: str) -> None:
    under_fire(tmp_path, protocol, seconds=15, count=20_000, seed=5)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_ten_minutes(tmp_path: Path) -> None:
    under_fire(tmp_path, "classic", seconds=600, count=500_000, seed=int(time.time()))
