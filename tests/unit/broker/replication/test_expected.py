"""Partitions of a large new topic: the first are made at once, the others when asked for or in passing."""

from __future__ import annotations

import asyncio

from support.loop import async_test
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.replication.control_requests import AT_ONCE
from tidelog.broker.server import Broker
from tidelog.common.types import GROUP_METADATA_TOPIC, TopicPartition

COUNT = AT_ONCE + 400
LAST = TopicPartition("large", COUNT - 1)


def values(tmp_path):
    return {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}


async def all_made(broker: Broker, topic: str, count: int) -> None:
    changed = asyncio.Event()
    broker.replicas.on_change(changed.set)
    async with asyncio.timeout(20):
        while len(broker.replicas.topic(topic)) < count:
            changed.clear()
            await changed.wait()


@async_test
async def test_one_that_is_asked_for_is_made_at_once(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("large", COUNT, 1)])
        assert len(broker.replicas.topic("large")) < COUNT
        assert not (tmp_path / str(LAST)).exists()
        partition = broker.replicas.leader_or_error(LAST)
        assert partition.is_leader
        assert partition.log.dir == tmp_path / str(LAST)
        assert broker.replicas.partition(LAST) is partition


@async_test
async def test_the_others_follow_by_themselves(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("large", COUNT, 1)])
        await all_made(broker, "large", COUNT)
        assert all((tmp_path / f"large-{number}").is_dir() for number in range(COUNT))
        await broker.controller.create_partitions("large", 2 * COUNT, None)
        await all_made(broker, "large", 2 * COUNT)


@async_test
async def test_a_topic_deleted_before_they_are_made_leaves_nothing(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("large", COUNT, 1)])
        await broker.controller.delete_topics(["large"])
        assert broker.replicas.partition(LAST) is None
        await broker.controller.create_topics([NewTopic("small", 1, 1)])
        assert not (tmp_path / str(LAST)).exists()


@async_test
async def test_a_stop_in_between_is_made_up_for_at_the_next_start(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("large", COUNT, 1)])
    assert not (tmp_path / str(LAST)).exists()
    async with Broker(values(tmp_path)) as broker:
        assert len(broker.replicas.topic("large")) == COUNT
        assert (tmp_path / str(LAST)).is_dir()


@async_test
async def test_an_internal_topic_is_made_as_a_whole(tmp_path):
    count = AT_ONCE + 10
    async with Broker({**values(tmp_path), "offsets.topic.num.partitions": str(count)}) as broker:
        await broker.controller.ensure_topic(GROUP_METADATA_TOPIC)
        assert len(broker.replicas.topic(GROUP_METADATA_TOPIC)) == count
