"""Disks that are full or broken where no record is written: snapshots, checkpoints, the store.

A log directory that cannot keep what belongs to its logs goes offline and takes nothing with it; a store that cannot be
written to is the end of the broker, as nobody knows any more what it holds.
"""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from support.disks import broker_on, create, log_of, write
from support.loop import async_test
from tidelog.broker.server import Broker
from tidelog.broker.store.local import FILE_NAME
from tidelog.common.errors import ErrorCode, KafkaError, StorageError, TidelogError
from tidelog.common.types import TopicPartition
from tidelog.testing.fs import FailingFileSystem

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
HALF_A_SEGMENT = bytes(600 << 10)


async def two_partitions(broker: Broker) -> tuple[TopicPartition, TopicPartition]:
    """One in each directory; the one in the second, which does not hold the store, comes first."""
    await create(broker, "t", 2, {"segment.bytes": str(1 << 20)})
    first = broker.log_manager.dirs[0].path
    assert log_of(broker, T0).dir.parent != log_of(broker, T1).dir.parent
    return (T1, T0) if log_of(broker, T0).dir.parent == first else (T0, T1)


async def check_only_that_directory_is_offline(broker: Broker, lost: TopicPartition, kept: TopicPartition) -> None:
    assert [directory.path.name for directory in broker.log_manager.offline_dirs] == ["b"]
    assert broker.replicas.partition_or_error(lost) is ErrorCode.KAFKA_STORAGE_ERROR
    end = log_of(broker, kept).log_end_offset
    assert await write(broker, kept, [b"goes on"]) == end + 1
    await create(broker, "u")
    assert broker.failure is None


@async_test
async def test_no_room_for_a_producer_snapshot(tmp_path: Path) -> None:
    """A roll writes one: the append that wanted a new segment fails, and is not acknowledged."""
    disk = FailingFileSystem()
    async with broker_on(tmp_path / "a", tmp_path / "b", fs=disk) as broker:
        lost, kept = await two_partitions(broker)
        await write(broker, lost, [HALF_A_SEGMENT])
        disk.fail("write", "/b/*.snapshot", errno.ENOSPC)
        with pytest.raises(StorageError):
            await write(broker, lost, [HALF_A_SEGMENT])
        await check_only_that_directory_is_offline(broker, lost, kept)


@pytest.mark.parametrize("file", ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"])
@async_test
async def test_no_room_for_a_checkpoint(tmp_path: Path, file: str) -> None:
    disk = FailingFileSystem()
    async with broker_on(tmp_path / "a", tmp_path / "b", fs=disk) as broker:
        lost, kept = await two_partitions(broker)
        await write(broker, lost, [b"1"])
        disk.fail("write", f"/b/{file}.tmp", errno.ENOSPC)
        broker.log_manager.checkpoint()
        await check_only_that_directory_is_offline(broker, lost, kept)


@async_test
async def test_no_room_for_leader_epochs(tmp_path: Path) -> None:
    """They are written by the flush of their log."""
    disk = FailingFileSystem()
    async with broker_on(tmp_path / "a", tmp_path / "b", fs=disk) as broker:
        lost, kept = await two_partitions(broker)
        await write(broker, lost, [b"1"])
        disk.fail("write", "/b/*/leader-epoch-checkpoint.tmp", errno.ENOSPC)
        await broker.replicas.flusher.flush(log_of(broker, lost))
        await check_only_that_directory_is_offline(broker, lost, kept)


def break_files(path: Path) -> None:
    """Let every write to these files fail: their descriptors lead to something that is open for reading."""
    descriptors = [fd for fd in Path("/proc/self/fd").iterdir() if os.path.realpath(fd).startswith(str(path))]
    assert descriptors
    dead = os.open(os.devnull, os.O_RDONLY)
    for fd in descriptors:
        os.dup2(dead, int(fd.name))
    os.close(dead)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds the store's descriptors in /proc")
@async_test
async def test_a_store_that_cannot_be_written_to_ends_the_broker(tmp_path: Path) -> None:
    broker = broker_on(tmp_path)
    await broker.start()
    await create(broker, "t", 2)
    break_files(tmp_path / FILE_NAME)
    with pytest.raises((KafkaError, TidelogError)):
        await create(broker, "u")
    assert broker.failure is not None
    await asyncio.wait_for(broker.wait_ended(), 60)
    assert "u" not in broker.metadata.topics
    await broker.stop()
