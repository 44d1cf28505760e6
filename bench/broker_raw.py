"""The broker beside Apache Kafka 4.x: same machine, same run, same load, taking turns.

    PYTHONPATH=tests .venv/bin/python bench/broker_raw.py [--quick] [--rounds N] [--only TEXT]

Both brokers run with their defaults, on empty directories side by side, and are loaded one after the other by
`raw_load.py`; the JVM is warmed up first. The table shows medians, the ratio, and the goal. On a shared machine only
the ratio means anything; the broker's CPU per unit of work is the sturdier figure, and is shown too. At the end both
are sent malformed batches with valid checksums: speed that comes from not looking would show.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from confluent_kafka.admin import AdminClient, NewTopic
from raw_load import PRODUCE_VERSION, connect, first_produce, produce_request, receive_frame

from support.kafka import KAFKA_4, KafkaBroker
from support.malformed import malformed, sound
from support.tidelog import TidelogServer
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response
from tidelog.records.format.attributes import Codec

LOAD = Path(__file__).with_name("raw_load.py")


class Shape(NamedTuple):
    name: str
    figure: str
    mode: str
    options: list[str]
    partitions: int
    goal: float
    """Ratio to Kafka: at least (throughput), at most (times, where `figure` ends in _us)."""

    @property
    def less_is_better(self) -> bool:
        return self.figure.endswith("_us")


def produce(name: str, goal: float, *, size: int, records: int, connections: int = 1, depth: int = 5) -> Shape:
    options = [
        "--size",
        size,
        "--records",
        records,
        "--connections",
        connections,
        "--depth",
        depth,
        "--megabytes",
        1200,
    ]
    return Shape(name, "mb_per_s", "produce", [str(one) for one in options], 1, goal)


def small(name: str, goal: float, connections: int, depth: int) -> Shape:
    options = ["--connections", str(connections), "--depth", str(depth), "--partitions", "6", "--warm", "1"]
    return Shape(name, "requests_per_s", "produce", options, 6, goal)


def fetch(name: str, *, records: int, connections: int = 1) -> Shape:
    options = ["--size", 1024, "--records", records, "--connections", connections, "--partitions", connections]
    return Shape(name, "mb_per_s", "fetch", [*map(str, options), "--warm", "0.5"], connections, 1.0)


SHAPES = [
    produce("produce 16 KB batches of 1 KB", 4.0, size=1024, records=15),
    produce("produce 1 MB batches of 1 KB", 1.5, size=1024, records=1000),
    produce("produce 1 MB batches of 100 B", 2.5, size=100, records=9500),
    produce("produce 16 KB, 8 connections", 2.0, size=1024, records=15, connections=8),
    fetch("fetch 1 MB batches, 1 connection", records=1000),
    fetch("fetch 1 MB batches, 2 connections", records=1000, connections=2),
    fetch("fetch 16 KB batches, 1 connection", records=15),
    small("one record, 32 connections", 1.1, 32, 1),
    small("one record, 32 x 16 pipelined", 5.0, 32, 16),
    Shape("produce p99 at 1,000/s", "p99_us", "latency", ["--rate", "1000", "--warm", "1"], 1, 0.7),
    Shape("end to end p99 at 1,000/s", "p99_us", "e2e", ["--rate", "1000", "--warm", "1"], 1, 0.7),
]


def load(address: str, pid: int, mode: str, topic: str, options: list[str], seconds: float) -> dict[str, float]:
    command = [sys.executable, str(LOAD), mode, address, topic, "--pid", str(pid), "--seconds", str(seconds), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"{mode} against {address} failed: {done.stderr[-1000:]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


class Peer:
    """One of the two brokers."""

    def __init__(self, name: str, address: str, pid: int) -> None:
        self.name, self.address, self.pid = name, address, pid
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        self.made = 0

    def topic(self, partitions: int) -> str:
        self.made += 1
        name = f"bench-{self.made}"
        self.admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        return name

    def drop(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(30)

    def measure(self, shape: Shape, seconds: float) -> dict[str, float]:
        topic = self.topic(shape.partitions)
        if shape.mode == "fetch":
            fill = [*shape.options[:4], "--depth", "5", "--megabytes", "400", "--partitions", str(shape.partitions)]
            load(self.address, self.pid, "produce", topic, fill, 20)
        found = load(self.address, self.pid, shape.mode, topic, shape.options, seconds)
        self.drop(topic)
        return found


def warm(peer: Peer, seconds: float) -> None:
    for shape in (SHAPES[0], SHAPES[7], SHAPES[4]):
        peer.measure(shape, seconds)


def show(shape: Shape, results: dict[str, list[dict[str, float]]]) -> None:
    ours = statistics.median(one[shape.figure] for one in results["Tidelog"])
    theirs = statistics.median(one[shape.figure] for one in results["Kafka"])
    ratio = ours / theirs
    met = ratio <= shape.goal if shape.less_is_better else ratio >= shape.goal
    cpu = " ".join(
        f"{name} {statistics.median(one['broker_cpu'] for one in rounds) * 100:.0f} %"
        for name, rounds in results.items()
    )
    sign = "<=" if shape.less_is_better else ">="
    mark = "met" if met else "MISSED"
    print(
        f"{shape.name:32s} {theirs:10,.0f} {ours:10,.0f} {ratio:6.2f}x  {sign} {shape.goal}x {mark:7s} cpu: {cpu}",
        flush=True,
    )


def show_refusals(peers: list[Peer]) -> None:
    """The processes that were measured, as they are, with batches whose checksum is right and whose records are not."""
    cases = list(malformed())
    for peer in peers:
        topic = peer.topic(1)
        sock = connect(peer.address)
        first_produce(sock, produce_request(topic, 0, sound(Codec.NONE)))
        stored: dict[str, list[str]] = {}
        for case, batch in cases:
            sock.sendall(produce_request(topic, 0, batch))
            response: Any = decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, receive_frame(sock))[1]
            if not response.responses[0].partition_responses[0].error_code:
                codec, _, what = case.partition(": ")
                stored.setdefault(what, []).append(codec)
        sock.close()
        peer.drop(topic)
        refused = len(cases) - sum(map(len, stored.values()))
        print(f"{peer.name}: {refused} of {len(cases)} malformed batches with a valid checksum refused")
        for what, codecs in stored.items():
            print(f"    stored: {what} ({', '.join(codecs)})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round, little warm-up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="shapes whose name holds this text")
    options = parser.parse_args()
    seconds = 1.5 if options.quick else 4.0
    rounds = 1 if options.quick else options.rounds
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        kafka = KafkaBroker(KAFKA_4, home / "kafka", heap="1G")
        with kafka, TidelogServer(home / "tidelog") as tidelog:
            peers = [Peer("Kafka", kafka.address, kafka.pid), Peer("Tidelog", tidelog.address, tidelog.pid)]
            warm(peers[0], 4 if options.quick else 12)
            print(f"{'':32s} {'Kafka ' + KAFKA_4:>10s} {'Tidelog':>10s}  ratio  goal")
            for shape in SHAPES:
                if options.only in shape.name:
                    found: dict[str, list[dict[str, float]]] = {peer.name: [] for peer in peers}
                    for _ in range(rounds):
                        for peer in peers:
                            found[peer.name].append(peer.measure(shape, seconds))
                    show(shape, found)
            show_refusals(peers)


if __name__ == "__main__":
    main()
