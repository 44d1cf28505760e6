"""Our Spark source and sink beside Spark's own Kafka connector, on Apache Kafka and on Tidelog, in one run.

    .venv/bin/python bench/spark_read_write.py [--quick | --fresh] [--tidelog-only | --kafka-only] [--only "1000 B"]

Ours runs on PySpark 4.3, the JVM connector on PySpark 4.0.0 (tools/spark_jvm.py): the newest for which it can be had.
Reads sum the lengths of all values; writes go from Parquet to a topic of two partitions, ours exactly once. `--only`
measures what has that text in its name. Rates are rows per second, best of the rounds; the ratio is ours to the
connector's on the same broker. "PySpark alone" is the same query over a data source that does nothing
(spark_engines/null_source.py): no Python source or sink can be faster, so where its own ratio is near the goal or
below, PySpark is what forbids more. For the micro-batch, the parts of a trigger that Spark itself times are shown as
well. "By CPU" compares rows per second of CPU time (Spark, its workers and the broker together): what the ratio is when
all cores are busy, and hardly disturbed by whatever else the machine does. Below the table this time is split up, with
the ratio that all cores would reach if our part took none of it: a goal above that cannot be met here. The page cache
is kept full meanwhile (hot_memory.py): fresh pages of a virtual machine cost more than all the rest.

Before anything counts, every query runs for six seconds, so that Java has compiled what it will. With `--fresh` it runs
once, and then two runs count, on fewer rows: a job that has just been submitted, and how the connector's figures behind
the goals were taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import pyarrow as pa
import spark_jvm

from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.client import topics
from tidelog.client.blocking import Driver
from tidelog.client.producer.arrow_producer import ArrowProducer

QUICK = "--quick" in sys.argv
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
FRESH = "--fresh" in sys.argv
ROUNDS = 2 if QUICK or FRESH else 4
WARM_UP = 0 if FRESH else 6
SIZES = [(100, 1_000_000 if QUICK or FRESH else 2_000_000), (1000, 200_000 if QUICK or FRESH else 600_000)]
GOALS = {
    "read 100 B": 2,
    "segments 100 B": 3,
    "write 100 B": 1,
    "read 1000 B": 2,
    "segments 1000 B": 3,
    "write 1000 B": 3,
    "micro-batch ms": 1.6,
}
#: What is written goes after a while: tens of GB in all would fill the disk.
BOUNDED = {"retention.bytes": str(1 << 30), "segment.bytes": str(256 << 20)}
PROPERTIES = {"log.retention.check.interval.ms": "5000"}
JOB = Path(__file__).parent / "spark_engines" / "engine.py"


def fill(address: str) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    with Driver({"bootstrap.servers": address}) as driver:
        producer = ArrowProducer(driver.cluster)
        driver.run(producer.init())
        for size, rows in SIZES:
            name = f"bench-{size}"
            driver.run(topics.create_topic(driver.cluster, name, 2))
            for suffix in ("-tidelog", "-kafka"):
                driver.run(topics.create_topic(driver.cluster, name + suffix, 2, config=BOUNDED))
            step = 50_000
            for first in range(0, rows, step):
                keys = pa.array([b"key-%08d" % number for number in range(first, min(first + step, rows))], pa.binary())
                values = pa.array([bytes(size)] * len(keys), pa.binary())
                driver.run(producer.send(name, key=keys, value=values))
            driver.run(producer.flush())
            made.append({"name": name, "size": size, "rows": rows})
    return made


def ours(address: str, pid: int, made: str, directory: Path) -> dict[str, dict[str, Any]]:
    command = [
        sys.executable,
        str(JOB),
        "tidelog",
        address,
        str(pid),
        made,
        str(ROUNDS),
        str(WARM_UP),
        ONLY,
        str(directory),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        raise SystemExit(done.stderr[-4000:])
    return json.loads(done.stdout.splitlines()[-1])


def theirs(address: str, pid: int, made: str) -> dict[str, dict[str, Any]]:
    figures = (made, str(ROUNDS), str(WARM_UP), _peer_of(ONLY))
    printed = spark_jvm.run(JOB, "kafka", address, str(pid), *figures, timeout=1800)
    return json.loads(printed.splitlines()[-1])


def _peer_of(what: str) -> str:
    """What the connector's own figure to compare with is called: it has one way to read and one to write."""
    return what.replace("segments", "read").split(",")[0]


def compare(name: str, address: str, pid: int, directory: Path) -> None:
    made = json.dumps(fill(address))
    other, mine = theirs(address, pid, made), ours(address, pid, made, directory)
    print(f"\n{name}\n{'':28} {'JVM connector':>14} {'ours':>11} {'ratio':>7} {'goal':>7} {'by CPU':>7}", end="")
    print(f" {'PySpark alone':>20} {'by CPU':>7}")
    for what, (value, cpu) in mine["results"].items():
        peer, peer_cpu = other["results"][_peer_of(what)]
        (floor, floor_cpu), goal = mine["floors"][what], GOALS.get(what)
        wanted = "" if goal is None else f"{'<=' if 'ms' in what else '>='} {goal:g}"
        by_cpu = [f"{_total(peer_cpu) / _total(one):.2f}x" if one else "" for one in (cpu, floor_cpu)]
        print(f"{what:28} {peer:>14,.0f} {value:>11,.0f} {value / peer:>6.2f}x {wanted:>7} {by_cpu[0]:>7}", end="")
        print(f" {floor:>12,.0f} {floor / peer:>6.2f}x {by_cpu[1]:>7}", flush=True)
    print_cpu(mine, other)
    if mine["parts"]:
        print("parts of a trigger, median ms:")
    for who, parts in (*other["parts"].items(), *mine["parts"].items()):
        print(f"  {who:14}", ", ".join(f"{part} {took:g}" for part, took in parts.items()), flush=True)


def print_cpu(mine: dict[str, Any], other: dict[str, Any]) -> None:
    """Where the CPU time goes, and how far a sink that took none could get: what Spark and the broker take remains."""
    print("CPU time per row, microseconds (Spark's Java + Python workers + broker):")
    for what, (_, cpu) in mine["results"].items():
        peer, peer_cpu = other["results"][_peer_of(what)]
        floor_cpu = mine["floors"][what][1]
        if not cpu:
            continue
        shown = (("JVM connector", peer_cpu), ("ours", cpu), ("PySpark alone", floor_cpu))
        print(f"  {what:28}", ", ".join(f"{who} {_by_part(used)}" for who, used in shown), end="")
        least = _total(floor_cpu) + cpu["broker"]
        print(f"; at most {os.cpu_count() / least / peer:.1f}x if ours took none", flush=True)


def _total(cpu: dict[str, float]) -> float:
    return sum(cpu.values())


def _by_part(cpu: dict[str, float]) -> str:
    return " + ".join(f"{1e6 * seconds:.2f}" for seconds in cpu.values())


def main() -> None:
    if "--kafka-only" not in sys.argv:
        with tempfile.TemporaryDirectory() as home, TidelogServer(Path(home), properties=PROPERTIES) as server:
            compare("on Tidelog", server.address, server.pid, server.data)
    if "--tidelog-only" not in sys.argv:
        with (
            tempfile.TemporaryDirectory() as home,
            KafkaBroker(KAFKA_4, Path(home), heap="1G", properties=PROPERTIES) as kafka,
        ):
            compare(f"on Apache Kafka {KAFKA_4}", kafka.address, kafka.pid, kafka.data)


if __name__ == "__main__":
    main()
