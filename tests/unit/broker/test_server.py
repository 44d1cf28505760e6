"""The composition root: a dead background task ends the broker, identity is kept, a lost store is fatal."""

from __future__ import annotations

import asyncio
import errno
import logging
import sqlite3

import pytest

from support.disks import broker_on, create, write
from support.loop import async_test
from tidelog.broker.logging_setup import check_level, level_name, loggers, set_level
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode, KafkaError, StorageError, TidelogError, UsageError
from tidelog.common.types import TopicPartition
from tidelog.testing.fs import FailingFileSystem

QUIET = {"listeners": "PLAINTEXT://127.0.0.1:0"}


def values(tmp_path, **more):
    return {**QUIET, "log.dirs": str(tmp_path), **{name.replace("_", "."): value for name, value in more.items()}}


def test_a_loop_that_cannot_carry_connections_is_refused(tmp_path):
    async def main() -> None:
        with pytest.raises(UsageError, match=r"uvloop\.run\(main\(\)\), not asyncio\.run"):
            await Broker(values(tmp_path / "data")).start()
        assert not (tmp_path / "data").exists()

    asyncio.run(main())


@async_test
async def test_a_background_task_that_dies_ends_the_broker(tmp_path, caplog):
    async with Broker(values(tmp_path)) as broker:

        async def die() -> None:
            raise RuntimeError("out of luck")

        broker.supervisor.spawn("doomed", die())
        await asyncio.wait_for(broker.wait_ended(), 60)
        assert isinstance(broker.failure, RuntimeError)
        assert "cannot go on" in caplog.text


@async_test
async def test_a_lost_store_ends_the_broker(tmp_path):
    broker = Broker(values(tmp_path))
    await broker.start()
    broker._own_store._write = lambda batch: sqlite3.OperationalError("disk I/O error")
    with pytest.raises(TidelogError, match="disk I/O error"):
        await broker.store.create("/x")
    await asyncio.wait_for(broker.wait_ended(), 60)
    assert broker.failure is not None
    await broker.stop()


@async_test
async def test_a_full_store_fails_one_change_and_the_broker_serves_on(tmp_path):
    broker = broker_on(tmp_path)
    await broker.start()
    await create(broker, "before")
    connection = broker._own_store._connection
    pages = connection.execute("pragma page_count").fetchone()[0]
    connection.execute(f"pragma max_page_count = {pages}")
    with pytest.raises(KafkaError, match="no room") as caught:
        await create(broker, "large", 2000)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.failure is None
    assert "large" not in broker.metadata.topics
    assert not list(tmp_path.glob("large-*"))
    await write(broker, TopicPartition("before", 0), [b"1"])
    connection.execute("pragma max_page_count = 1000000")
    await create(broker, "large", 100)
    await broker.stop()
    async with broker_on(tmp_path) as again:
        assert {"before", "large"} <= again.metadata.topics.keys()
        assert len(again.metadata.topics["large"].partitions) == 100


@async_test
async def test_a_broker_without_a_log_directory_ends(tmp_path):
    disk = FailingFileSystem()
    broker = broker_on(tmp_path / "a", tmp_path / "b", fs=disk)
    await broker.start()
    await create(broker, "t", 2)
    disk.fail("write", "*.log", errno.ENOSPC)
    for number, offline in enumerate((1, 2)):
        assert broker.failure is None
        with pytest.raises(StorageError):
            await write(broker, TopicPartition("t", number), [b"1"])
        assert len(broker.log_manager.offline_dirs) == offline
    assert "every log directory has failed" in str(broker.failure)
    await asyncio.wait_for(broker.wait_ended(), 60)
    await broker.stop()


@async_test
async def test_identity_is_kept_and_checked(tmp_path):
    async with Broker(values(tmp_path, node_id="5")) as broker:
        assert broker.node_id == 5
        cluster_id = broker.metadata.cluster_id
    async with Broker(values(tmp_path)) as broker:
        assert (broker.node_id, broker.metadata.cluster_id) == (5, cluster_id)
    with pytest.raises(StorageError, match="belongs to node 5"):
        await Broker(values(tmp_path, node_id="6")).start()


@async_test
async def test_the_controller_epoch_rises_with_every_start(tmp_path):
    for expected in (1, 2):
        async with Broker(values(tmp_path)) as broker:
            assert broker.controller.epoch == expected
            assert broker.metadata.controller_id == broker.node_id


@async_test
async def test_dynamic_configs_survive_a_restart(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.entity_configs.change(
            "/config/brokers/1", lambda _: {"log.retention.ms": "77"}, lambda _: None
        )
    async with Broker(values(tmp_path)) as broker:
        assert broker.config.retention_ms == 77


@async_test
async def test_producer_ids_come_from_blocks_and_never_repeat(tmp_path):
    seen: set[int] = set()
    for _ in range(2):
        async with Broker(values(tmp_path)) as broker:
            ids = [await broker.producer_ids.next() for _ in range(1001)]
            assert len(set(ids)) == 1001
            assert not seen & set(ids)
            seen.update(ids)
            block = await broker.controller.allocate_producer_ids()
            assert block.first > max(ids)


@async_test
async def test_an_unfinished_deletion_is_finished_at_the_next_start(tmp_path):
    from tidelog.broker.controller.topic_plans import NewTopic

    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("doomed", 2, 1), NewTopic("kept", 1, 1)])
        await broker.store.create("/admin/delete_topics/doomed")
    async with Broker(values(tmp_path)) as broker:
        assert list(broker.metadata.topics) == ["kept"]
        assert await broker.store.exists("/brokers/topics/doomed") is None
        assert await broker.store.children("/admin/delete_topics") == []
        assert not (tmp_path / "doomed-0").exists()


@async_test
async def test_the_in_sync_set_is_changed_by_compare_and_set(tmp_path):
    from tidelog.broker.controller.topic_plans import NewTopic
    from tidelog.common.types import TopicPartition

    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("t", 1, 1)])
        tp = TopicPartition("t", 0)
        state = broker.metadata.partition(tp)
        after = await broker.controller.alter_isr(
            tp, leader_epoch=state.leader_epoch, isr=(1,), partition_epoch=state.partition_epoch
        )
        assert after.partition_epoch == state.partition_epoch + 1
        with pytest.raises(KafkaError, match="INVALID_UPDATE_VERSION"):
            await broker.controller.alter_isr(
                tp, leader_epoch=state.leader_epoch, isr=(1,), partition_epoch=state.partition_epoch
            )
        with pytest.raises(KafkaError, match="FENCED_LEADER_EPOCH"):
            await broker.controller.alter_isr(tp, leader_epoch=9, isr=(1,), partition_epoch=after.partition_epoch)


def test_levels_have_kafkas_names():
    assert level_name(logging.WARNING) == "WARN"
    assert level_name(logging.CRITICAL) == "FATAL"
    assert level_name(1) == "TRACE"
    logging.getLogger("tidelog.some.place")
    set_level("tidelog.some.place", "TRACE")
    assert loggers()["tidelog.some.place"] == "TRACE"
    set_level("tidelog.some.place", None)
    with pytest.raises(KafkaError):
        check_level("tidelog.some.place", "NOISY")
    with pytest.raises(KafkaError):
        check_level("tidelog.never.heard.of", "INFO")


@async_test
async def test_an_unclean_stop_gives_a_new_leader_epoch_and_a_clean_one_does_not(tmp_path):
    from tidelog.broker.controller.topic_plans import NewTopic
    from tidelog.common.types import TopicPartition

    tp = TopicPartition("t", 0)
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("t", 1, 1)])
    async with Broker(values(tmp_path)) as broker:
        assert broker.metadata.partition(tp).leader_epoch == 0
    (tmp_path / ".kafka_cleanshutdown").unlink()
    async with Broker(values(tmp_path)) as broker:
        assert broker.metadata.partition(tp).leader_epoch == 1
        assert broker.replicas.partition(tp).leader_epoch == 1


@async_test
async def test_cleaner_keys_reach_the_cleaner(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        changed = broker.config.apply_dynamic({"log.cleaner.dedupe.buffer.size": "5000000"}, {})
        broker.dynamic_configs.broker_changed(changed)
        assert broker.log_manager.cleaner.config.dedupe_buffer_size == 5_000_000
