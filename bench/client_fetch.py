"""How fast topics come in as Arrow batches, beside confluent-kafka's `consume`, from the same broker in the same run.

    .venv/bin/python bench/client_fetch.py [--quick] [--tidelog-only] [--broker host:port]

Measured on a Tidelog broker and on Apache Kafka, or on the broker that is named. Both clients read the same topic of
one partition from the beginning to its end, in turns; ours checks every CRC and decodes offset, timestamp, key and
value into Arrow columns, either copied or as views into the received bytes. librdkafka's queues are widened: its
defaults stall against a fast broker, and that is not what is compared here. confluent-kafka is fastest when it hands
out 1,000 messages at a time; what it does with 10,000 (as the figure behind the goal was taken) is shown as well.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer
from confluent_kafka import TopicPartition as ConfluentPartition

from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.client import topics
from tidelog.client.blocking import BlockingClient
from tidelog.client.consumer.arrow_fetcher import ArrowFetcher
from tidelog.client.consumer.fetcher import Fetcher, FetchRange
from tidelog.client.offsets import end_offsets
from tidelog.client.producer.aio import Producer
from tidelog.common.types import TopicPartition

QUICK = "--quick" in sys.argv
ROUNDS = 3 if QUICK else 5
GOAL = 10
#: Of one answer, for both.
FETCH_BYTES = 8 << 20
COLUMNS = ("offset", "timestamp", "key", "value")
TUNED = {
    "queued.min.messages": 10_000_000,
    "queued.max.messages.kbytes": 1_000_000,
    "fetch.queue.backoff.ms": 1,
    "fetch.message.max.bytes": FETCH_BYTES,
}


@contextlib.contextmanager
def brokers() -> Iterator[list[tuple[str, str]]]:
    """(name, address) of each broker to measure on."""
    with contextlib.ExitStack() as stack:
        if "--broker" in sys.argv:
            yield [("the broker", sys.argv[sys.argv.index("--broker") + 1])]
            return
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = [("Tidelog", stack.enter_context(TidelogServer(home / "tidelog")).address)]
        if "--tidelog-only" not in sys.argv:
            kafka = stack.enter_context(KafkaBroker(KAFKA_4, home / "kafka", heap="1G"))
            found.append((f"Apache Kafka {KAFKA_4}", kafka.address))
        yield found


def fill(address: str, topic: str, size: int, count: int) -> None:
    with BlockingClient({"bootstrap.servers": address}) as client:
        client.run(topics.create_topic(client.cluster, topic, 1))
        producer = Producer.over(client.cluster)
        step = 100_000
        for first in range(0, count, step):
            keys = pa.array([b"key-%06d" % number for number in range(first, min(first + step, count))], pa.binary())
            values = pa.array([bytes(size)] * len(keys), pa.binary())
            client.run(producer.send_arrow(topic, {"key": keys, "value": values}))
        client.run(producer.flush())


def ours(address: str, topic: str, count: int, *, view: bool) -> float:
    tp = TopicPartition(topic, 0)
    with BlockingClient({"bootstrap.servers": address, "max.partition.fetch.bytes": FETCH_BYTES}) as client:
        end = client.run(end_offsets(client.cluster, [tp]))[tp]
        reader = ArrowFetcher(Fetcher(client.cluster, {tp: FetchRange(0, end)}), columns=COLUMNS, view=view)
        rows = 0
        started = time.perf_counter()
        while not reader.done:
            rows += sum(piece.batch.num_rows for piece in client.run(reader.poll(10)))
        elapsed = time.perf_counter() - started
        client.run(reader.close())
    assert rows == count, rows
    return rows / elapsed


def confluent(address: str, topic: str, count: int, *, at_once: int) -> float:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False, **TUNED})
    consumer.assign([ConfluentPartition(topic, 0, OFFSET_BEGINNING)])
    rows = len(consumer.consume(at_once, 10))
    started = time.perf_counter()
    while rows < count:
        rows += len(consumer.consume(at_once, 10))
    elapsed = time.perf_counter() - started
    consumer.close()
    return rows / elapsed


def measure(address: str, size: int, count: int) -> list[float]:
    """Records per second of confluent (many at once, few at once), ours copied, ours as views: the best of the rounds,
    taken in turns."""
    topic = f"bench-fetch-{size}-{time.time_ns()}"
    fill(address, topic, size, count)
    rounds = [
        (
            confluent(address, topic, count, at_once=10_000),
            confluent(address, topic, count, at_once=1000),
            ours(address, topic, count, view=False),
            ours(address, topic, count, view=True),
        )
        for _ in range(ROUNDS)
    ]
    return [max(rates) for rates in zip(*rounds, strict=True)]


def main() -> None:
    print(f"records/s, best of {ROUNDS}; the goal at 100 B is {GOAL:g} x")
    print(f"{'':27} {'consume(10000)':>14} {'consume(1000)':>14} {'Arrow, copied':>22} {'Arrow, views':>22}")
    with brokers() as found:
        for name, address in found:
            for size, count in ((100, 500_000 if QUICK else 2_000_000), (1000, 100_000 if QUICK else 400_000)):
                many, few, *rates = measure(address, size, count)
                shown = [f"{rate:>11,.0f} {rate / many:>4.1f}/{rate / few:.1f} x" for rate in rates]
                print(
                    f"{name + f', {size} B':27} {many:>14,.0f} {few:>14,.0f} {shown[0]:>22} {shown[1]:>22}", flush=True
                )


if __name__ == "__main__":
    main()
