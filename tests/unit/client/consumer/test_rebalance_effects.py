"""What a rebalance does to whoever uses a consumer: listeners, commits, assignors, heartbeats; of both protocols."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from support.consumers import FACES, take, values, write
from support.patience import eventually
from tidelog import ConsumerRebalanceListener, TopicPartition
from tidelog.client.consumer.assignors.assignor import Assignor, Members, Shares, Topics
from tidelog.testing import Broker

QUICK_GROUPS = {
    "group.min.session.timeout.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "50",
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.session.timeout.ms": "600",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config=QUICK_GROUPS) as running:
        yield running


@pytest.fixture(params=["classic", "consumer"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """Two partitions of ten records each."""
    name = "".join(char if char.isalnum() else "-" for char in request.node.name)
    broker.create_topic(name, 2)
    for number in range(2):
        write(broker, TopicPartition(name, number), [f"{number}-{i}" for i in range(10)])
    return name


def member(broker: Broker, topic: str, protocol: str, **settings: Any) -> Any:
    return FACES[0].consumer(broker, group_id=topic, group_protocol=protocol, **settings)


class Diary(ConsumerRebalanceListener):
    """Which methods were called, with which partitions."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, list[int]]] = []

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        self.entries.append(("assigned", sorted(tp.partition for tp in partitions)))

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        self.entries.append(("revoked", sorted(tp.partition for tp in partitions)))


class FullDiary(Diary):
    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        self.entries.append(("lost", sorted(tp.partition for tp in partitions)))


@pytest.mark.parametrize(("kind", "word"), [(FullDiary, "lost"), (Diary, "revoked")])
def test_who_was_put_out_hears_that_its_partitions_are_lost(
    broker: Broker, topic: str, protocol: str, kind: type[Diary], word: str
) -> None:
    """By `max.poll.interval.ms`; a listener without a method for it is told by the one for revoked partitions."""
    diary = kind()
    with member(broker, topic, protocol, max_poll_interval_ms=300) as consumer:
        consumer.subscribe([topic], diary)
        take(consumer, 20)
        assert diary.entries == [("assigned", [0, 1])]
        eventually(lambda: consumer.health().group_state == "idle")  # nobody polls
        assert diary.entries == [("assigned", [0, 1])], "a listener runs in its user's polls only"
        eventually(lambda: (consumer.poll(0.05), len(diary.entries)), lambda found: found[1] >= 3)
    assert diary.entries[1:3] == [(word, [0, 1]), ("assigned", [0, 1])]


def test_what_was_read_is_committed_before_it_goes_to_another(broker: Broker, topic: str, protocol: str) -> None:
    """`enable.auto.commit` long before its interval is over: the next owner begins behind what was handed out."""
    with member(broker, topic, protocol, auto_commit_interval_ms=3_600_000) as first:
        first.subscribe([topic])
        assert len(take(first, 20)) == 20
        with member(broker, topic, protocol, enable_auto_commit=False) as second:
            second.subscribe([topic])
            again: list[bytes] = []

            def look() -> bool:
                again.extend(values(second.poll(0.02)))
                again.extend(values(first.poll(0.02)))
                return len(first.assignment()) == len(second.assignment()) == 1

            eventually(look)
            (gone,) = second.assignment()
            assert second.committed([gone])[gone].offset == 10
            assert second.position(gone) == 10
    assert again == []


class Reversed(Assignor):
    """One member gets everything: the last, by its id. It is asked for by a class, and told the consumer's settings."""

    name = "reversed"
    told: list[Any] = []  # of the class: the consumer makes the instance

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.told.append(configs["my.setting"])

    def distribute(self, topics: Topics, members: Members) -> Shares:
        everything = [TopicPartition(topic, part.partition) for topic in topics for part in topics[topic]]
        return {max(members): everything}


def test_an_assignor_of_ones_own_shares_out(broker: Broker, topic: str) -> None:
    settings = {"more": {"my.setting": "x"}, "partition_assignment_strategy": [Reversed]}
    consumers = [member(broker, topic, "classic", **settings, client_id=f"member-{number}") for number in range(3)]
    try:
        for consumer in consumers:
            consumer.subscribe([topic])

        def shares() -> list[int]:
            for consumer in consumers:
                consumer.poll(0.02)
            return [len(consumer.assignment()) for consumer in consumers]

        eventually(shares, lambda found: found == [0, 0, 2])
    finally:
        for consumer in consumers:
            consumer.close()
    assert Reversed.told == ["x"] * 3


def test_a_handler_that_takes_longer_than_the_session_costs_nothing(broker: Broker, topic: str, protocol: str) -> None:
    """`session.timeout.ms` (with KIP-848 the broker's) is 0.6 s, and nobody polls for three times that: it is the time
    that is tested, so it has to pass.
    """
    settings = {"session_timeout_ms": 600} if protocol == "classic" else {}
    with member(broker, topic, protocol, **settings) as consumer:
        consumer.subscribe([topic])
        take(consumer, 20)
        before = consumer.group_metadata()
        threading.Event().wait(1.8)
        consumer.commit()  # which is refused from who was put out
        assert consumer.group_metadata() == before


def test_a_first_poll_may_wait_for_longer_than_polls_may_be_apart(broker: Broker, topic: str, protocol: str) -> None:
    """It waits for a topic that is made after three times `max.poll.interval.ms`, and reads it: it has been there."""
    settings = {"max_poll_interval_ms": 200, "metadata_max_age_ms": 100, "allow_auto_create_topics": False}
    later, found = TopicPartition(f"{topic}-later", 0), []
    with member(broker, topic, protocol, **settings) as consumer:
        consumer.subscribe([later.topic])
        polling = threading.Thread(target=lambda: found.extend(values(consumer.poll(60))))
        polling.start()
        eventually(lambda: consumer.metrics()["last_poll_seconds_ago"] or 0, lambda seconds: seconds > 0.6)
        broker.create_topic(later.topic)
        write(broker, later, ["at last"])
        polling.join()
    assert found == [b"at last"]
