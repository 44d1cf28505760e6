"""Clients that are dropped without `close`: warned of, and their threads, tasks and sockets end."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from support.patience import eventually
from tidelog import Admin, Consumer, Producer, TopicPartition, aio
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("orders")
        yield running


def threads(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]


def dropped(use: Callable[[], None]) -> list[str]:
    """What is warned of when what `use` has made is gone."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        use()
        gc.collect()
    return [str(warning.message) for warning in caught if warning.category is ResourceWarning]


def use_consumer(broker: Broker) -> None:
    consumer = Consumer(bootstrap_servers=broker.address, group_id="dropped", auto_offset_reset="earliest")
    consumer.subscribe(["orders"])
    consumer.poll(0.2)


def use_producer(broker: Broker) -> None:
    Producer(bootstrap_servers=broker.address).send("orders", b"x").result(30)


def use_admin(broker: Broker) -> None:
    Admin(bootstrap_servers=broker.address).topics()


@pytest.mark.parametrize(
    ("use", "kind", "consequence"),
    [
        (use_consumer, "Consumer", "will be read again"),
        (use_producer, "Producer", "nobody hears whether its last records were written"),
        (use_admin, "Admin", "its connections were open"),
    ],
)
def test_a_dropped_client_is_warned_of_and_its_thread_ends(
    broker: Broker, use: Callable[[Broker], None], kind: str, consequence: str
) -> None:
    (said,) = dropped(lambda: use(broker))
    assert said.startswith(f"unclosed {kind}: ")
    assert consequence in said
    assert said.endswith("call close(), or use it in a `with` block")
    eventually(lambda: threads(f"tidelog-{kind.lower()}"), lambda found: not found)


@pytest.mark.parametrize("make", [Producer, Consumer, Admin])
def test_a_client_that_was_never_used_or_is_closed_is_no_matter(broker: Broker, make: type) -> None:
    def use() -> None:
        make(bootstrap_servers=broker.address)
        with make(bootstrap_servers=broker.address) as client:
            client.partitions_for("orders") if make is not Admin else client.topics()

    assert dropped(use) == []


def test_what_a_dropped_producer_has_taken_is_still_written(broker: Broker) -> None:
    """It lingers for a minute, which nobody waits for any more."""
    broker.create_topic("lingering")
    heard: list[Any] = []

    def use() -> None:
        producer = Producer(bootstrap_servers=broker.address, linger_ms=30_000)
        producer.send("lingering", b"still here", on_delivery=lambda metadata, error: heard.append((metadata, error)))

    assert len(dropped(use)) == 1
    ((metadata, error),) = eventually(lambda: heard)
    assert (metadata.offset, error) == (0, None)


def test_a_dropped_member_leaves_its_group_without_committing(broker: Broker) -> None:
    broker.create_topic("left")
    with Producer(bootstrap_servers=broker.address) as producer:
        producer.send("left", b"x")

    def use() -> None:
        consumer = Consumer(bootstrap_servers=broker.address, group_id="leavers", auto_offset_reset="earliest")
        consumer.subscribe(["left"])
        assert eventually(lambda: consumer.poll(0.5))

    assert len(dropped(use)) == 1
    with Admin(bootstrap_servers=broker.address) as admin:
        eventually(lambda: admin.describe_consumer_group("leavers").members, lambda members: not members)
        assert admin.group_offsets("leavers") == {}


async def use_aio_consumer(broker: Broker) -> None:
    consumer = aio.Consumer(bootstrap_servers=broker.address, auto_offset_reset="earliest")
    await consumer.assign([TopicPartition("orders", 0)])
    await consumer.poll(0.2)


async def use_aio_producer(broker: Broker) -> None:
    await aio.Producer(bootstrap_servers=broker.address).send("orders", b"x")


async def use_aio_admin(broker: Broker) -> None:
    await aio.Admin(bootstrap_servers=broker.address).topics()


@pytest.mark.parametrize("use", [use_aio_consumer, use_aio_producer, use_aio_admin])
def test_a_dropped_asyncio_client_is_warned_of_and_its_tasks_end(
    broker: Broker, use: Callable[[Broker], Awaitable[None]]
) -> None:
    async def main() -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ResourceWarning)
            await use(broker)
            gc.collect()
            await asyncio.sleep(0)  # its end is begun
            while rest := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(rest, timeout=30)
        return [str(each.message) for each in caught if str(each.message).startswith("unclosed ")]

    (said,) = asyncio.run(main())
    assert said.endswith("call close(), or use it in a `async with` block")


SCRIPT = """
import logging, sys
from tidelog import Producer
logging.basicConfig(format="%(message)s")
producer = Producer(bootstrap_servers=sys.argv[1], linger_ms=20_000)
producer.partitions_for("orders")
producer.send("orders", b"x")
{more}
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "the program ends with 1 record not acknowledged, lost perhaps: close() the producer, or use `with`"),
        ("producer.flush()", ""),
        ("producer.close()", ""),
    ],
)
def test_a_program_that_ends_too_early_is_told_what_it_has_lost(broker: Broker, more: str, said: str) -> None:
    command = [sys.executable, "-c", SCRIPT.format(more=more), broker.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr.strip()) == (0, said)
