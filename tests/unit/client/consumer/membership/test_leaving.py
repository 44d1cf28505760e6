"""A consumer that goes while its group gathers members: the coordinator holds its JoinGroup, and is told at once."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from support.patience import eventually
from tidelog import Admin, Consumer, aio
from tidelog.testing import Broker

#: Longer than anybody who says good-bye waits for an answer.
GATHERING = {"group.initial.rebalance.delay.ms": "600000"}


def members(admin: Admin) -> int:
    """How many the group has; none, if it does not exist yet."""
    return sum(len(group.members) for group in admin.describe_consumer_groups(["seats"]).ok.values())


def test_a_consumer_that_joins_leaves_at_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "tidelog.client.consumer")
    with Broker(config=GATHERING) as broker, Admin(bootstrap_servers=broker.address) as admin:
        broker.create_topic("orders")
        consumer = Consumer(bootstrap_servers=broker.address, group_id="seats")
        consumer.subscribe(["orders"])
        consumer.poll(timeout=0)
        eventually(lambda: members(admin), (1).__eq__)
        consumer.close()
        assert members(admin) == 0
    assert "was not told" not in caplog.text


def test_also_on_the_callers_loop(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "tidelog.client.consumer")

    async def come_and_go(address: str) -> int:
        async with aio.Admin(bootstrap_servers=address) as admin:

            async def count() -> int:
                groups = await admin.describe_consumer_groups(["seats"])
                return sum(len(group.members) for group in groups.ok.values())

            async with aio.Consumer(bootstrap_servers=address, group_id="seats") as consumer:
                await consumer.subscribe(["orders"])
                while await count() == 0:
                    await consumer.poll(timeout=0.01)
            return await count()

    with Broker(config=GATHERING) as broker:
        broker.create_topic("orders")
        assert asyncio.run(come_and_go(broker.address)) == 0
    assert "was not told" not in caplog.text


def test_no_socket_is_left_by_those_who_go_while_they_connect() -> None:
    """Each goes a little later than the one before, about when it makes its connection to the coordinator."""
    with Broker(config=GATHERING) as broker, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for number in range(100):
            settings = {"bootstrap.servers": broker.address, "group.id": "brief", "allow.auto.create.topics": False}
            with Consumer(settings) as consumer:
                consumer.subscribe(["nothing"])
                while not consumer.health().missing:
                    consumer.poll(timeout=0.001 * (number % 7))
        gc.collect()
    assert [str(warning.message) for warning in seen if warning.category is ResourceWarning] == []
