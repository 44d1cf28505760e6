"""What a group's decisions mean for a consumer: who may be somebody else's is not handed out, what is final stays."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress

import pytest

from support.consumers import QUICK, take, write
from support.loop import async_test
from support.ports import free_ports
from tidelog.client.admin.blocking import Admin
from tidelog.client.consumer.aio import Consumer as AsyncConsumer
from tidelog.client.consumer.blocking import Consumer
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def tp(broker: Broker, request: pytest.FixtureRequest) -> TopicPartition:
    tp = TopicPartition(re.sub(r"\W", "-", request.node.name)[:150], 0)
    broker.create_topic(tp.topic)
    write(broker, tp, [str(i) for i in range(10)])
    return tp


def test_what_is_held_back_is_not_handed_out(broker: Broker, tp: TopicPartition) -> None:
    settings = {"group_id": tp.topic, "auto_offset_reset": "earliest", "max_poll_records": 2, **QUICK}
    with Consumer(bootstrap_servers=broker.address, **settings) as consumer:  # type: ignore[arg-type]  # of many types
        consumer.subscribe([tp.topic])
        take(consumer, 2)
        consumer._core.group.hold_back()
        assert not consumer.poll(0.3)
        assert consumer.position(tp) == 2


def test_what_has_ended_a_membership_for_good_is_raised_by_every_poll(broker: Broker, tp: TopicPartition) -> None:
    with Consumer(bootstrap_servers=broker.address, group_id=tp.topic, **QUICK) as consumer:
        consumer.subscribe([tp.topic])
        consumer.poll(0.1)
        consumer._core.group.failed(KafkaError(ErrorCode.FENCED_INSTANCE_ID), final=True)
        for _ in range(3):
            with pytest.raises(KafkaError, match="FENCED_INSTANCE_ID"):
                consumer.poll(0.1)
            assert not consumer.health().ok
        consumer.unsubscribe()
        assert consumer._core.group.fatal is None


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_topic_that_was_deleted_holds_up_no_end(broker: Broker, tp: TopicPartition, protocol: str) -> None:
    """The auto-commit of what is given back does not wait for the topic to come back, and counts for the others."""
    other = TopicPartition(f"other-{protocol}", 0)
    broker.create_topic(other.topic)
    write(broker, other, ["x"])
    settings = {"group_id": other.topic, "auto_offset_reset": "earliest", "group_protocol": protocol}
    with (
        Admin(bootstrap_servers=broker.address) as admin,
        Consumer(bootstrap_servers=broker.address, **settings) as consumer,  # type: ignore[arg-type]  # of many types
    ):
        consumer.subscribe([tp.topic, other.topic])
        take(consumer, 11)
        admin.delete_topic(tp.topic)
        sent = consumer._core.metrics.commit_failed_total
        consumer.unsubscribe()
        assert consumer._core.metrics.commit_failed_total == sent + 1
        assert admin.group_offsets(other.topic)[other].offset == 1


class Slow:
    """A listener that does not come to its end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        self.begun.set()
        await asyncio.Event().wait()


@async_test
async def test_a_cancelled_unsubscribe_leaves_nothing_behind(broker: Broker, tp: TopicPartition) -> None:
    settings = {"group_id": tp.topic, "auto_offset_reset": "earliest", "enable_auto_commit": False, **QUICK}
    async with AsyncConsumer(bootstrap_servers=broker.address, **settings) as consumer:  # type: ignore[arg-type]  # of many types
        listener = Slow()
        await consumer.subscribe([tp.topic], listener)
        while not await consumer.poll(30):
            pass
        leaving = asyncio.create_task(consumer.unsubscribe())
        await listener.begun.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await asyncio.sleep(0)
        assert consumer.assignment() == consumer.subscription() == frozenset()
        await consumer.assign([tp])
        await consumer.seek(tp, 0)
        assert await consumer.poll(30)


@async_test
async def test_who_is_put_out_while_it_gives_back_hands_nothing_out(broker: Broker, tp: TopicPartition) -> None:
    """The group wants a partition back, the user does not come to its turn, and the membership ends over it."""
    settings = {"group_id": tp.topic, "auto_offset_reset": "earliest", "max_poll_records": 2, **QUICK}
    async with AsyncConsumer(bootstrap_servers=broker.address, **settings) as consumer:  # type: ignore[arg-type]  # of many types
        await consumer.subscribe([tp.topic])
        while not await consumer.poll(30):
            pass
        group = consumer._core.group
        for give in (group.revoke, group.lose):
            giving = asyncio.create_task(give([tp]))
            await asyncio.sleep(0)  # it waits for the user's turn
            group.hold_back()
            giving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await giving
            assert not await consumer.poll(0.3)
            assert await consumer.position(tp) == 2


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_that_nobody_answered_joins_when_somebody_does(protocol: str) -> None:
    (port,) = free_ports(1)
    settings = {"group_id": "g", "group_protocol": protocol, "default_api_timeout_ms": 500, "request_timeout_ms": 400}
    with Consumer(bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest", **settings) as consumer:  # type: ignore[arg-type]  # of many types
        consumer.subscribe(["t"])
        for _ in range(2):
            with pytest.raises(KafkaError):
                consumer.poll(30)
        with Broker(config={"listeners": f"PLAINTEXT://127.0.0.1:{port}"}) as late:
            late.create_topic("t")
            write(late, TopicPartition("t", 0), ["x"])
            assert take_at_last(consumer) == [b"x"]
            consumer.unsubscribe()


def take_at_last(consumer: Consumer) -> list[bytes]:
    """The first records; a try that is still under way may fail before."""
    while True:
        with suppress(KafkaError):
            if records := consumer.poll(30):
                return [record.value for record in records]


@async_test
async def test_a_subscription_that_is_taken_back_while_it_is_looked_up_joins_nothing(
    broker: Broker, tp: TopicPartition
) -> None:
    async with AsyncConsumer(bootstrap_servers=broker.address, group_id=tp.topic, **QUICK) as consumer:
        await consumer.subscribe([tp.topic])
        consumer._core.begin()
        await asyncio.sleep(0)  # the look-up has begun
        await consumer.unsubscribe()
        await consumer.assign([tp])
        await consumer.partitions_for(tp.topic)
        assert consumer._core.group.membership is None
        await consumer.commit({tp: 1})
