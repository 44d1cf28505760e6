"""Java clients of every era, from 0.8.2 to 4.x, against today's broker.

Each negotiates (or, before 0.10, assumes) other versions of Produce, Fetch, Metadata and ListOffsets, and writes
another record format: together they walk the whole history of the wire protocol.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from support.kafka import kafka_jars

pytestmark = pytest.mark.java

SOURCE = Path(__file__).parent.parent / "java" / "Era.java"
ERAS = [
    "0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.3.1", "2.8.2",
    "3.0.2", "3.5.2", "3.9.2", "4.0.0", "4.3.1",
]  # fmt: skip
CODECS = {"0.8.2.2": "gzip", "0.9.0.1": "lz4", "0.10.2.2": "snappy", "2.3.1": "zstd", "3.9.2": "zstd", "4.3.1": "lz4"}


def run(version: str, *arguments: str) -> str:
    libs = kafka_jars.client_libs(version)
    command = ["java", "-Xmx128M", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*", str(SOURCE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{version} {arguments}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.mark.parametrize("version", ERAS)
def test_produces_and_reads_back(server: Any, topic: Callable[[], str], version: str) -> None:
    name = topic()
    client = AdminClient({"bootstrap.servers": server.address})
    client.create_topics([NewTopic(name, 1, 1)])[name].result(60)
    codec = CODECS.get(version, "none")
    assert "PRODUCED 300" in run(
        version, "produce", server.address, name, "300", codec, "all" if version > "0.9" else "-1"
    )
    if version != "0.8.2.2":  # its new consumer was not written yet
        assert "CONSUMED 300" in run(version, "consume", server.address, name, "300")
    assert "CONSUMED 300" in run("4.3.1", "consume", server.address, name, "300")


@pytest.mark.parametrize("version", ["0.9.0.1", "0.10.2.2"])
def test_an_old_consumer_reads_new_records(server: Any, topic: Callable[[], str], version: str) -> None:
    """Down-conversion: the log holds format v2, the client knows only v0 or v1."""
    if getattr(server, "version", "").startswith("4."):
        pytest.skip("Apache Kafka 4 dropped the old versions")
    name = topic()
    client = AdminClient({"bootstrap.servers": server.address})
    client.create_topics([NewTopic(name, 1, 1)])[name].result(60)
    run("3.9.2", "produce", server.address, name, "500", "gzip", "all")
    assert "CONSUMED 500" in run(version, "consume", server.address, name, "500")
