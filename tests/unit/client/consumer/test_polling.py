"""`poll` and its kin on both faces: limits, pauses, iteration, wake-ups, wrong use, closing."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from support.consumers import FACES, Face, of, take, values, write
from tidelog.client.consumer.aio import Consumer as AsyncConsumer
from tidelog.client.consumer.blocking import Consumer
from tidelog.client.consumer.errors import ConcurrentUseError, RecordDeserializationError, WakeupError
from tidelog.client.consumer.guard import of_threads
from tidelog.client.consumer.interceptors import ConsumerInterceptor
from tidelog.client.consumer.records import ConsumerRecords
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


@pytest.fixture
def tps(broker: Broker, request: pytest.FixtureRequest) -> list[TopicPartition]:
    """Two partitions of the test's own with twenty records each, in batches of five."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:200]
    broker.create_topic(name, 2)
    tps = [TopicPartition(name, 0), TopicPartition(name, 1)]
    for tp in tps:
        write(broker, tp, *[[f"{tp.partition}-{5 * batch + i}" for i in range(5)] for batch in range(4)])
    return tps


def test_no_poll_returns_more_than_max_poll_records(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    with face.consumer(broker, max_poll_records=7) as consumer:
        consumer.assign(tps)
        sizes, seen = [], []
        while len(seen) < 40:
            records = consumer.poll(10)
            sizes.append(len(records))
            seen += values(records)
        assert max(sizes) == 7
        assert len(set(seen)) == 40
        consumer.seek_to_beginning()
        assert len(consumer.poll(10, max_records=3)) == 3


def test_the_records_of_a_poll_know_where_to_go_on(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    with face.consumer(broker, max_poll_records=8) as consumer:
        consumer.assign(tps[:1])
        records = consumer.poll(10)
        assert isinstance(records, ConsumerRecords)
        assert list(records.partitions) == tps[:1]
        assert records.next_offsets[tps[0]].offset == 8


def test_a_paused_partition_keeps_its_position_and_what_was_fetched(
    broker: Broker, face: Face, tps: list[TopicPartition]
) -> None:
    with face.consumer(broker, max_poll_records=5) as consumer:
        consumer.assign(tps)
        take(consumer, 5)
        consumer.pause(tps)
        assert consumer.paused() == set(tps)
        before = [consumer.position(tp) for tp in tps]
        assert sum(before) == 5
        assert not consumer.poll(0.2)
        assert [consumer.position(tp) for tp in tps] == before
        consumer.resume(tps[1:])
        rest = take(consumer, 20 - before[1])
        assert {record.partition for record in rest} == {1}
        consumer.resume(tps[:1])
        rest = take(consumer, 20 - before[0])
        assert [record.offset for record in rest] == list(range(before[0], 20))
        assert not consumer.paused()
        with pytest.raises(UsageError, match="not assigned"):
            consumer.pause([TopicPartition("other", 0)])


def test_iteration_and_a_commit_from_within_it(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    with face.consumer(broker, group_id=f"g-{tps[0].topic[:100]}", enable_auto_commit=False) as consumer:
        consumer.assign(tps[:1])
        for record in consumer:
            if record.offset == 6:
                consumer.commit()
                assert consumer.committed(tps[:1])[tps[0]].offset == 7
                break


def test_a_seek_within_an_iteration_leaves_out_the_rest(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign(tps[:1])
        seen = []
        for record in consumer:
            seen.append(record.offset)
            if len(seen) == 3:
                consumer.seek(tps[0], 18)
            if record.offset == 19:
                break
        assert seen == [0, 1, 2, 18, 19]


def test_an_iteration_that_is_left_early_goes_on_where_it_was(
    broker: Broker, face: Face, tps: list[TopicPartition]
) -> None:
    """Twenty records were taken at once; who stops after the third has seen three."""
    with face.consumer(broker) as consumer:
        consumer.assign(tps[:1])
        seen: list[int] = []
        for record in consumer:
            seen.append(record.offset)
            if len(seen) == 3:
                break
        assert consumer.position(tps[0]) == 3
        seen += [record.offset for record in take(consumer, 17)]
        assert seen == list(range(20))


def test_a_poll_beside_an_iteration_skips_nothing(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign(tps[:1])
        iteration = iter(consumer)
        seen = [next(iteration).offset for _ in range(3)]
        seen += [record.offset for record in take(consumer, 17)]
        assert seen == list(range(20))


def test_wakeup_ends_the_call_at_hand_or_the_next_one(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign(tps)
        take(consumer, 40)
        consumer.wakeup()
        with pytest.raises(WakeupError):
            consumer.poll(10)
        threading.Timer(0.05, consumer.wakeup).start()
        with pytest.raises(WakeupError):
            consumer.poll(60)
        consumer.wakeup()
        with pytest.raises(WakeupError):
            consumer.position(tps[0])
        assert consumer.position(tps[0]) == 20


def test_two_threads_are_refused_by_name(broker: Broker, tps: list[TopicPartition]) -> None:
    with Consumer(bootstrap_servers=broker.address) as consumer:
        consumer.assign(tps)
        inside = threading.Event()
        polling = threading.Thread(target=lambda: (inside.set(), _woken(consumer)), name="the-other")
        polling.start()
        inside.wait()
        with pytest.raises(ConcurrentUseError, match=r"seek was called while thread the-other is inside poll"):
            _seek_again_and_again(consumer, tps[0])
        consumer.wakeup()
        polling.join()
        consumer.seek(tps[0], 0)


def test_a_forked_child_is_not_taken_for_a_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was inside a call stayed behind: the child has to hear of the fork, not of threads."""
    guard = of_threads()
    inside = threading.Thread(target=lambda: guard("poll"))  # and never left
    inside.start()
    inside.join()
    with pytest.raises(ConcurrentUseError), guard("commit"):
        pass
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with guard("commit"):
        pass


def _seek_again_and_again(consumer: Consumer, tp: TopicPartition) -> None:
    while True:
        consumer.seek(tp, 0)


def _woken(consumer: Consumer) -> None:
    with pytest.raises(WakeupError):
        consumer.poll(60)


def test_two_tasks_are_refused_by_name(broker: Broker, tps: list[TopicPartition]) -> None:
    async def main() -> None:
        async with AsyncConsumer(bootstrap_servers=broker.address) as consumer:
            await consumer.assign(tps)
            polling = asyncio.create_task(consumer.poll(60), name="the-other")
            await asyncio.sleep(0)
            with pytest.raises(ConcurrentUseError, match=r"seek was called while task the-other is inside poll"):
                await consumer.seek(tps[0], 0)
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)
            await consumer.seek(tps[0], 0)

    asyncio.run(main())


def test_a_cancelled_poll_has_lost_nothing(broker: Broker, tps: list[TopicPartition]) -> None:
    async def main() -> None:
        settings = {"bootstrap.servers": broker.address, "auto.offset.reset": "earliest", "max.poll.records": 1}
        async with AsyncConsumer(settings) as consumer:
            await consumer.assign(tps[:1])
            seen: list[int] = []
            while len(seen) < 20:
                polling = asyncio.create_task(consumer.poll(10))
                await asyncio.sleep(0)
                polling.cancel()
                await asyncio.gather(polling, return_exceptions=True)
                seen += [record.offset for record in await consumer.poll(10)]
            assert seen == list(range(20))

    asyncio.run(main())


def test_deserializers_by_name_and_what_they_cannot_read(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    write(broker, tps[0], of("not json"))
    with face.consumer(broker, key_deserializer="str", value_deserializer="json") as consumer:
        consumer.assign(tps[:1])
        consumer.seek(tps[0], 20)
        (record,) = take(consumer, 1)
        assert record.key == "not json"
        with pytest.raises(RecordDeserializationError, match="offset 20"):
            _ = record.value
        assert record.raw_value == b"not json"
        assert consumer.position(tps[0]) == 21


class Counting(ConsumerInterceptor):
    """Notes what it is told, in a list that is a setting."""

    def configure(self, configs: Any) -> None:
        self.log: list[Any] = configs["my.log"]
        self.name: str = configs.get("my.name", "?")

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        self.log.append(("consume", len(records)))
        return ConsumerRecords(records[:2])

    def on_commit(self, offsets: Any) -> None:
        self.log.append(("commit", {tp.partition: at.offset for tp, at in offsets.items()}))

    def close(self) -> None:
        self.log.append("closed")


class Failing(ConsumerInterceptor):
    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        raise RuntimeError("a fault")

    def on_commit(self, offsets: Any) -> None:
        raise RuntimeError("another")


def test_interceptors_see_records_and_commits_and_a_faulty_one_is_skipped(
    broker: Broker, face: Face, tps: list[TopicPartition], caplog: pytest.LogCaptureFixture
) -> None:
    log: list[Any] = []
    group = f"i-{tps[0].topic[:100]}"
    consumer = face.consumer(broker, more={"my.log": log}, interceptor_classes=[Failing, Counting], group_id=group)
    with consumer:
        consumer.assign(tps[:1])
        assert len(consumer.poll(10)) == 2
        consumer.commit({tps[0]: 2})
        assert log == [("consume", 20), ("commit", {0: 2})]
    assert log[-1] == "closed"
    assert "a fault" in caplog.text
    assert "another" in caplog.text


def test_a_closed_consumer_says_so_and_closing_twice_is_nothing(broker: Broker, face: Face) -> None:
    consumer = face.consumer(broker)
    consumer.close()
    consumer.close()
    if face.name == "blocking":
        with pytest.raises(UsageError, match="closed"):
            consumer.list_topics()


def test_polling_without_a_subscription_is_a_mistake(broker: Broker, face: Face) -> None:
    with face.consumer(broker) as consumer, pytest.raises(UsageError, match="not subscribed to any topic"):
        consumer.poll(0)


def test_health_metrics_and_lag(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    with face.consumer(broker, max_poll_records=5) as consumer:
        consumer.assign(tps)
        assert consumer.current_lag(tps[0]) is None
        take(consumer, 5)
        assert sum(consumer.lag().values()) == 35
        take(consumer, 35)
        assert consumer.lag() == dict.fromkeys(tps, 0)
        assert consumer.current_lag(tps[0]) == 0
        health = consumer.health()
        assert (health.ok, health.assigned, health.without_position, health.lag) == (True, 2, 0, 0)
        metrics = consumer.metrics()
        assert metrics["records_consumed_total"] == 40
        assert metrics["fetch_total"] >= 1
        assert metrics["bytes_consumed_total"] > 0
        assert metrics["last_poll_seconds_ago"] >= 0
    assert not consumer.health().ok if face.name == "blocking" else True


def test_tail_returns_the_last_records_and_moves_nothing(broker: Broker, face: Face, tps: list[TopicPartition]) -> None:
    write(broker, tps[1], of("late", timestamp=1_700_000_999_000))
    with face.consumer(broker) as consumer:
        found = consumer.tail(tps[0].topic, 3)
        assert [record.value for record in found][-1] == b"late"
        assert len(found) == 3
        assert len(consumer.tail(tps[0].topic, 1000)) == 41
        with pytest.raises(UsageError, match="no topic"):
            consumer.tail("no-such-topic", 3)
        with pytest.raises(UsageError, match="one at least"):
            consumer.tail(tps[0].topic, 0)
