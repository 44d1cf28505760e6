"""How fast topics come in as Arrow batches, beside confluent-kafka's `consume`, from the same broker in the same run.

    .venv/bin/python bench/client_fetch.py [--quick] [--broker host:port]

Without --broker, a Tidelog broker is started. Both clients read the same topic from the beginning to its end; ours
decodes every column (offset, timestamp, key, value) into Arrow. librdkafka's queues are widened: its defaults stall
against a fast broker, and that is not what is compared here.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer
from confluent_kafka import TopicPartition as ConfluentPartition

from support.tidelog import TidelogServer
from tidelog.client import topics
from tidelog.client.blocking import Driver
from tidelog.client.consumer.fetcher import Fetcher, FetchRange
from tidelog.client.offsets import end_offsets
from tidelog.client.producer.arrow_producer import ArrowProducer
from tidelog.common.types import TopicPartition
from tidelog.records.arrow import batches_to_arrow

QUICK = "--quick" in sys.argv
ROUNDS = 3 if QUICK else 5
COLUMNS = ("offset", "timestamp", "key", "value")
TUNED = {
    "queued.min.messages": 10_000_000,
    "queued.max.messages.kbytes": 1_000_000,
    "fetch.queue.backoff.ms": 1,
    "fetch.message.max.bytes": 8 << 20,
}


@contextlib.contextmanager
def broker() -> Iterator[str]:
    if "--broker" in sys.argv:
        yield sys.argv[sys.argv.index("--broker") + 1]
        return
    with tempfile.TemporaryDirectory() as home, TidelogServer(Path(home)) as server:
        yield server.address


def fill(address: str, topic: str, size: int, count: int) -> None:
    with Driver({"bootstrap.servers": address}) as driver:
        driver.run(topics.create_topic(driver.cluster, topic, 1))
        producer = ArrowProducer(driver.cluster)
        driver.run(producer.init())
        step = 100_000
        for first in range(0, count, step):
            keys = pa.array([b"key-%06d" % number for number in range(first, min(first + step, count))], pa.binary())
            values = pa.array([bytes(size)] * len(keys), pa.binary())
            driver.run(producer.send(topic, key=keys, value=values))
        driver.run(producer.flush())


def ours(address: str, topic: str, count: int, *, view: bool) -> float:
    tp = TopicPartition(topic, 0)
    with Driver({"bootstrap.servers": address}) as driver:
        end = driver.run(end_offsets(driver.cluster, [tp]))[tp]
        fetcher = Fetcher(driver.cluster, {tp: FetchRange(0, end)})
        rows = 0
        started = time.perf_counter()
        while not fetcher.done:
            for piece in driver.run(fetcher.poll(10)):
                batch = batches_to_arrow(
                    piece.records, columns=COLUMNS, first_offset=piece.start, aborted=piece.aborted, view=view
                )
                rows += batch.num_rows
        elapsed = time.perf_counter() - started
        driver.run(fetcher.close())
    assert rows == count, rows
    return rows / elapsed


def confluent(address: str, topic: str, count: int) -> float:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False, **TUNED})
    consumer.assign([ConfluentPartition(topic, 0, OFFSET_BEGINNING)])
    rows = len(consumer.consume(1000, 10))
    started = time.perf_counter()
    while rows < count:
        rows += len(consumer.consume(1000, 10))
    elapsed = time.perf_counter() - started
    consumer.close()
    return rows / elapsed


def best(measure: Callable[..., float], *arguments: object, **options: object) -> float:
    return max(measure(*arguments, **options) for _ in range(ROUNDS))


def main() -> None:
    print(f"records/s, best of {ROUNDS}")
    print(f"{'size':>6} {'confluent consume':>20} {'Arrow, copied':>20} {'Arrow, views':>20}")
    with broker() as address:
        for size, count in ((100, 500_000 if QUICK else 2_000_000), (1000, 100_000 if QUICK else 400_000)):
            topic = f"bench-fetch-{size}-{time.time_ns()}"
            fill(address, topic, size, count)
            peer = best(confluent, address, topic, count)
            rates = [best(ours, address, topic, count, view=view) for view in (False, True)]
            shown = [f"{rate:>12,.0f} {rate / peer:>5.1f} x" for rate in rates]
            print(f"{size:>4} B {peer:>20,.0f} {shown[0]:>20} {shown[1]:>20}")


if __name__ == "__main__":
    main()
