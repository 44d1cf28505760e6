"""Kafka Streams, exactly once: a word count whose state, repartitioning and output are transactions of ours."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from support.kafka import kafka_jars

pytestmark = pytest.mark.java

PATIENCE = 180


@contextmanager
def word_count(version: str, home: Path, *arguments: str) -> Iterator[None]:
    """A word count that runs meanwhile, and then stops as it should."""
    libs = kafka_jars.broker_libs(version)
    source = Path(__file__).with_name("WordCount.java")
    command = ["java", "-Xmx256M", f"-Djava.io.tmpdir={home}", "-cp", f"{libs}/*", str(source), *arguments]
    log = home / "word-count.log"
    with log.open("ab") as out:
        running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield
        running.communicate(timeout=PATIENCE)  # closes its input, which ends it
    finally:
        running.kill()
        running.communicate()
    assert log.read_text().endswith("STOPPED NOT_RUNNING\n"), log.read_text()[-4000:]


def read(reader: Consumer, counts: dict[str, list[int]], expected: int) -> None:
    """Take what is counted until there are so many counts in all."""
    while sum(map(len, counts.values())) < expected:
        message = reader.poll(PATIENCE)
        assert message is not None, counts
        assert message.error() is None, message.error()
        counts.setdefault(message.key().decode(), []).append(int(message.value()))


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_word_count(server: Any, filled: Callable[..., str], tmp_path: Path, version: str) -> None:
    """Run twice: the second run restores its counts from the changelog and goes on.

    A Streams application does not leave its group when it stops: the second one waits for the session to time out.
    """
    source, target = filled(2, 100), filled(1, 0)
    sessions = ("session.timeout.ms=6000", "heartbeat.interval.ms=1000")
    arguments = (version, tmp_path, server.address, source, target, f"{source}-app", *sessions)
    settings = {"group.id": f"{source}-check", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    reader = Consumer({"bootstrap.servers": server.address, **settings})
    reader.subscribe([target])
    counts: dict[str, list[int]] = {}
    with word_count(*arguments):
        read(reader, counts, 200)
    producer = Producer({"bootstrap.servers": server.address})
    for number in range(100, 120):
        producer.produce(source, key=str(number), value=f"value {number}", partition=number % 2)
    assert producer.flush(60) == 0
    with word_count(*arguments):
        read(reader, counts, 240)
    assert reader.poll(1) is None  # what the end of a run may have written in addition
    reader.close()
    assert counts["value"] == list(range(1, 121))  # every step once, in order
    assert all(counts[str(number)] == [1] for number in range(120))
