"""The life of a broker, Tidelog beside Apache Kafka 4.x in the same run: start, memory, many partitions, kill, stop.

    PYTHONPATH=tests .venv/bin/python bench/broker_life.py [--quick] [--rounds N] [--partitions N] [--gigabytes N]

    start           from exec to the first Metadata answer (the best of three)
    idle            resident memory, a second later
    create          from CreateTopics of 1,000 partitions until the topic takes a record
    create all      ... until every one of its partitions has taken one
    stop many       from SIGTERM to the exit, with these 1,000 partitions written to and not flushed
    restart         from exec on that directory to the first Metadata answer in which all of them are led
    load            the most resident memory under load: large batches, 8 and 32 connections, readers
    stop            from SIGTERM to the exit, after that
    killed          from exec to the first record fetched, after SIGKILL with 2 GB just written and not flushed
    5k, 20k         a topic of 5,000 partitions (Tidelog alone: of 20,000), all of them made: resident memory; from
                    SIGTERM to the exit; from exec to the first Metadata answer in which all of them are led, after
                    that stop, and after SIGKILL; and the stop after that

The smallest of the rounds counts (for memory the largest): on a shared machine the rest is others' work. Apache Kafka's
controller does not take a killed broker back before its session has ended (9 s), so for `killed` its session is set to
one second: what is compared is the recovery.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.blocking_wire import BlockingWire
from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import DescribeLogDirsRequest, FetchRequest, MetadataRequest, ProduceRequest
from tidelog.records.format.builder import BatchBuilder

LOAD = Path(__file__).with_name("raw_load.py")
PATIENCE = 120.0


class Figure(NamedTuple):
    goal: float
    unit: str
    best: Callable[[float, float], float] = min


#: The goals are absolute; some figures have none but Apache Kafka's own time.
FIGURES = {
    "start": Figure(0.1, "s"),
    "idle": Figure(40.0, "MB", max),
    "create": Figure(0.3, "s"),
    "create all": Figure(float("inf"), "s"),
    "stop many": Figure(float("inf"), "s"),
    "restart": Figure(0.6, "s"),
    "load": Figure(150.0, "MB", max),
    "stop": Figure(float("inf"), "s"),
    "killed": Figure(1.5, "s"),
    "5k made": Figure(float("inf"), "s"),
    "5k memory": Figure(float("inf"), "MB", max),
    "5k stop": Figure(float("inf"), "s"),
    "5k restart": Figure(float("inf"), "s"),
    "5k killed": Figure(float("inf"), "s"),
    "5k stop 2": Figure(float("inf"), "s"),
    "20k made": Figure(float("inf"), "s"),
    "20k memory": Figure(150.0, "MB", max),
    "20k stop": Figure(5.0, "s"),
    "20k restart": Figure(5.0, "s"),
    "20k killed": Figure(5.0, "s"),
    "20k stop 2": Figure(5.0, "s"),
}


def wait_metadata(address: str, topic: str | None = None, partitions: int = 0) -> None:
    """Until Metadata is answered, and the topic's partitions all have leaders."""
    names = [MetadataRequest.MetadataRequestTopic(name=topic)] if topic else []
    request = MetadataRequest(topics=names, allow_auto_topic_creation=False)

    def led(wire: BlockingWire) -> bool:
        answer = wire.ask(ApiKey.METADATA, 9, request)
        return bool(answer.brokers) and partitions == sum(p.leader_id >= 0 for t in answer.topics for p in t.partitions)

    wait_for(address, led)


def wait_made(address: str, partitions: int) -> None:
    """Until the directories of so many partitions are there."""

    def made(wire: BlockingWire) -> bool:
        answer = wire.ask(ApiKey.DESCRIBE_LOG_DIRS, 2, DescribeLogDirsRequest(topics=None))
        return partitions <= sum(len(topic.partitions) for found in answer.results for topic in found.topics)

    wait_for(address, made, pause=0.2)  # an answer names them all: who asks all the time keeps the broker from its work


def wait_record(address: str, topic: str) -> None:
    """Until the first record of a topic can be fetched."""
    part = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=[FetchRequest.FetchTopic(topic=topic, partitions=[part])]
    )

    def fetched(wire: BlockingWire) -> bool:
        found = wire.ask(ApiKey.FETCH, 4, request).responses[0].partitions[0]
        return found.error_code == 0 and bool(found.records)

    wait_for(address, fetched)


def wait_for(address: str, answered: Callable[[BlockingWire], bool], pause: float = 0.002) -> None:
    deadline = time.perf_counter() + PATIENCE
    while time.perf_counter() < deadline:
        try:
            with BlockingWire(address, deadline=deadline) as wire:
                if answered(wire):
                    return
        except OSError:
            pass  # it is not there yet
        time.sleep(pause)
    raise AssertionError("no answer")


def started(broker: Any, wait: Callable[[str], None]) -> float:
    """Seconds from exec until the broker answers; asked beside `broker.start`, which waits in ways of its own."""
    with ThreadPoolExecutor(1) as pool:
        began = time.perf_counter()
        answered = pool.submit(lambda: (wait(broker.address), time.perf_counter())[1])
        broker.start()
        return answered.result() - began


def stopped(broker: Any) -> float:
    began = time.perf_counter()
    broker.stop(PATIENCE) if isinstance(broker, TidelogServer) else broker.stop()
    return time.perf_counter() - began


def create_and_write(address: str, topic: str, partitions: int) -> dict[str, float]:
    """Seconds from CreateTopics until the first partition has taken a record, and until all have."""
    builder = BatchBuilder()
    builder.append(int(time.time() * 1000), b"k", b"v")
    batch = memoryview(builder.build())
    with BlockingWire(address) as wire:
        began = time.perf_counter()
        wire.create_topic(topic, partitions)
        write_all(wire, topic, batch, {0})
        first = time.perf_counter() - began
        write_all(wire, topic, batch, set(range(1, partitions)))
        return {"create": first, "create all": time.perf_counter() - began}


def write_all(wire: BlockingWire, topic: str, batch: memoryview, missing: set[int]) -> None:
    """A record into each of the partitions; what is refused is sent again."""
    while missing:
        parts = [ProduceRequest.PartitionProduceData(index=i, records=batch) for i in sorted(missing)]
        data = [ProduceRequest.TopicProduceData(name=topic, partition_data=parts)]
        response = wire.ask(ApiKey.PRODUCE, 8, ProduceRequest(acks=1, timeout_ms=10_000, topic_data=data))
        missing -= {p.index for t in response.responses for p in t.partition_responses if p.error_code == 0}


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def watched_memory(pid: int) -> Iterator[list[float]]:
    """The most resident memory, looked at every 20 ms, as the list's only entry."""
    most = [0.0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            most[0] = max(most[0], resident_mb(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def load(address: str, mode: str, topic: str, *options: object) -> None:
    subprocess.run(
        [sys.executable, LOAD, mode, address, topic, *map(str, options)], check=True, stdout=subprocess.DEVNULL
    )


LARGE = ("--size", 1024, "--records", 1000)


def all_at_once(address: str) -> None:
    """The shapes of `broker_raw.py` that take memory, one after the other; then readers and writers together."""
    with BlockingWire(address) as wire:
        for topic, partitions in (("large", 1), ("medium", 1), ("small", 6)):
            wire.create_topic(topic, partitions)
    load(address, "produce", "large", *LARGE, "--depth", 5, "--megabytes", 800)
    load(
        address, "produce", "medium", "--size", 1024, "--records", 15, "--connections", 8, "--depth", 5, "--seconds", 2
    )
    load(address, "produce", "small", "--partitions", 6, "--connections", 32, "--depth", 16, "--seconds", 2)
    with ThreadPoolExecutor(2) as pool:
        reader = pool.submit(load, address, "fetch", "large", *LARGE, "--connections", 4, "--seconds", 2)
        writer = pool.submit(
            load, address, "produce", "large", *LARGE, "--connections", 4, "--depth", 5, "--seconds", 2
        )
        reader.result(), writer.result()


# --- the chapters ---------------------------------------------------------------------------------------------------


def measure_start(broker: Any, options: argparse.Namespace) -> dict[str, float]:
    broker.start()  # formats the directory, where that is needed
    broker.stop()
    times = [started(broker, wait_metadata)]
    for _ in range(2):
        broker.stop()
        times.append(started(broker, wait_metadata))
    figures = {"start": min(times)}
    time.sleep(1)
    figures["idle"] = resident_mb(broker.pid)
    broker.stop()
    return figures


def measure_many(broker: Any, options: argparse.Namespace) -> dict[str, float]:
    broker.start()
    figures = create_and_write(broker.address, "many", options.partitions)
    figures["stop many"] = stopped(broker)
    figures["restart"] = started(broker, lambda address: wait_metadata(address, "many", options.partitions))
    broker.stop()
    return figures


def measure_load(broker: Any, options: argparse.Namespace) -> dict[str, float]:
    broker.start()
    with watched_memory(broker.pid) as most:
        all_at_once(broker.address)
    return {"load": most[0], "stop": stopped(broker)}


def measure_killed(broker: Any, options: argparse.Namespace) -> dict[str, float]:
    broker.start()
    with BlockingWire(broker.address) as wire:
        wire.create_topic("big")
    load(
        broker.address,
        "produce",
        "big",
        *LARGE,
        "--depth",
        5,
        "--megabytes",
        options.gigabytes * 1000,
        "--seconds",
        120,
    )
    broker.kill()
    figures = {"killed": started(broker, lambda address: wait_record(address, "big"))}
    broker.stop()
    return figures


#: Brokers refuse more than 10,000 new partitions in one request.
AT_ONCE = 5000


def measure_thousands(broker: Any, options: argparse.Namespace, partitions: int = 5000) -> dict[str, float]:
    name = f"{partitions // 1000}k"
    topics = [f"thousands-{number}" for number in range(partitions // AT_ONCE)]

    def led(address: str) -> None:
        for topic in topics:
            wait_metadata(address, topic, AT_ONCE)

    broker.start()
    began = time.perf_counter()
    with BlockingWire(broker.address, deadline=began + PATIENCE) as wire:
        for topic in topics:
            wire.create_topic(topic, AT_ONCE)
    wait_made(broker.address, partitions)
    figures = {f"{name} made": time.perf_counter() - began, f"{name} memory": resident_mb(broker.pid)}
    figures[f"{name} stop"] = stopped(broker)
    figures[f"{name} restart"] = started(broker, led)
    broker.kill()
    figures[f"{name} killed"] = started(broker, led)
    figures[f"{name} stop 2"] = stopped(broker)
    return figures


def measure_most(broker: Any, options: argparse.Namespace) -> dict[str, float]:
    """For Tidelog alone: Apache Kafka would need more open files than the machine allows."""
    return {} if isinstance(broker, KafkaBroker) else measure_thousands(broker, options, 20_000)


CHAPTERS = {
    "start": measure_start,
    "many": measure_many,
    "load": measure_load,
    "killed": measure_killed,
    "thousands": measure_thousands,
    "most": measure_most,
}
SHORT_SESSION = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "300"}


def measure(make: Callable[[Path], Any], home: Path, chapter: str, options: argparse.Namespace) -> dict[str, float]:
    broker = make(home)
    try:
        return CHAPTERS[chapter](broker, options)
    finally:
        if isinstance(broker, KafkaBroker):
            broker.close()
        elif broker.process is not None:
            broker.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round, 100 partitions, 0.2 GB")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--only", nargs="*", default=list(CHAPTERS), choices=CHAPTERS)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.partitions, options.gigabytes = 1, 100, 0.2
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed Tidelog has its bytecode
    makers: dict[str, Callable[[Path], Any]] = {
        "tidelog": lambda home: TidelogServer(home),
        "kafka": lambda home: KafkaBroker(KAFKA_4, home, heap="1G", properties=SHORT_SESSION),
    }
    print(f"{'':10} {'tidelog':>11} {'kafka ' + KAFKA_4:>14} {'ratio':>8} {'goal':>10}")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{scratch}/bytecode"
        for chapter in options.only:
            best: dict[str, dict[str, float]] = {name: {} for name in makers}
            for number in range(options.rounds):
                for name, make in makers.items():
                    home = Path(scratch) / f"{chapter}-{name}-{number}"
                    for figure, value in measure(make, home, chapter, options).items():
                        best[name][figure] = FIGURES[figure].best(value, best[name].get(figure, value))
            for figure in best["tidelog"]:
                show(figure, best["tidelog"][figure], best["kafka"].get(figure))


def show(figure: str, ours: float, theirs: float | None) -> None:
    goal, unit, _ = FIGURES[figure]
    wanted = goal if theirs is None else min(goal, theirs)
    met = "met" if ours <= wanted else "MISSED"
    beside = f"{'-':>14} {'-':>8}" if theirs is None else f"{theirs:11.3f} {unit:2} {theirs / ours:7.1f}x"
    print(f"{figure:10} {ours:8.3f} {unit:2} {beside}  ≤ {wanted:.3g} {unit} {met}", flush=True)


if __name__ == "__main__":
    main()
