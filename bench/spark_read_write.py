"""Our Spark source and sink beside Spark's own Kafka connector, on Apache Kafka and on Tidelog, in one run.

    .venv/bin/python bench/spark_read_write.py [--quick | --fresh] [--tidelog-only | --kafka-only] [--only "1000 B"]
                                               [--rounds 4]

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

Both are there at the same time and take turns, query by query and round by round: the machine's speed changes from one
minute to the next. Before anything counts, every query runs for six seconds, so that Java has compiled what it will.
With `--fresh` it runs once, and then two runs count, on fewer rows: a job that has just been submitted, and how the
connector's figures behind the goals were taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "spark_engines"))

import pyarrow as pa
import spark_jvm
from engine import ANSWER
from hot_memory import Filler

from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.client import topics
from tidelog.client.blocking import BlockingClient
from tidelog.client.producer.aio import Producer

QUICK = "--quick" in sys.argv
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
FRESH = "--fresh" in sys.argv
ROUNDS = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 2 if QUICK or FRESH else 4
WARM_UP = 0 if FRESH else 6
SIZES = [(100, 1_000_000 if QUICK or FRESH else 2_000_000), (1000, 200_000 if QUICK or FRESH else 600_000)]
MICRO_BATCH = "micro-batch ms"
GOALS = {
    "read 100 B": 2,
    "segments 100 B": 3,
    "write 100 B": 1,
    "read 1000 B": 2,
    "segments 1000 B": 3,
    "write 1000 B": 3,
    MICRO_BATCH: 1.6,
}
#: What is written goes after a while: tens of GB in all would fill the disk.
BOUNDED = {"retention.bytes": str(1 << 30), "segment.bytes": str(256 << 20)}
PROPERTIES = {"log.retention.check.interval.ms": "5000"}
JOB = Path(__file__).parent / "spark_engines" / "engine.py"


def fill(address: str) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    with BlockingClient({"bootstrap.servers": address}) as client:
        producer = Producer.over(client.cluster)
        for size, rows in SIZES:
            name = f"bench-{size}"
            client.run(topics.create_topic(client.cluster, name, 2))
            for suffix in ("-tidelog", "-kafka"):
                client.run(topics.create_topic(client.cluster, name + suffix, 2, config=BOUNDED))
            step = 50_000
            for first in range(0, rows, step):
                keys = pa.array([b"key-%08d" % number for number in range(first, min(first + step, rows))], pa.binary())
                values = pa.array([bytes(size)] * len(keys), pa.binary())
                client.run(producer.send_arrow(name, {"key": keys, "value": values}))
            client.run(producer.flush())
            made.append({"name": name, "size": size, "rows": rows})
    return made


class Engine:
    """A Spark session in a process of its own, see spark_engines/engine.py."""

    def __init__(self, command: list[str], env: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        finally:
            self._process.kill()

    def ask(self, *words: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                return json.loads(line.removeprefix(ANSWER))
        raise SystemExit(f"the engine ended while it was to {' '.join(words)}")


#: Who runs a query: (the engine, its name for it).
JVM, OURS, ALONE = ("kafka", "own"), ("tidelog", "own"), ("tidelog", "floor")


class Measured:
    """What a query took, run by run: seconds, and CPU seconds by whom."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._runs: list[tuple[float, dict[str, float]]] = []

    def add(self, run: tuple[float, dict[str, float]]) -> None:
        self._runs.append(run)

    @property
    def rate(self) -> float:
        """Rows per second, at best."""
        return self._rows / min(seconds for seconds, _ in self._runs)

    @property
    def cpu(self) -> dict[str, float]:
        """CPU seconds per row by whom, in the run that has the median sum: a worker that ends takes its time along."""
        typical = sorted((cpu for _, cpu in self._runs), key=lambda cpu: sum(cpu.values()))[len(self._runs) // 2]
        return {part: seconds / self._rows for part, seconds in typical.items()}


class Comparison:
    """Runs the queries of both engines, turn by turn."""

    def __init__(self, engines: dict[str, Engine]) -> None:
        self._engines = engines
        self._filler = Filler()
        self.results: dict[str, dict[tuple[str, str], Measured]] = {}

    def run(self) -> None:
        names = [name for name in self._engines["tidelog"].ask("cases") if ONLY in name]
        for name in names:
            for who in (JVM, OURS, ALONE):
                self._warm_up(name, who)
        for name in names:
            rows = next(rows for size, rows in SIZES if f" {size} B" in name)
            measured = self.results[name] = {who: Measured(rows) for who in (JVM, OURS, ALONE)}
            for _ in range(ROUNDS):
                for who, runs in measured.items():
                    self._filler.refill()
                    runs.add(self._once(name, who))

    def triggers(self) -> dict[tuple[str, str], dict[str, float]]:
        return {who: self._engines[who[0]].ask("triggers", who[1]) for who in (JVM, OURS, ALONE)}

    def _warm_up(self, name: str, who: tuple[str, str]) -> None:
        until = time.perf_counter() + WARM_UP
        self._once(name, who)
        while time.perf_counter() < until:
            self._once(name, who)

    def _once(self, name: str, who: tuple[str, str]) -> tuple[float, dict[str, float]]:
        engine, kind = who
        return tuple(self._engines[engine].ask("run", _peer_of(name) if who == JVM else name, kind))


def _peer_of(what: str) -> str:
    """What the connector's own figure to compare with is called: it has one way to read and one to write."""
    return what.replace("segments", "read").split(",")[0]


def compare(name: str, address: str, pid: int, directory: Path) -> None:
    given = [address, str(pid), json.dumps(fill(address))]
    with (
        Engine([str(spark_jvm.python()), str(JOB), "kafka", *given], spark_jvm.environment()) as theirs,
        Engine([sys.executable, str(JOB), "tidelog", *given, str(directory)]) as ours,
    ):
        comparison = Comparison({"kafka": theirs, "tidelog": ours})
        comparison.run()
        print(f"\n{name}\n{'':28} {'JVM connector':>14} {'ours':>11} {'ratio':>7} {'goal':>7} {'by CPU':>7}", end="")
        print(f" {'PySpark alone':>20} {'by CPU':>7}")
        for what, measured in comparison.results.items():
            print_rates(what, measured)
        parts = comparison.triggers() if ONLY in MICRO_BATCH else {}
    if parts:
        times = [parts[who]["triggerExecution"] for who in (JVM, OURS, ALONE)]
        print_row(MICRO_BATCH, times, ["", ""])
    print("CPU time per row, microseconds (Spark's Java + Python workers + broker):")
    for what, measured in comparison.results.items():
        print_cpu(what, measured)
    if parts:
        print("parts of a trigger, median ms:")
    for who, label in ((JVM, "JVM connector"), (OURS, "ours"), (ALONE, "PySpark alone")):
        if parts:
            print(f"  {label:14}", ", ".join(f"{part} {took:g}" for part, took in parts[who].items()), flush=True)


def print_rates(what: str, measured: dict[tuple[str, str], Measured]) -> None:
    peer = _total(measured[JVM].cpu)
    by_cpu = [f"{peer / _total(measured[who].cpu):.2f}x" for who in (OURS, ALONE)]
    print_row(what, [measured[who].rate for who in (JVM, OURS, ALONE)], by_cpu)


def print_row(what: str, figures: list[float], by_cpu: list[str]) -> None:
    peer, value, floor = figures
    goal = GOALS.get(what)
    wanted = "" if goal is None else f"{'<=' if what == MICRO_BATCH else '>='} {goal:g}"
    print(f"{what:28} {peer:>14,.0f} {value:>11,.0f} {value / peer:>6.2f}x {wanted:>7} {by_cpu[0]:>7}", end="")
    print(f" {floor:>12,.0f} {floor / peer:>6.2f}x {by_cpu[1]:>7}", flush=True)


def print_cpu(what: str, measured: dict[tuple[str, str], Measured]) -> None:
    """Where the CPU time goes, and how far a sink that took none could get: what Spark and the broker take remains."""
    shown = (("JVM connector", JVM), ("ours", OURS), ("PySpark alone", ALONE))
    print(f"  {what:28}", ", ".join(f"{label} {_by_part(measured[who].cpu)}" for label, who in shown), end="")
    least = _total(measured[ALONE].cpu) + measured[OURS].cpu["broker"]
    print(f"; at most {os.cpu_count() / least / measured[JVM].rate:.1f}x if ours took none", flush=True)


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
