"""Our producer and consumer beside confluent-kafka, kafka-python and aiokafka: same broker, same run, taking turns.

    PYTHONPATH=tests .venv/bin/python bench/client_records.py [--quick] [--rounds N] [--only TEXT] [--tidelog-only]

On a Tidelog broker and on Apache Kafka 4.x, with the brokers' defaults. Each figure is a process of its own
(`record_clients/worker.py`) on a topic of one partition, fresh for producers, filled before for consumers. All
producers are told the same: acks=all, idempotence, a linger of 5 ms, batches of up to 1 MB. All consumers look at every
value. The table shows records per second and, in brackets, the client's own CPU time for a record in µs (all its
threads); medians of the rounds. Ratios are ours to theirs, medians of the rounds' ratios: of rates more is better, of
times less. Clients and broker share the machine: where the broker is the limit, CPU time tells the clients apart.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from broker_raw import Peer, load
from raw_load import make_batch

from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer

WORKER = Path(__file__).parent / "record_clients" / "worker.py"
OURS = "ours"
CLIENTS = (OURS, "confluent", "kafka_python", "aio_kafka")
SHOWN = {"kafka_python": "kafka-python", "aio_kafka": "aiokafka", "confluent": "confluent-kafka"}
#: Clients without such a thing.
LACKING = {("kafka_python", "wait")}
IMPORTS = {
    OURS: "from tidelog import Producer, Consumer",
    "confluent": "from confluent_kafka import Producer, Consumer",
    "kafka_python": "from kafka import KafkaProducer, KafkaConsumer",
    "aio_kafka": "from aiokafka import AIOKafkaProducer, AIOKafkaConsumer",
}
#: Bytes of values in one batch of the topics that are consumed.
FILL_BYTES = 100_000
LONE_RECORDS = 2000


class Shape(NamedTuple):
    name: str
    work: str
    size: int
    count: int
    goals: dict[str, float]
    """The ratio of ours to a peer's rate that is asked for."""


BOTH_WAYS = {"kafka_python": 5.0, "aio_kafka": 2.0}
SHAPES = [
    Shape("send, 100 B", "send", 100, 1_000_000, {**BOTH_WAYS, "confluent": 0.5}),
    Shape("send, 1 KB", "send", 1000, 300_000, {**BOTH_WAYS, "confluent": 0.5}),
    Shape("futures, 100 B", "futures", 100, 300_000, {}),
    Shape("futures, 1 KB", "futures", 1000, 100_000, {}),
    Shape("await, 100 B", "wait", 100, 100_000, {}),
    Shape("await, 1 KB", "wait", 1000, 100_000, {}),
    Shape("poll(1000), 100 B", "consume", 100, 2_000_000, {**BOTH_WAYS, "confluent": 1.0}),
    Shape("poll(1000), 1 KB", "consume", 1000, 500_000, {**BOTH_WAYS, "confluent": 1.0}),
    Shape("one by one, 100 B", "iterate", 100, 1_000_000, {}),
    Shape("lone record, 100 B", "lone", 100, LONE_RECORDS, {}),
]


class Bench:
    def __init__(self, peer: Peer, clients: list[str], share: float, rounds: int) -> None:
        self.peer, self.clients, self.share, self.rounds = peer, clients, share, rounds
        self.filled: dict[int, str] = {}

    def count(self, shape: Shape, client: str) -> int:
        """The slow ones are given a share: their rate does not depend on it."""
        slow = 0.2 if client in ("kafka_python", "aio_kafka") and shape.work != "lone" else 1.0
        return max(1000, int(shape.count * self.share * slow))

    def fill(self, size: int) -> str:
        if size not in self.filled:
            self.filled[size] = topic = self.peer.topic(1)
            count = max(self.count(shape, OURS) for shape in SHAPES if shape.size == size)
            records = FILL_BYTES // size
            megabytes = count / records * len(make_batch(records, size)) / 1e6 + 1
            options = ["--size", size, "--records", records, "--depth", 5, "--megabytes", megabytes]
            load(self.peer.address, self.peer.pid, "produce", topic, list(map(str, options)), 120)
        return self.filled[size]

    def take(self, shape: Shape, client: str) -> dict[str, float]:
        reads = shape.work in ("consume", "iterate")
        topic = self.fill(shape.size) if reads else self.peer.topic(1)
        arguments = [client, shape.work, self.peer.address, topic, str(shape.size), str(self.count(shape, client))]
        done = subprocess.run([sys.executable, str(WORKER), *arguments], capture_output=True, text=True, timeout=600)
        if done.returncode or not done.stdout.strip():
            raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
        if not reads:
            self.peer.drop(topic)
        found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        return found

    def measure(self, shape: Shape) -> None:
        clients = [client for client in self.clients if (client, shape.work) not in LACKING]
        taken: dict[str, list[dict[str, float]]] = {client: [] for client in clients}
        for _ in range(self.rounds):
            for client in clients:
                taken[client].append(self.take(shape, client))
        cells = [_cell(shape, client, taken) if client in taken else "-" for client in self.clients]
        print(f"{shape.name:20s}" + "".join(f"{cell:>34s}" for cell in cells), flush=True)


def _cell(shape: Shape, client: str, taken: dict[str, list[dict[str, float]]]) -> str:
    figure, beside = ("p99_us", "p50_us") if shape.work == "lone" else ("rate", "cpu_us")
    main, second = (statistics.median(one[name] for one in taken[client]) for name in (figure, beside))
    shown = f"{main:,.0f} ({second:,.2f})" if shape.work != "lone" else f"{main:,.0f} ({second:,.0f})"
    if client == OURS or OURS not in taken:
        return shown
    ratio = statistics.median(a[figure] / b[figure] for a, b in zip(taken[OURS], taken[client], strict=True))
    goal = shape.goals.get(client)
    mark = "" if goal is None else " met" if ratio >= goal else f" MISSED {goal:g}"
    return f"{shown} {ratio:.2f}x{mark}"


def import_times(clients: list[str], rounds: int) -> None:
    """The quickest of some, as reading from a cold cache says nothing about the client; of byte code, as an installed
    package has it, whatever the environment says of writing any.
    """
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for client in clients:
            program = f"import time; began = time.perf_counter(); {IMPORTS[client]}; print(time.perf_counter() - began)"
            command = [sys.executable, "-c", program]
            times = [
                float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
                for _ in range(max(5, rounds))
            ]
            cells.append(f"{min(times) * 1000:.0f} ms")
    print(f"{'import':20s}" + "".join(f"{cell:>34s}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of the records")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="shapes whose name holds this text")
    parser.add_argument("--tidelog-only", action="store_true", help="not on Apache Kafka")
    parser.add_argument("--clients", default=",".join(CLIENTS), help="some of them, with commas")
    options = parser.parse_args()
    clients, rounds = options.clients.split(","), 1 if options.quick else options.rounds
    shapes = [shape for shape in SHAPES if options.only in shape.name]
    print(f"{'records/s (CPU us)':20s}" + "".join(f"{SHOWN.get(client, client):>34s}" for client in clients))
    import_times(clients, rounds)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with TidelogServer(home / "tidelog") as tidelog:
            run("Tidelog", Peer("Tidelog", tidelog.address, tidelog.pid), shapes, clients, options.quick, rounds)
        if not options.tidelog_only:
            with KafkaBroker(KAFKA_4, home / "kafka", heap="1G") as kafka:
                peer = Peer("Kafka", kafka.address, kafka.pid)
                Bench(peer, ["confluent"], 0.2, 1).take(SHAPES[0], "confluent")  # the JVM warms up
                run(f"Apache Kafka {KAFKA_4}", peer, shapes, clients, options.quick, rounds)


def run(name: str, peer: Peer, shapes: list[Shape], clients: list[str], quick: bool, rounds: int) -> None:
    print(f"-- on {name} (a lone record: p99 and p50 of its acknowledgement in us)", flush=True)
    bench = Bench(peer, clients, 0.1 if quick else 1.0, rounds)
    for shape in shapes:
        bench.measure(shape)


if __name__ == "__main__":
    main()
