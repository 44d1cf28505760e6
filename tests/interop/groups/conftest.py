"""What the group tests share: topics with records in them, Java programs, and patience with the clients' own leaks."""

from __future__ import annotations

import gc
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.kafka import kafka_jars


@pytest.fixture(autouse=True)
def _collect_their_leaks() -> Iterator[None]:
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def filled(server: Any, topic: Callable[[], str]) -> Callable[..., str]:
    """`filled(partitions, count)`: a fresh topic with `count` records, key and value `0`, `1`, ..."""

    def make(partitions: int = 3, count: int = 60) -> str:
        name = topic()
        admin = AdminClient({"bootstrap.servers": server.address})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(60)
        producer = Producer({"bootstrap.servers": server.address})
        for number in range(count):
            producer.produce(name, key=str(number), value=f"value {number}", partition=number % partitions)
        assert producer.flush(60) == 0
        return name

    return make


@pytest.fixture
def java(tmp_path: Path) -> Callable[..., str]:
    """Run a Java program of this folder with the clients of a version; returns what it printed."""

    def run(program: str, version: str, *arguments: str) -> str:
        libs = kafka_jars.client_libs(version)
        source = Path(__file__).parent / f"{program}.java"
        command = ["java", "-Xmx160M", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*", str(source), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{version} {arguments}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    return run
