"""Kafka Streams, exactly once: a word count whose state, repartitioning and output are transactions of ours."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from support.kafka import kafka_jars

pytestmark = pytest.mark.java


def word_count(version: str, home: Path, *arguments: str) -> None:
    libs = kafka_jars.broker_libs(version)
    source = Path(__file__).with_name("WordCount.java")
    command = ["java", "-Xmx256M", f"-Djava.io.tmpdir={home}", "-cp", f"{libs}/*", str(source), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert "STOPPED NOT_RUNNING" in done.stdout, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_word_count(server: Any, filled: Callable[..., str], tmp_path: Path, version: str) -> None:
    """Run twice: the second run restores its counts from the changelog and goes on.

    A Streams application does not leave its group when it stops: the second one waits for the session to time out.
    """
    source, target = filled(2, 100), filled(1, 0)
    application = f"{source}-app"
    sessions = ("session.timeout.ms=6000", "heartbeat.interval.ms=1000")
    for seconds in ("8", "14"):
        word_count(version, tmp_path, server.address, source, target, application, seconds, *sessions)
    reader = Consumer(
        {
            "bootstrap.servers": server.address,
            "group.id": f"{source}-check",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    reader.subscribe([target])
    counts: dict[str, list[int]] = {}
    while (message := reader.poll(8)) is not None:
        counts.setdefault(message.key().decode(), []).append(int(message.value()))
    reader.close()
    assert counts["value"] == list(range(1, 101))  # every step once, in order
    assert all(counts[str(number)] == [1] for number in range(100))
