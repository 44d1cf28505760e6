"""Moves between log directories: what is copied, and what a deletion, a failed disk or a restart makes of it."""

from __future__ import annotations

import asyncio
import errno
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.disks import SLOW, broker_on, create, leftovers, log_of, move, other_dir, write
from support.loop import async_test, until
from support.managed_logs import all_records
from tidelog.broker.config.endpoints import Endpoint
from tidelog.broker.replication import movers
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.log.segment.file_slice import FileSlice
from tidelog.testing.fs import FailingFileSystem
from tidelog.testing.fs_hooks import HookedFileSystem, Operation

T = TopicPartition("t", 0)
OLD, NEW = [b"old %d" % n for n in range(500)], [b"new 0", b"new 1"]


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return [tmp_path / "a", tmp_path / "b"]


def values_of(broker: Broker, tp: TopicPartition = T) -> list[bytes | None]:
    return [record.value for record in all_records(log_of(broker, tp))]


async def moved(broker: Broker, tp: TopicPartition = T) -> None:
    target = move(broker, tp)
    await until(lambda: log_of(broker, tp).dir.parent == target.path)


@async_test
async def test_a_deleted_topics_copy_is_not_the_next_topics_data(dirs: list[Path]) -> None:
    async with broker_on(*dirs, **SLOW) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        move(broker, T)
        await until(lambda: broker.log_manager.future[T].log_end_offset == 500)
        await write(broker, T, OLD)  # so that the move is not complete
        await broker.controller.delete_topics(["t"])
        assert not broker.log_manager.future
        assert not leftovers(*dirs)
        await create(broker, "t")
        await write(broker, T, NEW)
    async with broker_on(*dirs) as broker:
        assert values_of(broker) == NEW
        await moved(broker)
        assert values_of(broker) == NEW


@pytest.mark.parametrize("says", ["whose it is", "nothing"])
@async_test
async def test_a_copy_of_another_topic_of_that_name_is_not_resumed(dirs: list[Path], tmp_path: Path, says: str) -> None:
    """The manager sets aside what says that it is another topic's; what says nothing may be anybody's."""
    async with broker_on(*dirs, **SLOW) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        target = move(broker, T).path
        await until(lambda: broker.log_manager.future[T].log_end_offset == 500)
        copy = broker.log_manager.future[T].dir
        await write(broker, T, OLD)
    shutil.copytree(copy, tmp_path / "kept")
    if says == "nothing":
        (tmp_path / "kept" / "partition.metadata").unlink()
    async with broker_on(*dirs) as broker:
        await broker.controller.delete_topics(["t"])
        await create(broker, "t")
        await write(broker, T, NEW)
        here = log_of(broker, T).dir.parent
    # A disk that was away while the topic was deleted comes back.
    shutil.move(tmp_path / "kept", (dirs[1] if here == dirs[0] else dirs[0]) / copy.name)
    assert target in dirs
    async with broker_on(*dirs) as broker:
        assert not broker.log_manager.future
        assert not leftovers(*dirs)
        assert values_of(broker) == NEW


@async_test
async def test_a_log_of_another_topic_of_that_name_is_set_aside(dirs: list[Path], tmp_path: Path) -> None:
    async with broker_on(*dirs) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        here = log_of(broker, T).dir
    shutil.copytree(here, tmp_path / "kept")
    async with broker_on(*dirs) as broker:
        await broker.controller.delete_topics(["t"])
        await create(broker, "t")
        await write(broker, T, NEW)
        lies = log_of(broker, T).dir.parent
    other = dirs[1] if lies == dirs[0] else dirs[0]
    shutil.move(tmp_path / "kept", other / "t-0")
    async with broker_on(*dirs) as broker:
        assert values_of(broker) == NEW
    assert len(leftovers(*dirs)) == 1, "the operator decides about records that nobody asked to delete"


def slow_disk(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """A gate at which the read of the first old record waits, and whether somebody is there."""
    gate, reading = threading.Event(), threading.Event()
    read = movers._read

    def slowly(piece: FileSlice) -> bytes:
        data = read(piece)
        if b"old 0" in data:
            reading.set()
            gate.wait(60)
        return data

    monkeypatch.setattr(movers, "_read", slowly)
    return gate, reading


@async_test
async def test_a_move_does_not_go_on_in_the_next_topic(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The old move waits for its disk while the topic is deleted, made again, and moved as well."""
    gate, reading = slow_disk(monkeypatch)
    async with broker_on(*dirs) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        move(broker, T)
        await until(reading.is_set)
        await broker.controller.delete_topics(["t"])
        await create(broker, "t")
        try:
            await write(broker, T, NEW)
            await moved(broker)
        finally:
            gate.set()
        await until(lambda: not broker.log_manager.cleaner.is_busy(T))
        assert values_of(broker) == NEW
        assert not broker.log_manager.future


@async_test
async def test_a_move_does_not_end_the_next_topics_move(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """As before, but the next topic's move is under way: its copy is not what the old move has made."""
    gate, reading = slow_disk(monkeypatch)
    async with broker_on(*dirs, **SLOW) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        move(broker, T)
        (old,) = broker.movers._tasks.values()
        try:
            await until(reading.is_set)
            await broker.controller.delete_topics(["t"])
            await create(broker, "t")
            await write(broker, T, NEW)
            move(broker, T)
            present, copy = log_of(broker, T), broker.log_manager.future[T]
            await until(lambda: copy.log_end_offset == len(NEW))
            await write(broker, T, NEW)  # what the copy does not have yet
            broker.config.apply_dynamic({}, {"replica.alter.log.dirs.io.max.bytes.per.second": str(1 << 40)})
        finally:
            gate.set()
        await until(old.done)
        assert log_of(broker, T) is present
        assert broker.log_manager.future[T] is copy
        assert values_of(broker) == NEW + NEW


@async_test
async def test_a_moved_log_has_what_is_set_from_outside(dirs: list[Path]) -> None:
    async with broker_on(*dirs, **SLOW) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        assert log_of(broker, T).verifications.required
        guard = log_of(broker, T).start_verification(7, 0, 0)
        move(broker, T)
        await broker.controller.change_topic_config("t", lambda _: {"max.message.bytes": "12345"})
        assert broker.log_manager.future[T].config.max_message_bytes != 12345
        before = log_of(broker, T)
        broker.config.apply_dynamic({}, {"replica.alter.log.dirs.io.max.bytes.per.second": str(1 << 40)})
        broker.movers._cancel(T)
        broker.movers.resume()
        await until(lambda: log_of(broker, T) is not before)
        log = log_of(broker, T)
        assert log.verifications.required
        assert log.verifications.accepts(7, guard)
        assert log.config.max_message_bytes == 12345
        assert log.leader_epochs.entries == before.leader_epochs.entries


@async_test
async def test_a_move_to_a_failing_disk_leaves_the_partition_as_it_was(dirs: list[Path]) -> None:
    disk = FailingFileSystem()
    async with broker_on(*dirs, fs=disk) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        target = other_dir(broker, T)
        disk.fail("rename", "-future", errno.EIO)
        move(broker, T)
        await until(lambda: not target.online)
        await until(lambda: not broker.movers._tasks)
        assert broker.replicas.partition_or_error(T) is broker.replicas.partition(T)
        await write(broker, T, NEW)
        assert values_of(broker) == OLD + NEW
        assert broker.failure is None


@async_test
async def test_a_copy_takes_over_no_less_durable_than_the_log_was(dirs: list[Path]) -> None:
    async with broker_on(*dirs) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)  # whether it is synced is not always known: after a crash it may be
        await moved(broker)
        assert log_of(broker, T).recovery_point == 500


@pytest.mark.parametrize("later", ["copy", "present log"])
@async_test
async def test_a_partition_in_both_directories_is_settled_at_the_start(dirs: list[Path], later: str) -> None:
    """A crash between the two renames of a move, and then a power loss that took the tail of one of them."""
    async with broker_on(*dirs) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        here = log_of(broker, T).dir
        there = other_dir(broker, T).path / "t-0"
        if later == "copy":
            log_of(broker, T).flush()
            shutil.copytree(here, there)
            await write(broker, T, NEW)
        else:
            await write(broker, T, NEW)
    if later == "present log":
        shutil.copytree(here, there)
    async with broker_on(*dirs) as broker:
        assert values_of(broker) == OLD + NEW
        assert len(broker.log_manager.logs) == 1
        await write(broker, T, NEW)
    assert [path.name for directory in dirs for path in directory.iterdir() if path.name == "t-0"] == ["t-0"]
    async with broker_on(*dirs) as broker:
        assert values_of(broker) == OLD + NEW + NEW


@async_test
async def test_a_partition_of_an_offline_directory_is_not_made_anew(dirs: list[Path]) -> None:
    async with broker_on(*dirs) as broker:
        for name in ("t", "u"):
            await create(broker, name)
        await write(broker, T, OLD)
        here = log_of(broker, T).dir
    disk = FailingFileSystem()
    disk.fail("read", f"/{here.parent.name}/recovery-point-offset-checkpoint", errno.EIO)
    async with broker_on(*dirs, fs=disk) as broker:
        assert [directory.path for directory in broker.log_manager.offline_dirs] == [here.parent]
        assert broker.replicas.partition_or_error(T) is ErrorCode.KAFKA_STORAGE_ERROR
        assert broker.replicas.partition(TopicPartition("u", 0)) is not None
        await create(broker, "v")  # a new topic has nothing to lose
        assert broker.replicas.partition(TopicPartition("v", 0)) is not None
    async with broker_on(*dirs) as broker:
        assert values_of(broker) == OLD


@async_test
async def test_a_copy_that_has_more_than_the_log_is_cut(dirs: list[Path], tmp_path: Path) -> None:
    """A power loss took the present log's last records, which were not flushed; others were written since."""
    async with broker_on(*dirs, **SLOW) as broker:
        await create(broker, "t")
        await write(broker, T, OLD[:10])
        here = log_of(broker, T).dir
    shutil.copytree(here, tmp_path / "before")
    async with broker_on(*dirs, **SLOW) as broker:
        await write(broker, T, OLD[10:20])
        move(broker, T)
        await until(lambda: broker.log_manager.future[T].log_end_offset == 20)
        await write(broker, T, OLD[20:30])
    shutil.rmtree(here)
    shutil.move(tmp_path / "before", here)
    for directory in dirs:
        (directory / ".kafka_cleanshutdown").unlink()
    async with broker_on(*dirs) as broker:
        await write(broker, T, NEW)
        await until(lambda: not broker.log_manager.future)
        assert log_of(broker, T).dir != here
        assert values_of(broker) == OLD[:10] + NEW


@async_test
async def test_moves_end_with_the_broker(dirs: list[Path]) -> None:
    async with broker_on(*dirs, **SLOW) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        move(broker, T)
        await until(lambda: broker.log_manager.future[T].log_end_offset == 500)
        await write(broker, T, NEW)
    async with broker_on(*dirs) as broker:
        await until(lambda: not broker.movers._tasks)
        await asyncio.sleep(0)
        assert not leftovers(*dirs)
        assert values_of(broker) == OLD + NEW


class StuckSync(HookedFileSystem):
    """The first sync of a copy takes as long as the broker's stop waits for it, and fails."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may_end, self.closing = threading.Event(), threading.Event(), threading.Event()
        self.order: list[str] = []

    def before(self, operation: Operation) -> None:
        if operation.kind == "sync" and operation.path.match("*-future/*.log") and not self.begun.is_set():
            self.begun.set()
            self.may_end.wait(60)
            self.closing.wait(1)
            self.order.append("failed")
            raise OSError(errno.EIO, "the disk failed", str(operation.path))


@async_test
async def test_a_stop_waits_for_the_sync_of_a_copy(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails, and a second sync would not: the kernel tells it once."""
    disk = StuckSync()
    async with broker_on(*dirs, fs=disk) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        manager, flusher = broker.log_manager, broker.replicas.flusher
        shutdown, stop = manager.shutdown, flusher.stop

        async def stopping() -> None:
            disk.may_end.set()
            await stop()

        def closing(broker_epoch: int = -1) -> None:
            disk.closing.set()
            disk.order.append("closed")
            shutdown(broker_epoch)

        monkeypatch.setattr(manager, "shutdown", closing)
        monkeypatch.setattr(flusher, "stop", stopping)
        target = move(broker, T)
        await until(disk.begun.is_set)
    assert disk.order == ["failed", "closed"]
    assert not target.online
    assert not (target.path / ".kafka_cleanshutdown").exists(), "nobody may vouch for the copy"


class AskedEarly(Broker):
    """Whose first request comes while it registers: its listeners are open by then."""

    async def _register(self, endpoints: Sequence[Endpoint]) -> None:
        partition = self.replicas.partition(T)
        if partition is not None:
            self.services.of("cluster").move_replica(partition, other_dir(self, T))
            assert T in self.log_manager.future
        await super()._register(endpoints)


@async_test
async def test_a_move_may_be_asked_for_before_the_start_is_over(dirs: list[Path]) -> None:
    config = {"log.dirs": ",".join(map(str, dirs)), "listeners": "PLAINTEXT://127.0.0.1:0"}
    async with AskedEarly(config) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        before = log_of(broker, T).dir.parent
    async with AskedEarly(config) as broker:
        await until(lambda: log_of(broker, T).dir.parent != before)
        assert values_of(broker) == OLD
        await until(lambda: not broker.movers._tasks)


@async_test
async def test_a_move_that_is_taken_back_before_its_first_step_leaves_the_log_to_cleaner_and_retention(
    dirs: list[Path],
) -> None:
    """Two requests that a client has pipelined: there, and back, within one turn of the event loop."""
    async with broker_on(*dirs) as broker:
        await create(broker, "t")
        await write(broker, T, OLD)
        partition = broker.replicas.partition(T)
        assert partition is not None
        here = broker.log_manager.dir_of(partition.log)
        move(broker, T)
        broker.movers.move(partition, here)
        assert broker.log_manager.cleaner.is_busy(T)  # until the task has ended
        await until(lambda: not broker.log_manager.cleaner.is_busy(T))
        assert not leftovers(*dirs)
        await moved(broker)
        await until(lambda: not broker.log_manager.cleaner.is_busy(T))
