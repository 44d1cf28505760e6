"""Message formats 0 and 1 beside Apache Kafka 3.9, the last that stores them: same load, taking turns.

    PYTHONPATH=tests .venv/bin/python bench/old_formats.py [--quick] [--rounds N] [--only TEXT]

Both brokers run with `inter.broker.protocol.version=2.8`. Sets of small messages are produced (Produce 2) to topics of
the same format, where they stay as they are or are packed anew (magic 0), and to topics of magic 2, where they are
converted. The table shows medians of messages per second with their spread, the ratio, and the broker's CPU time per
message, which is the sturdier figure on a shared machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from broker_raw import load
from confluent_kafka.admin import AdminClient, NewTopic

from support.kafka import KAFKA_3, KafkaBroker
from support.tidelog import TidelogServer

PROTOCOL = {"inter.broker.protocol.version": "2.8"}
VERSIONS = {0: "0.9.0", 1: "0.10.2", 2: "2.8"}
GOAL = 1.0
Figures = dict[str, float]


class Shape(NamedTuple):
    sent: int
    stored: int
    codec: str
    records: int
    size: int = 100

    @property
    def name(self) -> str:
        return f"magic {self.sent} to {self.stored}, {self.codec}, {self.records} of {self.size} B"

    @property
    def options(self) -> list[str]:
        values = {"magic": self.sent, "codec": self.codec, "records": self.records, "size": self.size, "depth": 5}
        return [text for name, value in values.items() for text in (f"--{name}", str(value))]


SHAPES = [
    *(Shape(sent, stored, "none", 1000) for sent, stored in ((0, 0), (1, 1), (0, 2), (1, 2), (2, 0), (2, 1))),
    *(Shape(sent, sent, "none", 100) for sent in (0, 1)),
    *(Shape(sent, sent, "none", 10) for sent in (0, 1)),
    *(Shape(1, stored, codec, 1000) for stored in (1, 2) for codec in ("gzip", "snappy", "lz4")),
    *(Shape(0, 0, codec, 1000) for codec in ("gzip", "snappy", "lz4")),
]


class Peer:
    """One of the two brokers."""

    def __init__(self, name: str, address: str, pid: int) -> None:
        self.name, self.address, self.pid = name, address, pid
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        self.made = 0

    def measure(self, shape: Shape, seconds: float) -> Figures:
        self.made += 1
        topic = f"old-{self.made}"
        configs = {"message.format.version": VERSIONS[shape.stored]}
        self.admin.create_topics([NewTopic(topic, 1, 1, config=configs)])[topic].result(60)
        found = load(self.address, self.pid, "produce", topic, shape.options, seconds)
        self.admin.delete_topics([topic])[topic].result(60)
        return found


def cpu_per_message(rounds: list[Figures]) -> float:
    """Microseconds."""
    return statistics.median(one["broker_cpu"] / one["records_per_s"] for one in rounds) * 1e6


def show(shape: Shape, results: dict[str, list[Figures]]) -> None:
    rates = {name: [one["records_per_s"] for one in rounds] for name, rounds in results.items()}
    middle = {name: statistics.median(found) for name, found in rates.items()}
    ratio = middle["Tidelog"] / middle["Kafka"]
    spread = " ".join(f"{name} {min(found) / 1e3:,.0f} to {max(found) / 1e3:,.0f}" for name, found in rates.items())
    cpu = {name: cpu_per_message(rounds) for name, rounds in results.items()}
    print(
        f"{shape.name:38s} {middle['Kafka'] / 1e3:9,.0f} {middle['Tidelog'] / 1e3:9,.0f} {ratio:6.2f}x "
        f"{'met' if ratio >= GOAL else 'MISSED':7s} µs of CPU each: {cpu['Kafka']:.2f} {cpu['Tidelog']:.2f}"
        f"  ({spread})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round, little warm-up")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="shapes whose name holds this text")
    options = parser.parse_args()
    seconds = 1.5 if options.quick else 4.0
    rounds = 1 if options.quick else options.rounds
    shapes = [shape for shape in SHAPES if options.only in shape.name]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        kafka = KafkaBroker(KAFKA_3, home / "kafka", mode="zookeeper", properties=PROTOCOL, heap="1G")
        with kafka, TidelogServer(home / "tidelog", properties=PROTOCOL) as tidelog:
            peers = [Peer("Kafka", kafka.address, kafka.pid), Peer("Tidelog", tidelog.address, tidelog.pid)]
            for shape in shapes:  # the JVM compiles each way by itself
                peers[0].measure(shape, 2 if options.quick else 6)
            print(f"{'thousand messages per second':38s} {'Kafka ' + KAFKA_3:>9s} {'Tidelog':>9s}  ratio  goal {GOAL}x")
            for shape in shapes:
                found: dict[str, list[Figures]] = {peer.name: [] for peer in peers}
                for _ in range(rounds):
                    for peer in peers:
                        found[peer.name].append(peer.measure(shape, seconds))
                show(shape, found)


if __name__ == "__main__":
    main()
