"""`make demo`: a broker, a shop's events, a Spark pipeline over them, and what came of it.

Starts `tidelog serve` on a free port, feeds it half a minute of orders and clicks, runs examples/orders_pipeline.py
over them, and shows progress, tables and a chart. Everything it makes lies in demo-output/ and is made anew each time.

    .venv/bin/python tools/demo.py [--seconds 25] [--broker host:port]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "examples")]

import pyarrow as pa  # noqa: E402  after the path is set
from demo_events import Shop, products  # noqa: E402  after the path is set
from demo_report import Report, progress_table  # noqa: E402  after the path is set
from pyspark.sql.streaming import StreamingQuery  # noqa: E402  after the path is set
from rich.console import Console  # noqa: E402  after the path is set
from rich.live import Live  # noqa: E402  after the path is set

from tidelog.client import topics  # noqa: E402  after the path is set
from tidelog.client.blocking import BlockingClient  # noqa: E402  after the path is set
from tidelog.client.producer.aio import Producer  # noqa: E402  after the path is set

HOME = ROOT / "demo-output"
TOPICS = {
    "orders": (3, {}),
    "clicks": (3, {}),
    "products": (1, {"cleanup.policy": "compact"}),
    "orders-enriched": (3, {}),
    "dead-letters": (1, {}),
    "revenue-per-minute": (1, {"cleanup.policy": "compact"}),
}
console = Console(highlight=False)


@contextlib.contextmanager
def broker(home: Path) -> Iterator[str]:
    """A broker of our own; its address."""
    started = time.monotonic()
    command = [str(Path(sys.executable).with_name("tidelog")), "serve"]
    with (home / "broker.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--data-dir", str(home / "data"), "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=log
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode().split()
        if line[:2] != ["tidelog", "ready"]:
            raise SystemExit(f"the broker did not start:\n{(home / 'broker.log').read_text()[-2000:]}")
        console.print(f"[bold green]✓[/] broker ready at {line[2]} after {time.monotonic() - started:.2f} s")
        yield line[2]
    finally:
        process.terminate()
        process.wait(30)


class Feeder(threading.Thread):
    """Sends the products and a first second of events, waits until the shop opens, then sends on as time passes."""

    def __init__(self, address: str, shop: Shop, seconds: int) -> None:
        super().__init__(daemon=True)
        self.address, self.shop, self.seconds = address, shop, seconds
        self.ready, self.open = threading.Event(), threading.Event()
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            with BlockingClient({"bootstrap.servers": self.address, "compression.type": "lz4"}) as client:
                producer = Producer.over(client.cluster)
                self._send(client, producer, "products", [product.row() for product in products()])
                self._second(client, producer, 0)
                self.ready.set()
                self.open.wait()
                started = time.monotonic()
                for number in range(1, self.seconds):
                    self._second(client, producer, number)
                    time.sleep(max(0.0, started + number - time.monotonic()))
        except Exception as error:
            self.failure = error
        finally:
            self.ready.set()

    def _second(self, client: BlockingClient, producer: Producer, number: int) -> None:
        orders, clicks = self.shop.second(number)
        self._send(client, producer, "orders", orders)
        self._send(client, producer, "clicks", clicks)

    @staticmethod
    def _send(client: BlockingClient, producer: Producer, topic: str, rows: list[tuple[str, str]]) -> None:
        keys, values = pa.array([key for key, _ in rows]), pa.array([value for _, value in rows])
        client.run(_written(producer, topic, pa.table({"key": keys, "value": values})))


async def _written(producer: Producer, topic: str, rows: pa.Table) -> None:
    """Send, and wait until all of it is there."""
    await (await producer.send_arrow(topic, rows))


@contextlib.contextmanager
def stderr_to(path: Path) -> Iterator[None]:
    """Spark and its workers are talkative: what they say goes to a file."""
    saved = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)


def create_topics(address: str) -> None:
    with BlockingClient({"bootstrap.servers": address}) as client:
        for name, (partitions, config) in TOPICS.items():
            client.run(topics.create_topic(client.cluster, name, partitions, config=config, exists_ok=True))


def demo(address: str, data: Path | None, seconds: int) -> str | None:
    """Run it all; what went wrong, if anything did."""
    from orders_pipeline import OrdersPipeline

    from tidelog.spark.session import tidelog_session

    create_topics(address)
    shop = Shop()
    with console.status("starting Spark …"):
        started = time.monotonic()
        spark = tidelog_session("tidelog demo")
    console.print(f"[bold green]✓[/] Spark {spark.version} ready after {time.monotonic() - started:.1f} s")
    try:
        feeder = Feeder(address, shop, seconds)
        feeder.start()
        feeder.ready.wait()
        pipeline = OrdersPipeline(spark, address, HOME)
        queries = pipeline.start()
        with console.status("the pipeline starts: first batch …"):
            while not all(query.recentProgress for query in queries) and failure(feeder, queries) is None:
                time.sleep(0.1)
        feeder.open.set()
        console.print(f"[bold green]✓[/] pipeline running: {', '.join(query.name or '' for query in queries)}\n")
        problem = watch(feeder, queries)
        for query in queries:
            query.stop()
        return problem or Report(console, pipeline, shop, HOME, data).show()
    finally:
        spark.stop()


def watch(feeder: Feeder, queries: list[StreamingQuery]) -> str | None:
    """Show progress until all events are through."""
    with Live(progress_table(feeder.shop, queries), console=console, refresh_per_second=4) as live:
        while feeder.is_alive() and not failure(feeder, queries):
            live.update(progress_table(feeder.shop, queries))
            time.sleep(0.25)
        for query in queries:
            if failure(feeder, queries) is None:
                query.processAllAvailable()
            live.update(progress_table(feeder.shop, queries))
    return failure(feeder, queries)


def failure(feeder: Feeder, queries: list[StreamingQuery]) -> str | None:
    if feeder.failure is not None:
        return f"the producer failed: {feeder.failure}"
    broken = [query for query in queries if query.exception() is not None]
    return f"query {broken[0].name} failed: {str(broken[0].exception())[:2000]}" if broken else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=int, default=25, help="how long events are produced; each second is a minute of business"
    )
    parser.add_argument("--broker", help="use this broker instead of starting one")
    arguments = parser.parse_args()
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    os.chdir(HOME)
    console.rule("[bold]Tidelog: topics as tables")
    started = time.monotonic()
    with stderr_to(HOME / "spark.log"), contextlib.ExitStack() as stack:
        address = arguments.broker or stack.enter_context(broker(HOME))
        problem = demo(address, None if arguments.broker else HOME / "data", arguments.seconds)
    if problem:
        raise SystemExit(f"{problem}\n(more in {HOME.name}/spark.log)")
    console.print(f"\ndone in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
