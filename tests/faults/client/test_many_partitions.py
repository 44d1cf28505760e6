"""A topic of 24,000 partitions, whose metadata is a megabyte: written to and read, also when that answer is torn."""

from __future__ import annotations

import itertools
import time

import pytest

from faults.client.conftest import QUICK
from support.wire_proxy import Act, At, WireProxy, cut, delay, garble, split
from tidelog import Admin, Consumer, Producer, TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker

PARTITIONS = 24_000
WRITTEN = [0, 1, 63, 64, 11_999, 23_999]
PATIENCE = 120
FAULTS: dict[str, tuple[Act, At]] = {
    "cut": (cut(), At.MID_ANSWER),
    "split": (split(64, 65_521), At.ANSWER),
    "late": (delay(0.3), At.ANSWER),
    "garble": (garble("short"), At.ANSWER),
}
_values = (b"value-%d" % number for number in itertools.count())


@pytest.fixture(scope="module")
def topic(broker: Broker) -> str:
    """Brokers make no more than 10,000 partitions by one request."""
    broker.create_topic("wide", PARTITIONS // 3)
    with Admin(bootstrap_servers=broker.address) as admin:
        for count in (2 * PARTITIONS // 3, PARTITIONS):
            admin.create_partitions({"wide": count}).result()
    return "wide"


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_written_to_and_read(broker: Broker, proxy: WireProxy, topic: str, fault: str) -> None:
    act, at = FAULTS[fault]
    rule = proxy.on(ApiKey.METADATA, act, at=at, nth=1)
    settings = {**QUICK, "request.timeout.ms": 10_000, "bootstrap.servers": proxy.address}
    sent = {number: next(_values) for number in WRITTEN}
    with Producer(settings) as producer:
        assert len(producer.partitions_for(topic)) == PARTITIONS
        futures = {number: producer.send(topic, value, partition=number) for number, value in sent.items()}
        ends = {TopicPartition(topic, number): future.result(60).offset + 1 for number, future in futures.items()}
    assert rule.fired == 1
    again = proxy.on(ApiKey.METADATA, act, at=at, nth=1)
    with Consumer({**settings, "group.id": f"wide-{fault}", "enable.auto.commit": False}) as consumer:
        consumer.assign(list(ends))
        for tp, end in ends.items():
            consumer.seek(tp, end - 1)
        found: dict[int, bytes] = {}
        deadline = time.monotonic() + PATIENCE
        while len(found) < len(sent):
            assert time.monotonic() < deadline, consumer.health()
            found |= {record.partition: bytes(record.value) for record in consumer.poll(1)}
        assert found == sent
        consumer.commit()
        assert {tp: p.offset for tp, p in consumer.committed(ends).items() if p is not None} == ends
    assert again.fired == 1


@pytest.mark.soak
def test_one_member_takes_all(broker: Broker, proxy: WireProxy, topic: str) -> None:
    """In a group of the server's making: 24,000 positions are found, and what is in the topic is read."""
    values = {number: next(_values) for number in WRITTEN}
    with Producer(bootstrap_servers=broker.address) as producer:
        for number, value in values.items():
            producer.send(topic, value, partition=number).result(60)
    with Admin(bootstrap_servers=broker.address) as admin:
        assert len(admin.describe_topic(topic).partitions) == PARTITIONS
    settings = {**QUICK, "request.timeout.ms": 30_000, "bootstrap.servers": proxy.address, "group.protocol": "consumer"}
    with Consumer({**settings, "group.id": "all", "auto.offset.reset": "earliest"}) as consumer:
        consumer.subscribe([topic])
        found: dict[int, bytes] = {}
        deadline = time.monotonic() + PATIENCE
        while any(found.get(number) != value for number, value in values.items()):
            assert time.monotonic() < deadline, consumer.health()
            found |= {record.partition: bytes(record.value) for record in consumer.poll(1)}
        assert len(consumer.assignment()) == PARTITIONS
