"""Starting, idling, and topics of many partitions: Tidelog beside Apache Kafka 4.x, in the same run.

    PYTHONPATH=tests .venv/bin/python bench/broker_life.py [--rounds N] [--partitions N]

For each broker: from exec to its first Metadata answer; resident memory when idle; from CreateTopics of 1,000
partitions to every one of them accepting a record; and from exec on that directory to the first Metadata answer with
all of them led. The smallest of the rounds counts: on a shared machine the rest is others' work.
"""

from __future__ import annotations

import argparse
import os
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request
from tidelog.protocol.messages import CreateTopicsRequest, MetadataRequest, ProduceRequest
from tidelog.records.builder import BatchBuilder

GOALS = {"start": 0.1, "idle": 40.0, "create": 0.3, "restart": 0.6}
UNITS = {"start": "s", "idle": "MB", "create": "s", "restart": "s"}


class Wire:
    """A blocking connection that asks one thing after the other."""

    def __init__(self, address: str, deadline: float) -> None:
        host, _, port = address.rpartition(":")
        while True:
            try:
                self._socket = socket.create_connection((host, int(port)), 5)
                break
            except OSError:
                if time.perf_counter() > deadline:
                    raise
                time.sleep(0.002)
        self._file = self._socket.makefile("rb")

    def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        self._socket.sendall(encode_request(key, version, 1, "bench", request))
        (size,) = struct.unpack(">i", self._file.read(4))
        return decode_response(key, version, self._file.read(size))[1]

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def wait_metadata(address: str, topic: str | None = None, partitions: int = 0) -> None:
    """Until Metadata is answered, and the topic's partitions all have leaders."""
    deadline = time.perf_counter() + 60
    names = [MetadataRequest.MetadataRequestTopic(name=topic)] if topic else []
    while time.perf_counter() < deadline:
        wire = Wire(address, deadline)
        try:
            answer = wire.ask(ApiKey.METADATA, 9, MetadataRequest(topics=names, allow_auto_topic_creation=False))
            led = sum(p.leader_id >= 0 for t in answer.topics for p in t.partitions)
            if answer.brokers and led == partitions:
                return
        except (OSError, struct.error):
            pass
        finally:
            wire.close()
        time.sleep(0.002)
    raise AssertionError("no answer")


def create_and_write(address: str, topic: str, partitions: int) -> float:
    """Seconds from CreateTopics until every partition has taken a record."""
    wire = Wire(address, time.perf_counter() + 10)
    builder = BatchBuilder()
    builder.append(int(time.time() * 1000), b"k", b"v")
    batch = builder.build()
    started = time.perf_counter()
    new = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
    answer = wire.ask(ApiKey.CREATE_TOPICS, 5, CreateTopicsRequest(topics=[new], timeout_ms=60_000))
    assert answer.topics[0].error_code == 0, answer
    missing = set(range(partitions))
    while missing:
        parts = [ProduceRequest.PartitionProduceData(index=i, records=memoryview(batch)) for i in sorted(missing)]
        data = [ProduceRequest.TopicProduceData(name=topic, partition_data=parts)]
        response = wire.ask(ApiKey.PRODUCE, 8, ProduceRequest(acks=1, timeout_ms=10_000, topic_data=data))
        missing -= {p.index for t in response.responses for p in t.partition_responses if p.error_code == 0}
    seconds = time.perf_counter() - started
    wire.close()
    return seconds


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def measure(make: Callable[[Path], Any], home: Path, partitions: int) -> dict[str, float]:
    broker = make(home)
    figures: dict[str, float] = {}
    try:
        broker.start()  # formats the directory, where that is needed
        broker.stop()
        started = time.perf_counter()
        broker.start()
        wait_metadata(broker.address)
        figures["start"] = time.perf_counter() - started
        time.sleep(1)
        figures["idle"] = resident_mb(broker.pid)
        figures["create"] = create_and_write(broker.address, "many", partitions)
        broker.stop()
        started = time.perf_counter()
        broker.start()
        wait_metadata(broker.address, "many", partitions)
        figures["restart"] = time.perf_counter() - started
        broker.stop()
    except BaseException:
        broker.kill()
        raise
    finally:
        if isinstance(broker, KafkaBroker):
            broker.close()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=1000)
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed Tidelog has its bytecode
    makers: dict[str, Callable[[Path], Any]] = {
        "tidelog": lambda home: TidelogServer(home),
        "kafka": lambda home: KafkaBroker(KAFKA_4, home, heap="1G"),
    }
    best: dict[str, dict[str, float]] = {name: {} for name in makers}
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{scratch}/bytecode"
        for number in range(options.rounds):
            for name, make in makers.items():
                figures = measure(make, Path(scratch) / f"{name}-{number}", options.partitions)
                for figure, value in figures.items():
                    best[name][figure] = min(value, best[name].get(figure, value))
    print(f"{'':10} {'tidelog':>10} {'kafka ' + KAFKA_4:>14} {'ratio':>8} {'goal':>10}")
    for figure, goal in GOALS.items():
        ours, theirs, unit = best["tidelog"][figure], best["kafka"][figure], UNITS[figure]
        met = "met" if ours <= goal else "missed"
        print(f"{figure:10} {ours:8.3f} {unit} {theirs:11.3f} {unit} {theirs / ours:7.1f}x  ≤ {goal:g} {unit} {met}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
