"""One build of Tidelog beside another: what a change of the broker's inside costs or gains.

    PYTHONPATH=tests .venv/bin/python bench/builds.py --before REVISION [--after REVISION] [--rounds N] [--only TEXT]

A revision is unpacked and its kernel compiled in .cache/builds once; without --after the present tree is the second
build. Both brokers are up at the same time, on empty
directories side by side, and every row is measured in turns: before, after, after, before, … A cell is the median with
the quartiles behind it. Two builds whose quartiles overlap count as equal: this machine's own spread is larger than
most changes. CPU is the broker's, per request (per megabyte in rows that move megabytes), and is the sturdier figure.
Packed batches are measured twice: their own rate, and what a small request beside them waits while they are unpacked.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from broker_raw import LOAD, SHAPES, Peer, Shape, produce
from coordinator import NUMBERS, SETTINGS, commits, cpu_seconds, joins, prepare, transactions

from support.tidelog import TidelogServer

ROOT = Path(__file__).resolve().parents[1]
BUILDS = ROOT / ".cache" / "builds"
MAIN = "from tidelog.cli.main import main; main()"
#: Shorter than beside Kafka: many short rounds say more about a small difference than few long ones.
MEGABYTES = "500"


class Build(TidelogServer):
    """A broker that runs the code of one source tree."""

    def __init__(self, source: Path, home: Path) -> None:
        super().__init__(home, properties=SETTINGS)
        self.source = source

    def command(self) -> list[str]:
        _, *rest = super().command()
        return ["env", f"PYTHONPATH={self.source}", sys.executable, "-c", MAIN, *rest]


class Figure(NamedTuple):
    value: float
    cpu_us: float


class Row(NamedTuple):
    name: str
    less_is_better: bool
    measure: Callable[[Build, float], Figure]


def raw_row(shape: Shape) -> Row:
    options = [MEGABYTES if before == "--megabytes" else one for before, one in _with_previous(shape.options)]
    shape = shape._replace(options=options)

    def measure(build: Build, seconds: float) -> Figure:
        found = Peer("Tidelog", build.address, build.pid).measure(shape, seconds)
        unit = "mb_per_s" if shape.figure == "mb_per_s" else "requests_per_s"
        return Figure(found[shape.figure], 1e6 * found["broker_cpu"] / found[unit])

    return Row(shape.name, shape.less_is_better, measure)


def _with_previous(options: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(["", *options], options, strict=False))


def packed_shape(codec: str, records: int) -> Shape:
    """Batches of 100 B records, packed: megabytes are those on the wire."""
    shape = produce(f"produce {codec}, {records} x 100 B a batch", 1.0, size=100, records=records)
    return shape._replace(options=[*shape.options, "--codec", codec])


def beside_row(shape: Shape) -> Row:
    """The p99 of one small request after the other, while another client sends packed batches: as many to both builds,
    since a faster one would otherwise be measured under the greater load."""

    def measure(build: Build, seconds: float) -> Figure:
        peer = Peer("Tidelog", build.address, build.pid)
        topic = peer.topic(1)
        options = ["--seconds", str(seconds + 2.5), *shape.options, "--megabytes", "0", "--depth", "1"]
        options += ["--rate", BESIDE_RATE]
        command = [sys.executable, str(LOAD), "produce", build.address, topic, *options]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as load:
            found = peer.measure(LATENCY, seconds)
            load.terminate()
        peer.drop(topic)
        return Figure(found["p99_us"], 1e6 * found["broker_cpu"] / found["requests_per_s"])

    return Row(f"p99 at 1,000/s beside {shape.name.removeprefix('produce ')}", True, measure)


def coordinator_row(name: str, work: Callable[[Build, float, int], float], argument: int) -> Row:
    """Joins are times, and count themselves; the others are rates."""
    times = work is joins

    def measure(build: Build, seconds: float) -> Figure:
        first, before = next(NUMBERS), cpu_seconds(build.pid)
        value = work(build, seconds, argument)
        spent = cpu_seconds(build.pid) - before
        return Figure(value, 1e6 * spent / (next(NUMBERS) - first - 1 if times else value * seconds))

    return Row(name, times, measure)


BESIDE_RATE = "1000"
LATENCY = next(shape for shape in SHAPES if shape.name == "produce p99 at 1,000/s")
#: A small batch, one that is just unpacked on the loop, and one that goes to a worker.
PACKED = [packed_shape(codec, records) for codec in ("snappy", "lz4", "zstd", "gzip") for records in (100, 1000)]
PACKED += [packed_shape("lz4", 9500)]
ROWS = [
    *map(raw_row, [*SHAPES, *PACKED]),
    *(beside_row(shape) for shape in PACKED if "1000" in shape.name),
    *(coordinator_row(f"join to first record, ms, {count} members", joins, count) for count in (1, 10)),
    *(coordinator_row(f"commits per second, {count} connections", commits, count) for count in (16, 200)),
    *(coordinator_row(f"transactions per second, {count} records", transactions, count) for count in (1, 100)),
]


def unpack(revision: str) -> Path:
    """The source tree of a revision, its kernel compiled."""
    name = subprocess.check_output(["git", "rev-parse", "--verify", f"{revision}^{{commit}}"], cwd=ROOT, text=True)
    folder = BUILDS / name.strip()
    if not (folder / ".built").exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.check_output(["git", "archive", name.strip()], cwd=ROOT)
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
        print(f"compiling the kernel of {revision} ...", file=sys.stderr)
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(command, cwd=folder, check=True, env={**os.environ, "PYTHONPATH": ""})
        subprocess.run([sys.executable, "-m", "compileall", "-q", "src"], cwd=folder, check=True)  # starts are alike
        (folder / ".built").touch()
    return folder / "src"


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def verdict(before: list[float], after: list[float], *, less_is_better: bool) -> str:
    low, middle, high = quartiles(before)
    other_low, other_middle, other_high = quartiles(after)
    if other_low <= high and low <= other_high:
        return "equal"
    return "better" if (other_middle < middle) is less_is_better else "WORSE"


def cell(values: list[float]) -> str:
    low, middle, high = quartiles(values)
    digits = 0 if middle >= 1000 else 1 if middle >= 10 else 3
    return f"{middle:,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def show(row: Row, found: list[list[Figure]]) -> None:
    values = [[figure.value for figure in figures] for figures in found]
    cpu = [[figure.cpu_us for figure in figures] for figures in found]
    ratio = statistics.median(values[1]) / statistics.median(values[0])
    cpu_ratio = statistics.median(cpu[1]) / statistics.median(cpu[0])
    print(
        f"{row.name:40s} {cell(values[0]):>26s} {cell(values[1]):>26s} {ratio:5.2f}x "
        f"{verdict(*values, less_is_better=row.less_is_better):6s} "
        f"{cell(cpu[0]):>26s} {cell(cpu[1]):>26s} {cpu_ratio:5.2f}x {verdict(*cpu, less_is_better=True)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, metavar="REVISION", help="what the present tree is compared with")
    parser.add_argument("--after", metavar="REVISION", help="the second build; the present tree unless given")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    parser.add_argument("--quick", action="store_true", help="two short rounds, to see that it runs")
    given = parser.parse_args()
    rounds, seconds = (2, 0.5) if given.quick else (given.rounds, 1.5)
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sources = {"before": unpack(given.before), "after": unpack(given.after) if given.after else ROOT / "src"}
        builds = [stack.enter_context(Build(source, home / name)) for name, source in sources.items()]
        for build in builds:
            prepare(build)
        print(f"{'':40s} {'before':>26s} {'after':>26s}  ratio        {'CPU us before':>26s} {'after':>26s}  ratio")
        for row in ROWS:
            if given.only not in row.name:
                continue
            found: list[list[Figure]] = [[], []]
            for number in range(-1, rounds):  # the first one warms up
                for index in (0, 1) if number % 2 else (1, 0):
                    figure = row.measure(builds[index], seconds)
                    if number >= 0:
                        found[index].append(figure)
            show(row, found)


if __name__ == "__main__":
    main()
