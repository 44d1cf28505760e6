"""A reader of old data beside a producer: does one wait for the other's disk?

    PYTHONPATH=tests .venv/bin/python bench/broker_cold.py [--quick] [--megabytes N] [--rounds N]

A topic is filled and its segments are dropped from the page cache (posix_fadvise). Then one consumer reads it from
the start, at a steady rate, while a producer on another topic writes one record at a time. Shown: the producer's
latency without and with the reader, for Apache Kafka and for Tidelog, in one run. Kafka's network thread waits for the
disk inside sendfile; Tidelog first asks whether the range is in memory, and brings it in on a thread if it is not.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from broker_raw import LOAD, Peer, load

from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer

BATCHES = ("--size", "1024", "--records", "1000")


def evict(folder: Path) -> int:
    """Drop every segment below the folder from the page cache; how many bytes that were."""
    total = 0
    for path in folder.rglob("*.log"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            total += path.stat().st_size
    return total


def measure(peer: Peer, data: Path, topic: str, rate: int) -> tuple[dict[str, float], dict[str, float], float]:
    """(latency alone, latency beside the cold reader, the reader's MB/s)."""
    quiet_topic = peer.topic(1)
    options = ["--rate", "1000", "--warm", "0.5"]
    alone = load(peer.address, peer.pid, "latency", quiet_topic, options, 2.0)
    evict(data)
    command = [
        sys.executable,
        str(LOAD),
        "fetch",
        peer.address,
        topic,
        *BATCHES,
        "--rate",
        str(rate),
        "--seconds",
        "2.8",
    ]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    beside = load(peer.address, peer.pid, "latency", quiet_topic, options, 2.0)
    output, _ = reader.communicate(timeout=60)
    peer.drop(quiet_topic)
    return alone, beside, json.loads(output)["mb_per_s"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round of 300 MB")
    options = parser.parse_args()
    megabytes, rounds = (300, 1) if options.quick else (options.megabytes, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        kafka = KafkaBroker(KAFKA_4, home / "kafka", heap="1G")
        with kafka, TidelogServer(home / "tidelog") as tidelog:
            peers = [
                (Peer("Kafka", kafka.address, kafka.pid), kafka.data),
                (Peer("Tidelog", tidelog.address, tidelog.pid), tidelog.data),
            ]
            print(HEADING)
            for peer, data in peers:
                show(peer, data, megabytes, rounds)


HEADING = f"{'producer, us':12s} {'alone p50':>10s} {'p99':>8s} {'beside p50':>11s} {'p99':>8s} {'reader MB/s':>12s}"


def show(peer: Peer, data: Path, megabytes: int, count: int) -> None:
    topic = peer.topic(1)
    fill = [*BATCHES, "--depth", "5", "--megabytes", str(megabytes)]
    load(peer.address, peer.pid, "produce", topic, fill, 60)
    rate = megabytes // 3  # so that it never comes to the end, and back to what is in memory by then
    rounds = [measure(peer, data, topic, rate) for _ in range(count)]
    alone = [statistics.median(one[0][name] for one in rounds) for name in ("p50_us", "p99_us")]
    beside = [statistics.median(one[1][name] for one in rounds) for name in ("p50_us", "p99_us")]
    speed = statistics.median(one[2] for one in rounds)
    print(f"{peer.name:12s} {alone[0]:10,.0f} {alone[1]:8,.0f} {beside[0]:11,.0f} {beside[1]:8,.0f} {speed:12,.0f}")


if __name__ == "__main__":
    main()
