"""How readers are spread, and what can go wrong: 004 核心概念, Consumer (消费者与消费者组, 必要的参数配置, 位移提交).

The patterns are those of examples/consumer_patterns.py, run as they stand there.
"""

from __future__ import annotations

import itertools
import multiprocessing
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.patience import eventually
from support.ports import free_port
from tidelog import Consumer, ConsumerRecord, Producer, TopicPartition
from tidelog.client.consumer.errors import ConcurrentUseError, WakeupError
from tidelog.testing import Broker

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import consumer_patterns as patterns  # the examples folder is on the path only now

PARTITIONS, RECORDS = 4, 80
_names = (f"pattern-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker) -> str:
    name = next(_names)
    broker.create_topic(name, PARTITIONS)
    with Producer(bootstrap_servers=broker.address) as producer:
        for number in range(RECORDS):
            producer.send(name, b"%d" % number, key=b"%d" % (number % 10), partition=number % PARTITIONS)
    return name


def settings(broker: Broker, topic: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.address,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "heartbeat.interval.ms": 100,
        "max.poll.records": 5,
    }


def committed(broker: Broker, topic: str) -> int:
    with Consumer(bootstrap_servers=broker.address, group_id=topic) as consumer:
        found = consumer.committed([TopicPartition(topic, number) for number in range(PARTITIONS)])
    return sum(position.offset for position in found.values() if position is not None)


def test_a_consumer_may_be_a_thread(broker: Broker, topic: str) -> None:
    """004 核心概念: consumer instance可以是一个进程，也可以是一个线程. Each record is read by one of the group."""
    readers: set[str] = set()
    seen: list[int] = []

    def handle(record: ConsumerRecord) -> None:
        readers.add(threading.current_thread().name)
        seen.append(int(record.value))

    stop, numbers = threading.Event(), itertools.count(RECORDS)
    threads = patterns.one_consumer_per_thread(settings(broker, topic), topic, handle, 2, stop)
    with Producer(bootstrap_servers=broker.address) as producer:

        def write_more() -> set[str]:
            """Until both have got partitions, and something to read in them."""
            for partition in range(PARTITIONS):
                producer.send(topic, b"%d" % next(numbers), partition=partition)
            return readers

        eventually(write_more, lambda found: len(found) == 2)
    written = next(numbers)
    eventually(lambda: committed(broker, topic), lambda count: count == written)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert sorted(set(seen)) == list(range(written))


def test_a_consumer_may_be_a_process(broker: Broker, topic: str) -> None:
    """004 核心概念: consumer instance可以是一个进程."""
    stop = multiprocessing.get_context("spawn").Event()
    started = patterns.one_consumer_per_process(settings(broker, topic), topic, patterns.show, 2, stop)
    eventually(lambda: committed(broker, topic), lambda count: count == RECORDS)
    stop.set()
    for process in started:
        process.join(60)
        assert process.exitcode == 0


def test_one_poller_and_many_workers(broker: Broker, topic: str) -> None:
    """004 消费者与消费者组: the third way: one consumer, whose records several workers handle; in order per key."""
    broker.create_topic(f"{topic}-dead", 1)
    by_key: defaultdict[Any, list[int]] = defaultdict(list)
    lock = threading.Lock()

    def handle(record: ConsumerRecord) -> None:
        with lock:
            if record.value == b"33":
                raise ValueError("nobody can read this one")
            by_key[record.partition, record.key].append(int(record.value))
            if sum(map(len, by_key.values())) == RECORDS - 1:
                consumer.wakeup()

    with Consumer(settings(broker, topic)) as consumer:
        patterns.one_poller_with_workers(consumer, topic, handle, 8)
        assert [letter.value for letter in consumer.tail(f"{topic}-dead", 10)] == [b"33"]
    assert all(numbers == sorted(numbers) for numbers in by_key.values())
    assert committed(broker, topic) == RECORDS


def test_more_consumers_than_partitions(broker: Broker, topic: str) -> None:
    """004 消费者与消费者组: 消费者数大于分区数时，会有消费者分配不到分区而无法消费任何消息."""
    consumers = [Consumer(settings(broker, topic)) for _ in range(PARTITIONS + 1)]
    try:
        for consumer in consumers:
            consumer.subscribe([topic])

        def shares() -> list[int]:
            for consumer in consumers:
                consumer.poll(0.05)
            return sorted(len(consumer.assignment()) for consumer in consumers)

        eventually(shares, lambda found: found == [0, 1, 1, 1, 1])
        idle = next(consumer for consumer in consumers if not consumer.assignment())
        assert not idle.poll(0.2)
    finally:
        for consumer in consumers:
            consumer.close()


def test_the_first_bootstrap_server_is_dead(broker: Broker, topic: str) -> None:
    """004 必要的参数配置: 设置两个以上的 broker 地址信息，当其中任意一个宕机时，消费者仍然可以连接到 Kafka 集群上."""
    servers = f"127.0.0.1:{free_port()},{broker.address}"
    with Consumer({**settings(broker, topic), "bootstrap.servers": servers}) as consumer:
        consumer.subscribe([topic])
        assert eventually(lambda: consumer.poll(0.5))
    with Producer(bootstrap_servers=servers) as producer:
        assert producer.send(topic, b"after all", partition=0).result(60).offset == RECORDS // PARTITIONS


def test_a_consumer_in_two_threads_refuses_and_names_the_method(broker: Broker, topic: str) -> None:
    with Consumer({**settings(broker, topic), "auto.offset.reset": "latest"}) as consumer:
        consumer.subscribe([topic])

        def poll() -> None:
            with pytest.raises(WakeupError):
                consumer.poll(60)

        polling = threading.Thread(target=poll, name="the-poller")
        polling.start()
        eventually(lambda: consumer.metrics()["poll_total"])

        def try_it() -> str:
            try:
                consumer.commit()
            except ConcurrentUseError as error:
                return str(error)
            return ""

        said = eventually(try_it)
        with pytest.raises(ConcurrentUseError, match="pause was called"):
            consumer.pause([])
        consumer.wakeup()
        polling.join(60)
    assert "commit was called while thread the-poller is inside poll" in said


# --- the two accidents ------------------------------------------------------------------------------------------------


class Crash(Exception):
    """The process dies."""


def dying_at(number: int, seen: list[int]) -> patterns.Handler:
    def handle(record: ConsumerRecord) -> None:
        if len(seen) == number:
            raise Crash
        seen.append(record.offset)

    return handle


@pytest.fixture
def short(broker: Broker) -> str:
    """One partition of 20 records, of which a poll brings five."""
    name = next(_names)
    broker.create_topic(name, 1)
    with Producer(bootstrap_servers=broker.address) as producer:
        for number in range(20):
            producer.send(name, b"%d" % number)
    return name


def one_partition(broker: Broker, topic: str) -> int:
    with Consumer(bootstrap_servers=broker.address, group_id=topic) as consumer:
        (position,) = consumer.committed([TopicPartition(topic, 0)]).values()
    return 0 if position is None else position.offset


def test_committed_before_it_was_handled_is_lost(broker: Broker, short: str) -> None:
    """004 位移提交: 消息丢失. The commit said 5, the crash came after 3: records 3 and 4 are handled by nobody."""
    seen: list[int] = []
    with pytest.raises(Crash):
        patterns.commit_then_handle(settings(broker, short), short, dying_at(3, seen))
    assert one_partition(broker, short) == 5
    after: list[int] = []
    patterns.handle_then_commit(settings(broker, short), short, lambda record: after.append(record.offset))
    assert (seen, after) == ([0, 1, 2], [5, 6, 7, 8, 9])


def test_handled_before_it_was_committed_comes_again(broker: Broker, short: str) -> None:
    """004 位移提交: 重复消费. The crash came after 3 records, before the commit: they are handled twice."""
    seen: list[int] = []
    with pytest.raises(Crash):
        patterns.handle_then_commit(settings(broker, short), short, dying_at(3, seen))
    assert one_partition(broker, short) == 0
    after: list[int] = []
    patterns.handle_then_commit(settings(broker, short), short, lambda record: after.append(record.offset))
    assert (seen, after) == ([0, 1, 2], [0, 1, 2, 3, 4])
