"""Topics and partitions that are not there: said once, with the nearest names, and in `health()`; poll waits on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from support.consumers import FACES, Face, take, values, write
from support.patience import eventually
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"auto.create.topics.enable": "false"}) as running:
        running.create_topic("orders", 2)
        yield running


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


def said(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= level]


def waited(consumer: Any, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log says once it says something, and after some more polls, which find nothing."""

    def poll() -> list[str]:
        assert not consumer.poll(0.05)
        return said(caplog)

    eventually(poll)
    for _ in range(5):
        poll()
    return said(caplog)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_misspelt_topic_is_named_once_with_the_right_one(
    broker: Broker, face: Face, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"group_id": f"missing-{face.name}-{protocol}", "group_protocol": protocol, "metadata_max_age_ms": 200}
    with face.consumer(broker, **settings) as consumer:
        consumer.subscribe(["ordres"])
        assert waited(consumer, caplog) == [
            "there is no topic ordres: did you mean orders? poll waits for it, and looks every 0.2 s "
            "(metadata.max.age.ms)"
        ]
        health = consumer.health()
        assert (health.ok, health.reason, health.missing) == (False, "not there: ordres", ("ordres",))
        consumer.unsubscribe()
        assert consumer.health().missing == ()


def test_a_topic_that_comes_later_is_read(broker: Broker, face: Face, caplog: pytest.LogCaptureFixture) -> None:
    name = f"late-{face.name}"
    with face.consumer(broker, group_id=name, metadata_max_age_ms=100) as consumer:
        consumer.subscribe([name])
        assert len(waited(consumer, caplog)) == 1
        broker.create_topic(name)
        write(broker, TopicPartition(name, 0), ["a"])
        assert values(take(consumer, 1)) == [b"a"]
        assert (consumer.health().ok, consumer.health().missing) == (True, ())


def test_an_assigned_partition_that_does_not_exist(
    broker: Broker, face: Face, caplog: pytest.LogCaptureFixture
) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign([TopicPartition("orders", 7)])
        assert waited(consumer, caplog) == ["orders has no partition 7: it has 0 to 1; poll waits for it"]
        assert consumer.assignment() == {TopicPartition("orders", 7)}
        assert consumer.health().reason == "not there: orders-7"


def test_partitions_that_are_there_are_read_beside_one_that_is_not(broker: Broker, face: Face) -> None:
    """Of the same topic, and of another one."""
    name = f"beside-{face.name}"
    broker.create_topic(name)
    write(broker, TopicPartition(name, 0), ["a"])
    with face.consumer(broker) as consumer:
        consumer.assign([TopicPartition(name, 7), TopicPartition("nowhere", 0), TopicPartition(name, 0)])
        assert values(take(consumer, 1)) == [b"a"]
        assert consumer.health().missing == ("nowhere", f"{name}-7")


def test_an_assigned_partition_of_no_topic_that_was_sought_to(
    broker: Broker, face: Face, caplog: pytest.LogCaptureFixture
) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign([TopicPartition("Order_s", 0)])
        consumer.seek(TopicPartition("Order_s", 0), 5)
        assert waited(consumer, caplog) == ["there is no topic Order_s: did you mean orders? poll waits for it"]
        assert consumer.health().missing == ("Order_s",)


def test_a_misspelt_topic_that_the_broker_makes(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    with Broker(config={"auto.create.topics.enable": "true"}) as broker:
        broker.create_topic("orders")
        with caplog.at_level(logging.INFO, "tidelog.client.consumer"), face.consumer(broker, group_id="g") as consumer:
            consumer.subscribe(["ordres", "quite-another"])

            def made() -> list[str]:
                assert not consumer.poll(0.05)
                return [text for text in said(caplog, logging.INFO) if text.startswith("there was no topic")]

            assert eventually(made, lambda texts: len(texts) == 2) == [
                "there was no topic ordres: the broker has made it now: did you mean orders?",
                "there was no topic quite-another: the broker has made it now",
            ]
            assert said(caplog) == made()[:1]
            assert consumer.health().missing == ()


def test_the_tail_of_a_misspelt_topic(broker: Broker, face: Face) -> None:
    with face.consumer(broker) as consumer, pytest.raises(UsageError, match=r"no topic ordres: did you mean orders\?$"):
        consumer.tail("ordres")
