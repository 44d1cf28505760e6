"""The in-process broker that we ship for tests."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tidelog.testing import Broker


def produce(address: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": address})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


def consume(address: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return [message.value() for message in consumer.consume(count, 60)]
    finally:
        consumer.close()


def test_the_fixture_gives_a_working_broker(tidelog):
    tidelog.create_topic("t")
    produce(tidelog.address, "t", [b"a", b"b"])
    assert consume(tidelog.address, "t", 2) == [b"a", b"b"]


def test_a_restart_keeps_port_and_records():
    with Broker() as broker:
        address = broker.address
        produce(address, "made-on-the-way", [b"a"])
        broker.restart()
        assert broker.address == address
        assert consume(address, "made-on-the-way", 1) == [b"a"]
        directory = broker.data_dir
    assert not directory.exists()


def test_two_brokers_do_not_know_each_other(tmp_path):
    with Broker(tmp_path / "one") as one, Broker(tmp_path / "two") as two:
        one.create_topic("t")
        assert "t" not in two.server.metadata.topics
        assert one.port != two.port


@pytest.mark.parametrize("tidelog_config", [{"num.partitions": "3"}])
def test_the_fixtures_broker_has_the_keys_of_tidelog_config(tidelog):
    produce(tidelog.address, "made-on-the-way", [b"a"])
    assert tidelog.server.metadata.partition_count("made-on-the-way") == 3


def test_keys_that_nobody_knows_are_named_with_what_was_meant(caplog):
    with Broker(config={"num.partitons": "3", "entirely.different": "1", "num.partitions": "3"}):
        assert "ignored: num.partitons (did you mean num.partitions?), entirely.different" in caplog.text
