"""SIGKILL under load: every acknowledged record is there exactly once, offsets have no holes, indexes are sane."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.tidelog import TidelogServer
from tidelog.log import LogDirectory

PARTITIONS = 3
FAST_RETRIES = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 2,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 20,
    "delivery.timeout.ms": 1_200_000,  # on a busy machine a broker may be killed many times before it is reached
    "log_level": 0,
}


class Load:
    """An idempotent producer that numbers its records and remembers which were acknowledged, and where."""

    def __init__(self, address: str, topic: str) -> None:
        self.topic = topic
        self.sent = 0
        self.acknowledged: dict[int, tuple[int, int]] = {}
        self.failed: list[str] = []
        self.producer = Producer({"bootstrap.servers": address, **FAST_RETRIES})

    def run(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            number = self.sent
            try:
                self.producer.produce(
                    self.topic,
                    value=b"%d" % number,
                    partition=number % PARTITIONS,
                    on_delivery=lambda error, message, n=number: self._delivered(error, message, n),
                )
                self.sent += 1
            except BufferError:
                self.producer.poll(0.01)
            self.producer.poll(0)
            if number % 200 == 0:
                time.sleep(0.002)  # a pace that one broker keeps up with

    def _delivered(self, error: object, message: Message, number: int) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.acknowledged[number] = (message.partition(), message.offset())

    def finish(self) -> None:
        assert self.producer.flush(600) == 0
        assert not self.failed, self.failed[:3]


def read_back(address: str, topic: str) -> dict[int, list[tuple[int, int]]]:
    """value → every (partition, offset) where it is found; offsets must run without holes."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "check", "log_level": 0})
    found: dict[int, list[tuple[int, int]]] = {}
    try:
        partitions = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
        ends = {p.partition: consumer.get_watermark_offsets(p, 60)[1] for p in partitions}
        consumer.assign(partitions)
        following = dict.fromkeys(ends, 0)
        deadline = time.monotonic() + 180
        while following != ends and time.monotonic() < deadline:
            for message in consumer.consume(5000, 0.5):
                assert message.error() is None, message.error()
                partition, offset = message.partition(), message.offset()
                assert offset == following[partition], f"a hole before {partition}:{offset}"
                following[partition] = offset + 1
                found.setdefault(int(message.value()), []).append((partition, offset))
        assert following == ends
        return found
    finally:
        consumer.close()


@pytest.mark.parametrize("rounds", [20, pytest.param(300, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
def test_acknowledged_records_survive_exactly_once(rounds: int, tmp_path: Path) -> None:
    server = TidelogServer(tmp_path, properties={"log.segment.bytes": "1048576", "log.index.interval.bytes": "512"})
    with server:
        admin = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
        admin.create_topics([NewTopic("load", PARTITIONS, 1)])["load"].result(60)
        load = Load(server.address, "load")
        for number in range(rounds):
            load.run(0.15 + 0.05 * (number % 5))
            server.kill()
            server.start()
        load.finish()
        found = read_back(server.address, "load")
    assert load.sent == len(load.acknowledged)
    assert set(found) == set(load.acknowledged)
    duplicated = {number: places for number, places in found.items() if len(places) > 1}
    assert not duplicated, f"{len(duplicated)} of {load.sent} records are there more than once"
    assert all(found[number] == [place] for number, place in load.acknowledged.items())
    tidelog = str(Path(sys.executable).with_name("tidelog"))
    done = subprocess.run([tidelog, "log", "verify", str(server.data)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert LogDirectory(server.data).partitions("load")
