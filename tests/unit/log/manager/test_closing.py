"""The stop of many logs: synced by several threads at a time, or all at once; all before the marker of a clean stop."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.crash import ScratchFileSystem
from support.managed_logs import append, open_manager
from tidelog.common.fs import FileSystem, LocalFileSystem, Volume
from tidelog.common.scheduler import TimerQueue
from tidelog.common.types import TopicPartition
from tidelog.log.manager import closing
from tidelog.log.manager.closing import CLOSING_THREADS
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import LEADER_EPOCH_FILE, PARTITION_METADATA_FILE
from tidelog.testing.clock import ManualClock
from tidelog.testing.fs import FailingFileSystem
from tidelog.testing.fs_hooks import HookedFileSystem, Operation

SHM = Path("/dev/shm")


class WatchedDisk(HookedFileSystem):
    """Lets a sync of a segment go on only when as many others have come as there shall be threads."""

    def __init__(self) -> None:
        super().__init__()
        self.meeting = threading.Barrier(CLOSING_THREADS)
        self.closing = False
        self.synced: list[Path] = []

    def before(self, operation: Operation) -> None:
        if self.closing and operation.kind == "sync" and operation.path.suffix == ".log":
            self.meeting.wait(20)

    def after(self, operation: Operation) -> None:
        if self.closing and operation.kind in ("sync", "sync_dir"):
            self.synced.append(operation.path)


def test_logs_are_closed_side_by_side_and_everything_new_is_synced(tmp_path: Path) -> None:
    disk = WatchedDisk()
    manager = open_manager(tmp_path / "data", fs=disk)
    logs = [
        manager.create(TopicPartition("orders", number), manager.config_of(), topic_id=bytes(range(16)))
        for number in range(2 * CLOSING_THREADS)
    ]
    for log in logs:
        append(log, [(b"k", b"v")])
    disk.closing = True
    manager.shutdown()
    for log in logs:
        of_log = [path for path in disk.synced if path == log.dir or path.parent == log.dir]
        names = {path.name.removesuffix(".tmp") for path in of_log}
        assert {PARTITION_METADATA_FILE, LEADER_EPOCH_FILE, log.dir.name} <= names
        assert {path.suffix for path in of_log} >= {".log", ".index", ".timeindex", ".snapshot"}
        assert max(map(disk.synced.index, of_log)) < len(disk.synced) - 1, "the marker comes last"
    assert tmp_path / "data" in disk.synced


class CountedDisk(FailingFileSystem):
    """Counts what is asked of it; can be one that cannot be synced as a whole."""

    def __init__(self, *, whole: bool = True, inner: FileSystem | None = None) -> None:
        super().__init__(inner or ScratchFileSystem())
        self.whole = whole
        self.done: list[Operation] = []

    def after(self, operation: Operation) -> None:
        super().after(operation)
        self.done.append(operation)

    def volume(self, path: Path) -> Volume | None:
        return super().volume(path) if self.whole else None


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "BULK", 20)


def many_logs(tmp_path: Path, disk: CountedDisk) -> LogManager:
    manager = open_manager(tmp_path / "data", fs=disk)
    for number in range(20):
        log = manager.create(TopicPartition("t", number), manager.config_of(), topic_id=bytes(range(16)))
        log.assign_epoch(0, 0)
        append(log, [(b"k", b"v")])
    disk.done.clear()
    return manager


@pytest.mark.usefixtures("few_are_many")
def test_many_logs_are_synced_at_once(tmp_path: Path) -> None:
    disk = CountedDisk()
    manager = many_logs(tmp_path, disk)
    manager.shutdown()
    kinds = [operation.kind for operation in disk.done]
    assert kinds.count("sync_fs") == 2, "the bytes, and then the names of what has to be replaced in one step"
    last = len(kinds) - 1 - kinds[::-1].index("sync_fs")
    assert "sync" not in kinds[:last]
    assert "sync_dir" not in kinds[:last]
    assert {operation.path.parent for operation in disk.done[last + 1 :]} <= {tmp_path, tmp_path / "data"}
    for log in manager.logs.values():
        assert (log.dir / LEADER_EPOCH_FILE).read_text() == "0\n1\n0 0\n"
        assert (log.dir / "00000000000000000000.index").stat().st_size == 0
    assert len(manager.files) == 0
    again = open_manager(tmp_path / "data", fs=disk)
    assert again.dirs[0].was_clean
    disk.done.clear()
    again.shutdown()
    assert "sync_fs" not in {operation.kind for operation in disk.done}, "nothing has changed"


@pytest.mark.usefixtures("few_are_many")
def test_of_empty_logs_nothing_is_written_even_after_a_kill(tmp_path: Path) -> None:
    disk = CountedDisk()
    manager = open_manager(tmp_path / "data", fs=disk)
    for number in range(20):
        manager.create(TopicPartition("t", number), manager.config_of(), topic_id=bytes(range(16)))
    for directory in manager.dirs:
        directory.close()  # and that is all: it was killed
    again = open_manager(tmp_path / "data", fs=disk)
    for log in again.logs.values():
        log.assign_epoch(0, 0)
    disk.done.clear()
    again.shutdown()
    kinds = [operation.kind for operation in disk.done]
    assert kinds.count("sync_fs") == 1, "no names wait for bytes"
    assert not [operation for operation in disk.done if operation.path.parent.parent == tmp_path / "data"]
    assert open_manager(tmp_path / "data").dirs[0].was_clean


@pytest.mark.usefixtures("few_are_many")
def test_a_disk_that_cannot_be_synced_whole_is_synced_file_by_file(tmp_path: Path) -> None:
    disk = CountedDisk(whole=False)
    manager = many_logs(tmp_path, disk)
    manager.shutdown()
    synced = {operation.path.parent.name for operation in disk.done if operation.kind == "sync"}
    assert {log.dir.name for log in manager.logs.values()} <= synced
    assert open_manager(tmp_path / "data").dirs[0].was_clean


@pytest.mark.usefixtures("few_are_many")
def test_no_stop_is_clean_whose_sync_failed(tmp_path: Path) -> None:
    disk = CountedDisk()
    manager = many_logs(tmp_path, disk)
    disk.fail("sync_fs", times=1)
    manager.shutdown()
    assert manager.offline_dirs
    assert not (tmp_path / "data" / ".kafka_cleanshutdown").exists()


@pytest.mark.usefixtures("few_are_many")
def test_a_directory_on_another_disk_is_synced_by_itself(tmp_path: Path) -> None:
    if not SHM.is_dir() or SHM.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    with TemporaryDirectory(dir=SHM) as elsewhere:
        disk = CountedDisk(inner=LocalFileSystem())
        manager = many_logs(tmp_path, disk)
        manager.shutdown()
        away, here = Path(elsewhere) / "t-7", tmp_path / "data" / "t-7"
        shutil.move(here, away)
        here.symlink_to(away)
        manager = open_manager(tmp_path / "data", fs=disk, clock=(clock := ManualClock()))
        for log in manager.logs.values():
            append(log, [(b"k", b"v")])
        disk.done.clear()
        manager.shutdown()
        synced = {operation.path for operation in disk.done if operation.kind in ("sync", "sync_dir")}
        assert {path.parent for path in synced if path.suffix == ".log"} == {here}
        assert here in synced
        assert "sync_fs" in {operation.kind for operation in disk.done}
        manager = open_manager(tmp_path / "data", fs=disk, clock=clock)
        assert manager.dirs[0].was_clean
        assert manager.logs[TopicPartition("t", 7)].log_end_offset == 2
        manager.delete(TopicPartition("t", 7))  # and it can be deleted as any other
        clock.advance(61)
        assert isinstance(manager.scheduler, TimerQueue)
        manager.scheduler.run_due()
        assert not manager.offline_dirs
        assert not list(away.iterdir())
        assert not list((tmp_path / "data").glob("t-7*"))
        manager.shutdown()
