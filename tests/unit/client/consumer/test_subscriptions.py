"""Groups through the consumer: subscriptions of each kind, listeners in the user's turn, commits, auto-commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.consumers import FACES, Face, take, values, write
from tidelog.client.consumer.blocking import Consumer
from tidelog.client.consumer.errors import InvalidGroupIdError
from tidelog.client.consumer.listener import ConsumerRebalanceListener
from tidelog.client.consumer.subscribing import ServerPattern, partitions_of
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.config import ConfigError
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker

PROTOCOLS = ["classic", "consumer"]
#: Members of KIP-848's groups hear of what they must give back with their next heartbeat.
QUICK = {"group.consumer.min.heartbeat.interval.ms": "50", "group.consumer.heartbeat.interval.ms": "50"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config=QUICK) as running:
        yield running


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own with two partitions of ten records each."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:150]
    broker.create_topic(name, 2)
    for partition in range(2):
        write(broker, TopicPartition(name, partition), [f"{partition}-{i}" for i in range(10)])
    return name


class Listener(ConsumerRebalanceListener):
    """Notes what it is told; `revoked` is called with the partitions."""

    def __init__(self, revoked: Callable[[list[TopicPartition]], Any] = lambda _: None) -> None:
        self.log: list[tuple[str, list[int]]] = []
        self._revoked = revoked

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        self.log.append(("assigned", [tp.partition for tp in partitions]))

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> Any:
        self.log.append(("revoked", [tp.partition for tp in partitions]))
        return self._revoked(partitions)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_subscribe_by_name_with_a_listener_and_leave(broker: Broker, face: Face, topic: str, protocol: str) -> None:
    listener = Listener()
    with face.consumer(broker, group_id=topic, group_protocol=protocol) as consumer:
        consumer.subscribe([topic], listener)
        assert consumer.subscription() == {topic}
        assert len(set(values(take(consumer, 20)))) == 20
        assert len(consumer.assignment()) == 2
        metadata = consumer.group_metadata()
        assert (metadata.group_id, metadata.generation_id >= 1, bool(metadata.member_id)) == (topic, True, True)
        assert consumer.health().group_state is not None
        assert listener.log == [("assigned", [0, 1])]
    assert listener.log == [("assigned", [0, 1]), ("revoked", [0, 1])]


def test_auto_commit_on_close_is_where_the_next_one_begins(broker: Broker, face: Face, topic: str) -> None:
    with face.consumer(broker, group_id=topic, max_poll_records=5) as consumer:
        consumer.subscribe([topic])
        first = values(take(consumer, 5))
    with face.consumer(broker, group_id=topic) as consumer:
        consumer.subscribe([topic])
        rest = values(take(consumer, 15))
    assert len({*first, *rest}) == 20


def test_without_auto_commit_everything_comes_again(broker: Broker, face: Face, topic: str) -> None:
    for _ in range(2):
        with face.consumer(broker, group_id=topic, enable_auto_commit=False) as consumer:
            consumer.subscribe([topic])
            assert len(take(consumer, 20)) == 20


def test_auto_commit_by_the_interval_counts_what_the_poll_before_returned(
    broker: Broker, face: Face, topic: str
) -> None:
    """What `poll` has just returned is not done with: it is committed by the next one."""
    tp = TopicPartition(topic, 0)
    with face.consumer(broker, group_id=topic, auto_commit_interval_ms=0, max_poll_records=4) as consumer:
        consumer.assign([tp])
        take(consumer, 4)
        assert consumer.committed([tp]) == {tp: None}
        take(consumer, 4)
        consumer.commit_async({TopicPartition(topic, 1): 0})
        consumer.commit({TopicPartition(topic, 1): 0})  # behind the automatic one
        committed = consumer.committed([tp])[tp]
        assert committed is not None
        assert committed.offset == 4


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_commit_inside_revoked_counts(broker: Broker, topic: str, protocol: str) -> None:
    """The group waits for the listener; the next member begins where it has committed."""
    consumer = FACES[0].consumer(
        broker, group_id=topic, group_protocol=protocol, enable_auto_commit=False, max_poll_records=3
    )
    listener = Listener(lambda partitions: consumer.commit())
    with consumer:
        consumer.subscribe([topic], listener)
        seen = values(take(consumer, 3))
        consumer.pause(consumer.assignment())
        with FACES[0].consumer(broker, group_id=topic, group_protocol=protocol) as other:
            other.subscribe([topic])
            found: list[bytes] = []
            while not found:
                found += values(other.poll(0.05))
                consumer.poll(0.05)
            assert not set(seen) & set(found)
    assert "revoked" in dict(listener.log)


def test_a_listener_that_throws_is_raised_from_poll(broker: Broker, face: Face, topic: str) -> None:
    class Bad(ConsumerRebalanceListener):
        def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
            raise ValueError("of the user's")

    with face.consumer(broker, group_id=topic) as consumer:
        consumer.subscribe([topic], Bad())
        with pytest.raises(ValueError, match="of the user's"):
            take(consumer, 20)
        assert len(take(consumer, 20)) == 20


def test_listeners_of_the_asyncio_face_may_be_coroutines(broker: Broker, topic: str) -> None:
    log: list[str] = []
    consumer = FACES[2].consumer(broker, group_id=topic)

    class Slow(ConsumerRebalanceListener):
        async def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
            for tp in partitions:
                await consumer.client.seek(tp, 9)
            log.append("assigned")

        async def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
            await consumer.client.commit()
            log.append("revoked")

    with consumer:
        consumer.subscribe([topic], Slow())
        assert sorted(values(take(consumer, 2))) == [b"0-9", b"1-9"]
    assert log == ["assigned", "revoked"]


def test_a_python_pattern_finds_topics_also_new_ones(broker: Broker, face: Face, topic: str) -> None:
    with face.consumer(broker, group_id=topic, metadata_max_age_ms=100) as consumer:
        consumer.subscribe(re.compile(f"{topic}(-new)?"))
        take(consumer, 20)
        assert consumer.subscription() == {topic}
        broker.create_topic(f"{topic}-new")
        write(broker, TopicPartition(f"{topic}-new", 0), ["fresh"])
        assert values(take(consumer, 1)) == [b"fresh"]
        assert consumer.subscription() == {topic, f"{topic}-new"}


@pytest.mark.parametrize("excluded", [True, False])
def test_a_pattern_leaves_out_internal_topics_unless_told(broker: Broker, topic: str, excluded: bool) -> None:
    with Consumer(bootstrap_servers=broker.address, group_id=topic, exclude_internal_topics=excluded) as consumer:
        consumer.commit({TopicPartition(topic, 0): 1})  # makes the internal topic
        consumer.subscribe(re.compile(f"__consumer_offsets|{topic}"))
        while not consumer.assignment():
            consumer.poll(0.05)
        assert ("__consumer_offsets" in consumer.subscription()) is not excluded


def test_a_pattern_for_the_server(broker: Broker, face: Face, topic: str) -> None:
    with face.consumer(broker, group_id=topic, group_protocol="consumer") as consumer:
        consumer.subscribe(ServerPattern(f"{topic[:-1]}."))
        assert len(take(consumer, 20)) == 20


def test_a_pattern_for_the_server_needs_the_new_protocol(broker: Broker, face: Face, topic: str) -> None:
    with face.consumer(broker, group_id=topic) as consumer:
        consumer.subscribe(ServerPattern("x.*"))
        with pytest.raises(UsageError, match=r"group\.protocol=consumer"):
            consumer.poll(10)


@pytest.mark.parametrize("group", [None, ""])
def test_what_needs_a_group_says_so(broker: Broker, face: Face, topic: str, group: str | None) -> None:
    keywords = {} if group is None else {"group_id": group, "enable_auto_commit": False}
    with face.consumer(broker, **keywords) as consumer:
        for call in (
            lambda: consumer.subscribe([topic]),
            consumer.commit,
            consumer.commit_async,
            lambda: consumer.committed([TopicPartition(topic, 0)]),
            consumer.group_metadata,
        ):
            with pytest.raises(InvalidGroupIdError, match=r"set group\.id"):
                call()
    with pytest.raises(ConfigError, match=r"without a group\.id"):
        Consumer(bootstrap_servers=broker.address, enable_auto_commit=True)


def test_ways_to_choose_partitions_do_not_mix(broker: Broker, face: Face, topic: str) -> None:
    with face.consumer(broker, group_id=topic) as consumer:
        consumer.subscribe([topic])
        with pytest.raises(UsageError, match="unsubscribe before"):
            consumer.assign([TopicPartition(topic, 0)])
        take(consumer, 20)
        consumer.unsubscribe()
        assert not consumer.assignment()
        consumer.assign([TopicPartition(topic, 0)])
        with pytest.raises(UsageError, match="list of topics"):
            consumer.subscribe(topic)
        consumer.unsubscribe()
        with pytest.raises(UsageError, match="not empty"):
            consumer.subscribe([""])


def test_commit_callbacks_come_in_order_and_what_they_throw_is_raised(broker: Broker, face: Face, topic: str) -> None:
    tp = TopicPartition(topic, 0)
    log: list[tuple[int, Exception | None]] = []

    def note(offsets: dict[TopicPartition, OffsetAndMetadata], error: Exception | None) -> None:
        log.append((offsets[tp].offset, error))

    def throw(*_: object) -> None:
        raise ValueError("in a callback")

    with face.consumer(broker, group_id=topic, enable_auto_commit=False) as consumer:
        consumer.assign([tp])
        for offset in range(1, 6):
            consumer.commit_async({tp: offset}, note)
        consumer.commit({tp: OffsetAndMetadata(6, 0, "six")})
        assert log == [(offset, None) for offset in range(1, 6)]
        assert consumer.committed([tp]) == {tp: OffsetAndMetadata(6, 0, "six")}
        consumer.commit_async({tp: -1}, note)
        consumer.commit({tp: 7})
        assert log[-1][0] == -1
        assert isinstance(log[-1][1], UsageError)
        consumer.commit_async({tp: 8}, throw)
        with pytest.raises(ValueError, match="in a callback"):
            consumer.commit({tp: 9})


def test_since_decides_where_a_group_without_commits_begins(broker: Broker, face: Face, topic: str) -> None:
    with face.consumer(broker, group_id=topic) as consumer:
        consumer.subscribe([topic], since="1h")
        while not consumer.assignment():
            consumer.poll(0.05)
        assert [consumer.position(tp) for tp in sorted(consumer.assignment())] == [10, 10]


def test_a_topic_is_made_by_the_broker_if_both_sides_allow(face: Face) -> None:
    with Broker(config={"auto.create.topics.enable": "true"}) as broker:
        with face.consumer(broker, group_id="g", allow_auto_create_topics=False) as consumer:
            consumer.subscribe(["wanted"])
            assert not consumer.poll(0.3)
            assert "wanted" not in consumer.list_topics()
        with face.consumer(broker, group_id="g2", metadata_max_age_ms=100) as consumer:
            consumer.subscribe(["wanted"])
            while not consumer.assignment():
                consumer.poll(0.05)
            assert "wanted" in consumer.list_topics()


@pytest.mark.parametrize(
    "given", [["orders"], "orders", TopicPartition("orders", 0), [("orders", "0")], [(b"orders", 0)]]
)
def test_assign_says_what_it_takes(given: Any) -> None:
    with pytest.raises(UsageError, match=r'assign takes a list of partitions, as \[TopicPartition\("orders", 0\)\]'):
        partitions_of(given)


@pytest.mark.parametrize("given", [{"orders": 5}, [5], "orders"])
def test_commit_says_what_it_takes(given: Any) -> None:
    with (
        Consumer(bootstrap_servers="127.0.0.1:1", group_id="g") as consumer,
        pytest.raises(UsageError, match=r'commit takes offsets by partition, as \{TopicPartition\("orders", 0\): 5\}'),
    ):
        consumer.commit(given)
