"""Real clients on both brokers: librdkafka (confluent-kafka), Kafka's ProducerPerformance and ConsumerPerformance.

    PYTHONPATH=tests .venv/bin/python bench/broker_clients.py [--quick] [--rounds N] [--only TEXT]

Apache Kafka 4.x and Tidelog run side by side with their defaults and are used in turn, the JVM broker after a warm-up.
Each run is a client process of its own with a fresh topic of one partition (consumers read one that was filled before).
The table shows medians in records per second, and the median of the rounds' ratios. Clients and broker share the
machine, and the clients take most of it: a ratio near 1 says that the client is the limit, and the broker's CPU time
says what it would leave to others.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from broker_raw import Peer, load
from confluent_kafka import Consumer, Producer, TopicPartition
from raw_load import Usage, make_batch

from support.kafka import KAFKA_4, KafkaBroker, java_command
from support.tidelog import TidelogServer

GOAL = 1.0
#: Bytes of values in one batch of the topics that are consumed.
FILL_BYTES = 100_000
TOOLS = "org.apache.kafka.tools."


# --- librdkafka, in a process of its own ----------------------------------------------------------------------------


def rdkafka_produce(address: str, topic: str, size: int, count: int) -> float:
    """Records per second, from the first call until the last one is acknowledged."""
    settings = {
        "bootstrap.servers": address,
        "acks": 1,
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "batch.num.messages": 10_000,
        "queue.buffering.max.messages": 500_000,
        "queue.buffering.max.kbytes": 1 << 20,
        "log_level": 3,
    }
    producer = Producer(settings)
    producer.list_topics(topic, 30)
    value = b"x" * size
    began = time.perf_counter()
    for _ in range(count):
        try:
            producer.produce(topic, value)
        except BufferError:
            producer.poll(0.01)
            producer.produce(topic, value)
    if producer.flush(120):
        raise SystemExit("not everything was acknowledged")
    return count / (time.perf_counter() - began)


def rdkafka_consume(address: str, topic: str, size: int, count: int) -> float:
    """Records per second, from the assignment until the last record."""
    settings = {
        "bootstrap.servers": address,
        "group.id": "bench",
        "enable.auto.commit": False,
        "check.crcs": False,
        "queued.min.messages": 1_000_000,
        "queued.max.messages.kbytes": 1 << 20,
        "fetch.queue.backoff.ms": 5,
        "max.partition.fetch.bytes": 8 << 20,
        "log_level": 3,
    }
    consumer = Consumer(settings)
    consumer.list_topics(topic, 30)
    began = time.perf_counter()
    consumer.assign([TopicPartition(topic, 0, 0)])
    seen = 0
    while seen < count:
        records = consumer.consume(10_000, 30)
        if not records or records[0].error():
            raise SystemExit(f"only {seen} of {count} records came")
        seen += len(records)
    rate = seen / (time.perf_counter() - began)
    consumer.close()
    return rate


WORKERS: dict[str, Callable[[str, str, int, int], float]] = {"produce": rdkafka_produce, "consume": rdkafka_consume}


def run_rdkafka(work: str, peer: Peer, conf: Path, topic: str, size: int, count: int) -> float:
    command = [sys.executable, __file__, "--worker", work, peer.address, topic, str(size), str(count)]
    return float(json.loads(_output(command)))


# --- Kafka's own tools ----------------------------------------------------------------------------------------------


def run_java(work: str, peer: Peer, conf: Path, topic: str, size: int, count: int) -> float:
    if work == "produce":
        options = ["--record-size", str(size), "--throughput", "-1"]
        command = [*options, "--num-records", str(count), "--bootstrap-server", peer.address]
        command += ["--command-property", "acks=1", "--topic", topic]
        last = _output(java_command(KAFKA_4, conf, TOOLS + "ProducerPerformance", *command, heap="512M"))
        return float(last.split(" records/sec")[0].rsplit(", ", 1)[1])
    command = ["--bootstrap-server", peer.address, "--topic", topic, "--num-records", str(count), "--timeout", "30000"]
    last = _output(java_command(KAFKA_4, conf, TOOLS + "ConsumerPerformance", *command, heap="512M"))
    fields = [field.strip() for field in last.split(",")]
    if int(fields[4]) < count:
        raise SystemExit(f"only {fields[4]} of {count} records came")
    return float(fields[5])


def _output(command: list[str]) -> str:
    """The last line that a program printed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode or not done.stdout.strip():
        raise SystemExit(f"{' '.join(command[-12:])} failed:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1]


# --- the table ------------------------------------------------------------------------------------------------------


class Shape(NamedTuple):
    name: str
    run: Callable[[str, Peer, Path, str, int, int], float]
    work: str
    size: int
    count: int


SHAPES = [
    Shape("librdkafka produce, 100 B", run_rdkafka, "produce", 100, 2_000_000),
    Shape("librdkafka produce, 1 KB", run_rdkafka, "produce", 1024, 700_000),
    Shape("librdkafka consume, 100 B", run_rdkafka, "consume", 100, 2_000_000),
    Shape("librdkafka consume, 1 KB", run_rdkafka, "consume", 1024, 700_000),
    Shape("ProducerPerformance, 100 B", run_java, "produce", 100, 2_000_000),
    Shape("ProducerPerformance, 1 KB", run_java, "produce", 1024, 400_000),
    Shape("ConsumerPerformance, 100 B", run_java, "consume", 100, 2_000_000),
    Shape("ConsumerPerformance, 1 KB", run_java, "consume", 1024, 700_000),
]


class Taken(NamedTuple):
    """One run: records per second, and the broker's CPU seconds for a million of them."""

    rate: float
    broker_cpu: float


class Bench:
    def __init__(self, peers: list[Peer], conf: Path, share: float) -> None:
        self.peers, self.conf, self.share = peers, conf, share
        self.filled: dict[tuple[str, int], str] = {}

    def count(self, shape: Shape) -> int:
        return int(shape.count * self.share)

    def fill(self, peer: Peer, size: int) -> str:
        """A topic that holds enough to consume: the same batches on both, which a real producer would not make."""
        key = (peer.name, size)
        if key not in self.filled:
            topic = self.filled[key] = peer.topic(1)
            count = max(self.count(shape) for shape in SHAPES if shape.work == "consume" and shape.size == size)
            records = FILL_BYTES // size
            megabytes = count / records * len(make_batch(records, size)) / 1e6 + 1
            options = ["--size", size, "--records", records, "--depth", 5, "--megabytes", megabytes]
            load(peer.address, peer.pid, "produce", topic, list(map(str, options)), 120)
        return self.filled[key]

    def take(self, peer: Peer, shape: Shape) -> Taken:
        topic = peer.topic(1) if shape.work == "produce" else self.fill(peer, shape.size)
        count = self.count(shape)
        usage = Usage(peer.pid)
        rate = shape.run(shape.work, peer, self.conf, topic, shape.size, count)
        spent = usage.since()
        if shape.work == "produce":
            peer.drop(topic)
        return Taken(rate, spent["broker_cpu"] * spent["seconds"] / count * 1e6)

    def measure(self, shape: Shape, rounds: int) -> None:
        taken: dict[str, list[Taken]] = {peer.name: [] for peer in self.peers}
        for _ in range(rounds):
            for peer in self.peers:
                taken[peer.name].append(self.take(peer, shape))
        rate = {name: statistics.median(one.rate for one in found) for name, found in taken.items()}
        cpu = {name: statistics.median(one.broker_cpu for one in found) for name, found in taken.items()}
        pairs = zip(taken["Tidelog"], taken["Kafka"], strict=True)
        ratio = statistics.median(ours.rate / theirs.rate for ours, theirs in pairs)
        mark = "met" if ratio >= GOAL else "MISSED"
        print(
            f"{shape.name:28s} {rate['Kafka']:12,.0f} {rate['Tidelog']:12,.0f} {ratio:6.2f}x >= {GOAL}x {mark:7s}"
            f" broker CPU s per million: Kafka {cpu['Kafka']:.2f}, Tidelog {cpu['Tidelog']:.2f}",
            flush=True,
        )


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        work, address, topic, size, count = sys.argv[2:7]
        print(json.dumps(WORKERS[work](address, topic, int(size), int(count))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round of a fifth of the records")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="shapes whose name holds this text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        kafka = KafkaBroker(KAFKA_4, home / "kafka", heap="1G")
        with kafka, TidelogServer(home / "tidelog") as tidelog:
            peers = [Peer("Kafka", kafka.address, kafka.pid), Peer("Tidelog", tidelog.address, tidelog.pid)]
            bench = Bench(peers, home / "conf", 0.2 if options.quick else 1.0)
            for shape in SHAPES[:3]:  # the JVM broker needs some work before it is itself
                bench.take(peers[0], shape)
            print(f"{'records/s':28s} {'Kafka ' + KAFKA_4:>12s} {'Tidelog':>12s}  ratio")
            for shape in SHAPES:
                if options.only in shape.name:
                    bench.measure(shape, 1 if options.quick else options.rounds)


if __name__ == "__main__":
    main()
