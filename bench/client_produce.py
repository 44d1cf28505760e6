"""Records per second that producers get acknowledged: ours beside confluent-kafka, kafka-python and aiokafka.

    python bench/client_produce.py [--records N] [--size BYTES] [--partitions N] [--address HOST:PORT]

All write the same values without keys to one topic, with each client's own defaults, fire and forget, timed from the
first record to the end of the flush. Without an address a Tidelog broker is started, in a process of its own. CPU is
this process's: the client's alone. `futures` and `await` wait for every record's outcome, a thousand at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

TOPIC = "bench"
BURST = 1000


@contextlib.contextmanager
def broker(partitions: int) -> Iterator[str]:
    """A broker of ours, for as long as it is needed."""
    command = [str(Path(sys.executable).with_name("tidelog")), "serve", "--listen", "127.0.0.1:0"]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--data-dir", folder, "--set", f"num.partitions={partitions}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()
            process.wait()


def tidelog(address: str, value: bytes, count: int) -> None:
    from tidelog import Producer

    with Producer(bootstrap_servers=address) as producer:
        for _ in range(count):
            producer.send(TOPIC, value)


def tidelog_futures(address: str, value: bytes, count: int) -> None:
    from tidelog import Producer

    with Producer(bootstrap_servers=address) as producer:
        for _ in range(count // BURST):
            for future in [producer.send(TOPIC, value) for _ in range(BURST)]:
                future.result()


def tidelog_await(address: str, value: bytes, count: int) -> None:
    import uvloop

    from tidelog import aio

    async def main() -> None:
        async with aio.Producer(bootstrap_servers=address) as producer:
            for _ in range(count // BURST):
                for future in [producer.send(TOPIC, value) for _ in range(BURST)]:
                    await future

    uvloop.run(main())


def tidelog_aio(address: str, value: bytes, count: int) -> None:
    import uvloop

    from tidelog import aio

    async def main() -> None:
        async with aio.Producer(bootstrap_servers=address) as producer:
            for _ in range(count):
                producer.send(TOPIC, value)
                await producer.drain()

    uvloop.run(main())


def tidelog_arrow(address: str, value: bytes, count: int) -> None:
    import pyarrow as pa

    from tidelog import Producer

    column = pa.array([value] * 100_000)
    with Producer(bootstrap_servers=address) as producer:
        for _ in range(count // 100_000):
            producer.send_arrow(TOPIC, column)


def confluent(address: str, value: bytes, count: int) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    for number in range(count):
        while True:
            try:
                producer.produce(TOPIC, value)
                break
            except BufferError:
                producer.poll(0.01)
        if number % BURST == 0:
            producer.poll(0)
    producer.flush()


def kafka_python(address: str, value: bytes, count: int) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=address)
    for _ in range(count):
        producer.send(TOPIC, value)
    producer.flush()
    producer.close()


def aiokafka(address: str, value: bytes, count: int) -> None:
    from aiokafka import AIOKafkaProducer

    async def main() -> None:
        async with AIOKafkaProducer(bootstrap_servers=address) as producer:
            for _ in range(count):
                await producer.send(TOPIC, value)

    asyncio.run(main())


#: Each with the share of the records that it gets: the slow ones are as well judged by fewer.
CLIENTS: dict[str, tuple[Callable[[str, bytes, int], None], float]] = {
    "tidelog": (tidelog, 1),
    "tidelog, futures": (tidelog_futures, 0.5),
    "tidelog.aio": (tidelog_aio, 1),
    "tidelog.aio, await": (tidelog_await, 0.5),
    "tidelog, Arrow": (tidelog_arrow, 5),
    "confluent-kafka": (confluent, 1),
    "kafka-python": (kafka_python, 0.1),
    "aiokafka": (aiokafka, 0.1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--address")
    arguments = parser.parse_args()
    value = b"v" * arguments.size
    with contextlib.ExitStack() as stack:
        address = arguments.address or stack.enter_context(broker(arguments.partitions))
        for name, (client, share) in CLIENTS.items():
            client(address, value, 2 * BURST)  # makes the topic, imports
            count = int(arguments.records * share) // BURST * BURST
            wall, cpu = time.perf_counter(), time.process_time()
            client(address, value, count)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"{name:20} {count / wall:12,.0f} records/s {1e6 * cpu / count:8.2f} µs of CPU each", flush=True)


if __name__ == "__main__":
    main()
