"""Our consumer in groups, of both protocols: 004 消费者/消费者与消费者组, 位移提交, 再平衡."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from support.consumers import FACES, take, values, write
from support.patience import eventually
from tidelog.client.consumer.blocking import Consumer
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker

QUICK_GROUPS = {"group.consumer.min.heartbeat.interval.ms": "50", "group.consumer.heartbeat.interval.ms": "50"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config=QUICK_GROUPS) as running:
        yield running


@pytest.fixture(params=["classic", "consumer"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = "".join(char if char.isalnum() else "-" for char in request.node.name)
    broker.create_topic(name, 2)
    return name


@pytest.fixture
def member(broker: Broker, topic: str, protocol: str) -> Iterator[Callable[..., Consumer]]:
    """Makes consumers that have subscribed to the topic; all are closed in the end."""
    made: list[Consumer] = []

    def make(listener: Any = None, **settings: Any) -> Consumer:
        settings = {"group_id": topic, "group_protocol": protocol, "enable_auto_commit": False, **settings}
        consumer: Consumer = FACES[0].consumer(broker, **settings)
        made.append(consumer)
        consumer.subscribe([topic], listener)
        return consumer

    yield make
    for consumer in made:
        consumer.close()


def fill(broker: Broker, topic: str, *texts: str) -> None:
    """The texts in turn to the two partitions."""
    for index in range(2):
        write(broker, TopicPartition(topic, index), list(texts[index::2]))


def poll_until(consumers: list[Consumer], done: Callable[[], bool]) -> list[str]:
    """Poll all in turn; what they have read."""
    seen: list[str] = []

    def look() -> bool:
        for consumer in consumers:
            seen.extend(bytes(record.value).decode() for record in consumer.poll(0.02))
        return done()

    eventually(look)
    return seen


def texts(records: Iterable[Any]) -> list[str]:
    return [bytes(value).decode() for value in values(list(records))]


def test_a_partition_is_read_by_one_consumer_of_a_group(
    broker: Broker, topic: str, member: Callable[..., Consumer]
) -> None:
    """004 消费者与消费者组: 每个分区只能被一个消费组的一个消费者消费."""
    one, two = member(), member()
    poll_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 1)
    assert not one.assignment() & two.assignment()
    fill(broker, topic, "a", "b", "c", "d")
    seen: list[str] = []
    while len(seen) < 4:
        seen += poll_until([one, two], lambda: True)
    assert sorted(seen) == ["a", "b", "c", "d"]


def test_who_comes_when_all_partitions_are_taken_reads_nothing(
    broker: Broker, topic: str, member: Callable[..., Consumer]
) -> None:
    """004 消费者与消费者组: 消费者数大于分区数时，会有消费者分配不到分区而无法消费任何消息."""
    three = [member() for _ in range(3)]
    poll_until(three, lambda: sorted(len(one.assignment()) for one in three) == [0, 1, 1])
    fill(broker, topic, "a", "b")
    (idle,) = [one for one in three if not one.assignment()]
    others = [one for one in three if one.assignment()]
    seen: list[str] = []
    while len(seen) < 2:
        assert not idle.poll(0.02)
        seen += poll_until(others, lambda: True)
    assert sorted(seen) == ["a", "b"]


def test_a_group_is_a_queue_and_groups_are_subscribers(
    broker: Broker, topic: str, member: Callable[..., Consumer]
) -> None:
    """004 消费者与消费者组: 队列模型 within a group, 发布-订阅模型 between groups."""
    fill(broker, topic, "a", "b")
    here, there = member(), member(group_id=f"{topic}-other")
    assert sorted(texts(take(here, 2))) == ["a", "b"]
    assert sorted(texts(take(there, 2))) == ["a", "b"]
    here.commit()
    assert not here.poll(0.1)


def test_a_consumer_may_be_a_thread(broker: Broker, topic: str, member: Callable[..., Consumer]) -> None:
    """004 消费者与消费者组: 消费者 … 可以是一个线程, 也可以是一个进程."""
    fill(broker, topic, *(str(number) for number in range(20)))
    seen: dict[int, list[str]] = {0: [], 1: []}

    def read(consumer: Consumer, into: list[str]) -> None:
        while len(seen[0]) + len(seen[1]) < 20:
            into += texts(consumer.poll(0.05))
            consumer.commit()

    threads = [threading.Thread(target=read, args=(member(), into)) for into in seen.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*seen[0], *seen[1]} == {str(number) for number in range(20)}


def test_who_comes_after_goes_on_from_the_commit(broker: Broker, topic: str, member: Callable[..., Consumer]) -> None:
    """004 位移提交: 消费者在消费完消息之后需要再执行消费位移的提交."""
    fill(broker, topic, "a", "b", "c", "d")
    first = member()
    take(first, 4)
    first.commit({TopicPartition(topic, 0): 2, TopicPartition(topic, 1): 1})
    first.close()
    second = member()
    assert texts(take(second, 1)) == ["d"]
    assert second.committed([TopicPartition(topic, 0)])[TopicPartition(topic, 0)].offset == 2  # type: ignore[union-attr]  # it is there


def test_asynchronous_commits_are_answered_in_their_order(
    broker: Broker, topic: str, member: Callable[..., Consumer]
) -> None:
    """004 位移提交: 同步提交与异步提交."""
    fill(broker, topic, "a", "b", "c", "d")
    consumer = member()
    take(consumer, 4)
    answered: list[int] = []
    tp = TopicPartition(topic, 0)
    for offset in range(3):
        consumer.commit_async({tp: offset}, lambda offsets, error: answered.append(offsets[tp].offset))
    poll_until([consumer], lambda: len(answered) == 3)
    assert answered == [0, 1, 2]


def test_a_commit_before_the_work_loses_what_was_not_done(
    broker: Broker, topic: str, member: Callable[..., Consumer]
) -> None:
    """004 位移提交: 消息丢失: who commits first and then dies has promised what it did not do."""
    fill(broker, topic, "a", "b")
    careless = member()
    polled = take(careless, 2)
    careless.commit()
    done = texts(polled)[:1]  # the process dies here
    careless.close()
    write(broker, TopicPartition(topic, 0), ["c"])
    assert texts(take(member(), 1)) == ["c"]
    assert done != ["a", "b"]


def test_work_before_the_commit_is_done_twice(broker: Broker, topic: str, member: Callable[..., Consumer]) -> None:
    """004 位移提交: 重复消费: who dies between the work and the commit leaves the work to be done again."""
    fill(broker, topic, "a", "b")
    careful = member()
    done = sorted(texts(take(careful, 2)))
    careful.close()  # before the commit
    assert sorted(texts(take(member(), 2))) == done == ["a", "b"]


def test_auto_commit_goes_on_from_the_last_poll(broker: Broker, topic: str, member: Callable[..., Consumer]) -> None:
    """004 位移提交: enable.auto.commit, by default every five seconds; also when the consumer is closed."""
    fill(broker, topic, "a", "b")
    first = member(enable_auto_commit=True)
    take(first, 2)
    first.poll(0)  # what the last poll returned is done with
    first.close()
    write(broker, TopicPartition(topic, 1), ["c"])
    assert texts(take(member(), 1)) == ["c"]


class Diary:
    """A listener that writes down what happens, and commits what goes."""

    def __init__(self) -> None:
        self.consumer: Consumer | None = None
        self.entries: list[tuple[str, list[int]]] = []

    def on_partitions_revoked(self, partitions: Iterable[TopicPartition]) -> None:
        self.entries.append(("revoked", sorted(tp.partition for tp in partitions)))
        assert self.consumer is not None
        self.consumer.commit()

    def on_partitions_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        self.entries.append(("assigned", sorted(tp.partition for tp in partitions)))

    def on_partitions_lost(self, partitions: Iterable[TopicPartition]) -> None:
        self.entries.append(("lost", sorted(tp.partition for tp in partitions)))


def test_joining_and_leaving_rebalance_and_a_commit_before_it_counts(
    broker: Broker, topic: str, member: Callable[..., Consumer]
) -> None:
    """004 再平衡: 新的消费者加入消费者组、已有的消费者退出; 再平衡前提交offset."""
    fill(broker, topic, "a", "b", "c", "d")
    diary = Diary()
    first = diary.consumer = member(diary)
    take(first, 4)
    second = member()
    again = poll_until([first, second], lambda: len(first.assignment()) == len(second.assignment()) == 1)
    assert again == []  # everything was committed by the listener when it went
    assert diary.entries[0] == ("assigned", [0, 1])
    assert diary.entries[1][0] == "revoked"
    second.close()
    poll_until([first], lambda: len(first.assignment()) == 2)


def test_a_topic_that_grows_is_shared_out_anew(broker: Broker, topic: str, member: Callable[..., Consumer]) -> None:
    """004 再平衡: 所订阅的主题的分区发生变化."""
    from tidelog.client.admin.blocking import Admin

    consumer = member(metadata_max_age_ms=200)
    poll_until([consumer], lambda: len(consumer.assignment()) == 2)
    with Admin(bootstrap_servers=broker.address) as admin:
        admin.create_partitions({topic: 4})
    poll_until([consumer], lambda: len(consumer.assignment()) == 4)
