"""The log manager: directories, checkpoints, restarts, failures."""

from __future__ import annotations

import errno
import logging
import threading
from pathlib import Path

import pytest

from support.logs import batch, run_of
from support.managed_logs import TP, all_records, append, compact_config, open_manager
from tidelog.common.errors import StorageError
from tidelog.common.rng import seeded_rng
from tidelog.common.scheduler import TimerQueue
from tidelog.common.types import TopicPartition
from tidelog.log.config import LogConfig
from tidelog.log.directory.log_dir import LogDir, disk_error
from tidelog.log.directory.meta_properties import MetaProperties
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import delete_dir_name
from tidelog.testing.clock import ManualClock
from tidelog.testing.fs import FailingFileSystem, RecordingFileSystem, Survival
from tidelog.testing.fs_hooks import HookedFileSystem, Operation

CONFIG = LogConfig.from_topic({"internal.segment.bytes": 1000, "segment.index.bytes": 1200})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_new_partitions_go_where_the_fewest_are(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    manager = open_manager(a, b)
    places = [manager.create(TopicPartition("t", n), CONFIG).dir.parent for n in range(4)]
    assert places == [a, b, a, b]
    manager.delete(TopicPartition("t", 0))
    manager.delete(TopicPartition("t", 2))
    assert manager.create(TopicPartition("u", 0), CONFIG).dir.parent == a
    assert manager.create(TopicPartition("u", 1), CONFIG, dir=b).dir.parent == b
    assert manager.create(TopicPartition("u", 1), CONFIG) is manager.get(TopicPartition("u", 1))
    manager.shutdown()


def test_a_second_broker_is_kept_out(data: Path) -> None:
    manager = open_manager(data)
    with pytest.raises(StorageError, match="in use"):
        open_manager(data)
    manager.shutdown()
    open_manager(data).shutdown()


def with_records_deleted(data: Path) -> None:
    """A stop that was clean, of a log whose first records were deleted: only a checkpoint says so."""
    manager = open_manager(data)
    log = manager.create(TP, CONFIG)
    append(log, [(b"k", b"v")] * 3)
    log.advance_high_watermark(3)
    log.advance_log_start(2)
    manager.shutdown()


def test_a_start_that_was_cut_off_leaves_the_checkpoints_as_they_were(data: Path) -> None:
    with_records_deleted(data)
    cut_off = LogManager([data], clock=ManualClock())
    cut_off.open()
    cut_off.shutdown()
    log = open_manager(data).logs[TP]
    assert (log.log_start_offset, log.high_watermark) == (2, 3)


def test_a_broker_that_is_kept_out_writes_nothing(data: Path) -> None:
    with_records_deleted(data)
    manager = open_manager(data)
    refused = LogManager([data], clock=ManualClock())
    with pytest.raises(StorageError, match="in use"):
        refused.open()
    refused.shutdown()
    for directory in manager.dirs:
        directory.close()  # as if its process were killed now
    assert open_manager(data).logs[TP].log_start_offset == 2


def test_an_identity_is_written_once_and_checked(data: Path) -> None:
    manager = open_manager(data)
    manager.write_meta("cluster", 3)
    meta = manager.dirs[0].meta
    assert meta is not None
    manager.shutdown()
    again = open_manager(data)
    again.write_meta("cluster", 3)
    assert again.dirs[0].meta == meta
    with pytest.raises(StorageError, match="belongs to node 3"):
        again.write_meta("cluster", 4)
    with pytest.raises(StorageError, match="belongs to cluster cluster"):
        again.write_meta("other", 3)
    again.shutdown()


def test_the_zookeeper_form_of_the_identity(data: Path) -> None:
    manager = open_manager(data)
    manager.write_meta("cluster", 3, version=0)
    assert "broker.id=3" in (data / "meta.properties").read_text()
    manager.shutdown()
    again = open_manager(data)
    assert again.dirs[0].meta is not None
    assert (again.dirs[0].meta.version, again.dirs[0].meta.node_id) == (0, 3)
    again.shutdown()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version=2\n", "version 0 or 1"),
        ("version=1\nnode.id=1\n", "cluster.id"),
        ("version=1\nnode.id=x\ncluster.id=c\n", "number"),
        ("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=x\n", "directory.id"),
    ],
)
def test_a_malformed_identity_is_an_error(data: Path, text: str, message: str) -> None:
    data.mkdir()
    (data / "meta.properties").write_text(text)
    with pytest.raises(StorageError, match=message):
        open_manager(data)


def test_a_copied_directory_is_noticed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.properties").write_bytes(MetaProperties("c", 1, bytes(16)).encode())
    with pytest.raises(StorageError, match="copy"):
        open_manager(tmp_path / "a", tmp_path / "b")


def test_everything_is_there_after_a_clean_stop(data: Path) -> None:
    manager = open_manager(data, config=CONFIG)
    log = manager.create(TP, CONFIG, topic_id=bytes(range(16)))
    for n in range(50):
        append(log, [(b"%d" % n, b"x" * 50)])
    log.advance_log_start(7)
    manager.shutdown(broker_epoch=42)
    assert (data / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":42}\n'
    assert (data / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 0 50\n"
    assert (data / "log-start-offset-checkpoint").read_text() == "0\n1\norders 0 7\n"
    assert (data / "replication-offset-checkpoint").read_text() == "0\n1\norders 0 50\n"

    again = open_manager(data, config=CONFIG)
    assert again.dirs[0].was_clean
    assert again.dirs[0].broker_epoch == 42
    assert not (data / ".kafka_cleanshutdown").exists()
    log = again.logs[TP]
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (7, 50, 50)
    assert log.topic_id == bytes(range(16))
    assert [r.offset for r in all_records(log)] == list(range(7, 50))
    again.shutdown()


def test_an_unclean_stop_is_recovered_from_and_in_parallel(data: Path) -> None:
    manager = open_manager(data, config=CONFIG)
    for n in range(8):
        log = manager.create(TopicPartition("t", n), CONFIG)
        for _ in range(40):
            append(log, [(b"k", b"x" * 50)])
    manager.checkpoint()
    for directory in manager.dirs:
        directory.close()  # the process dies: no flush, no marker
    with (data / "t-3" / sorted(p.name for p in (data / "t-3").glob("*.log"))[-1]).open("ab") as torn:
        torn.write(b"\0" * 100)
    again = open_manager(data, config=CONFIG, num_recovery_threads_per_data_dir=4)
    assert not again.dirs[0].was_clean
    assert len(again.logs) == 8
    assert {log.log_end_offset for log in again.logs.values()} == {40}
    again.shutdown()


@pytest.mark.parametrize("content", ["", "0\n", "x", "0\n5\norders 0 1\n", "0\n1\norders zero 1\n", "9\n0\n", "\xff"])
@pytest.mark.parametrize(
    "name",
    ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint",
     "cleaner-offset-checkpoint"],
)  # fmt: skip
def test_unreadable_checkpoints_cost_time_but_no_data(data: Path, name: str, content: str) -> None:
    manager = open_manager(data, config=CONFIG)
    append(manager.create(TP, CONFIG), [(b"a", b"1")])
    manager.shutdown()
    (data / name).write_bytes(content.encode("latin-1"))
    logging.disable(logging.WARNING)
    try:
        again = open_manager(data, config=CONFIG)
    finally:
        logging.disable(logging.NOTSET)
    assert again.logs[TP].log_end_offset == 1
    again.cleaner.pick()
    again.shutdown()


def test_a_missing_checkpoint_is_no_problem(data: Path) -> None:
    manager = open_manager(data, config=CONFIG)
    append(manager.create(TP, CONFIG), [(b"a", b"1")])
    manager.shutdown()
    for path in data.glob("*-checkpoint"):
        path.unlink()
    again = open_manager(data, config=CONFIG)
    assert again.logs[TP].log_end_offset == 1
    again.shutdown()


def test_an_empty_marker_of_an_old_broker_counts(data: Path) -> None:
    open_manager(data).shutdown()
    (data / ".kafka_cleanshutdown").write_bytes(b"")
    again = open_manager(data)
    assert (again.dirs[0].was_clean, again.dirs[0].broker_epoch) == (True, -1)
    again.shutdown()


def test_a_deleted_partition_is_renamed_now_and_removed_later(data: Path) -> None:
    clock = ManualClock()
    manager = open_manager(data, clock=clock)
    log = manager.create(TP, CONFIG)
    append(log, [(b"a", b"1")])
    manager.checkpoint()
    assert manager.delete(TP)
    assert not manager.delete(TP)
    assert manager.get(TP) is None
    (renamed,) = data.glob("orders-0.*-delete")
    assert "orders" not in (data / "recovery-point-offset-checkpoint").read_text()
    fresh = manager.create(TP, CONFIG)  # the same name may come back at once
    assert fresh.log_end_offset == 0
    assert isinstance(manager.scheduler, TimerQueue)
    manager.scheduler.run_due()
    assert renamed.exists()
    clock.advance(61)
    manager.scheduler.run_due()
    assert not renamed.exists()
    manager.shutdown()


def test_leftovers_of_a_deletion_are_removed_after_a_start(data: Path) -> None:
    manager = open_manager(data)
    append(manager.create(TP, CONFIG), [(b"a", b"1")])
    manager.delete(TP)
    manager.shutdown()
    clock = ManualClock()
    again = open_manager(data, clock=clock)
    assert again.logs == {}
    clock.advance(61)
    assert isinstance(again.scheduler, TimerQueue)
    again.scheduler.run_due()
    assert not list(data.glob("*-delete"))
    again.shutdown()


def test_a_stray_replica_is_set_aside_and_stays(data: Path) -> None:
    manager = open_manager(data)
    append(manager.create(TP, CONFIG), [(b"a", b"1")])
    manager.mark_stray(TP)
    (path,) = data.glob("orders-0.*-stray")
    assert manager.stray == [path]
    manager.shutdown()
    again = open_manager(data)
    assert again.stray == [path]
    assert again.logs == {}
    again.shutdown()


def test_a_replica_moves_to_another_directory(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    manager = open_manager(a, b, config=compact_config())
    log = manager.create(TP, compact_config(), dir=a)
    append(log, [(b"a", b"1")])
    manager.dirs[0].write_cleaner_offsets({TP: 1})
    future = manager.create(TP, compact_config(), dir=b, future=True)
    assert future.is_future
    append(future, [(b"a", b"1")])
    manager.shutdown()

    again = open_manager(a, b, config=compact_config())
    assert again.logs[TP].dir.parent == a
    assert again.future[TP].dir.parent == b
    moved = again.replace_current_with_future(TP)
    assert moved.dir == b / "orders-0"
    assert again.logs == {TP: moved}
    assert again.dirs[0].cleaner_offsets() == {}
    assert again.dirs[1].cleaner_offsets() == {TP: 1}
    assert [r.offset for r in all_records(moved)] == [0]
    assert list(a.glob("orders-0.*-delete"))
    again.shutdown()


def test_a_partition_in_two_directories_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        manager = open_manager(tmp_path / name)
        manager.create(TP, CONFIG)
        manager.shutdown()
    with pytest.raises(StorageError, match="lies in"):
        open_manager(tmp_path / "a", tmp_path / "b")


def test_foreign_directories_are_left_alone(data: Path) -> None:
    (data / "lost+found").mkdir(parents=True)
    logging.disable(logging.WARNING)
    manager = open_manager(data)
    logging.disable(logging.NOTSET)
    assert manager.logs == {}
    manager.shutdown()
    assert (data / "lost+found").exists()


# --- failures -----------------------------------------------------------------------------------------------------


def two_dirs(tmp_path: Path) -> tuple[LogManager, FailingFileSystem, list[tuple[LogDir, list[TopicPartition]]]]:
    fs = FailingFileSystem()
    manager = open_manager(tmp_path / "a", tmp_path / "b", fs=fs, config=CONFIG)
    for n in range(4):
        append(manager.create(TopicPartition("t", n), CONFIG), [(b"a", b"1")])
    heard: list[tuple[LogDir, list[TopicPartition]]] = []
    manager.on_dir_failure(lambda directory, partitions: heard.append((directory, partitions)))
    return manager, fs, heard


def test_a_failed_flush_takes_one_directory_offline(tmp_path: Path) -> None:
    manager, fs, heard = two_dirs(tmp_path)
    fs.fail("sync", "/a/*.log", errno.EIO)
    for log in list(manager.all_logs()):
        log.update_config(LogConfig.from_topic({"flush.messages": 1}))
    tasks = [task for log in manager.flush_due() if (task := manager.flush_task(log)) is not None]
    assert len(tasks) == 4
    for task in tasks:
        task.run()
    for task in tasks:
        manager.flushed(task)
    assert [directory.path.name for directory in manager.offline_dirs] == ["a"]
    assert [(d.path.name, partitions) for d, partitions in heard] == [
        ("a", [TopicPartition("t", 0), TopicPartition("t", 2)])
    ]
    assert sorted(manager.logs) == [TopicPartition("t", 1), TopicPartition("t", 3)]
    assert {log.recovery_point for log in manager.logs.values()} == {1}
    assert manager.create(TopicPartition("t", 9), CONFIG).dir.parent.name == "b"
    manager.shutdown()
    assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()
    fs.heal()
    again = open_manager(tmp_path / "a", tmp_path / "b", config=CONFIG)
    assert len(again.logs) == 5
    again.shutdown()


def test_a_failed_append_names_the_disk_as_its_cause(tmp_path: Path) -> None:
    manager, fs, heard = two_dirs(tmp_path)
    fs.fail("write", "/a/*.log", errno.ENOSPC)
    log = manager.logs[TopicPartition("t", 0)]
    with pytest.raises(StorageError) as caught:
        append(log, [(b"a", b"1")])
    cause = disk_error(caught.value)
    assert cause is not None
    assert cause.errno == errno.ENOSPC
    manager.fail_dir(manager.dir_of(log), cause)
    manager.fail_dir(manager.dirs[0], cause)  # twice is once
    assert len(heard) == 1
    manager.shutdown()


def test_a_full_disk_during_a_checkpoint(tmp_path: Path) -> None:
    manager, fs, heard = two_dirs(tmp_path)
    fs.fail("write", "/a/*checkpoint.tmp", errno.ENOSPC)
    manager.checkpoint()
    assert [directory.path.name for directory, _ in heard] == ["a"]
    manager.shutdown()


def test_a_directory_that_cannot_be_read_at_the_start(tmp_path: Path) -> None:
    manager, fs, _ = two_dirs(tmp_path)
    manager.shutdown()
    fs.heal()
    fs.fail("read", "/b/recovery-point-offset-checkpoint", errno.EIO)
    again = open_manager(tmp_path / "a", tmp_path / "b", fs=fs, config=CONFIG)
    assert [directory.path.name for directory in again.offline_dirs] == ["b"]
    assert len(again.logs) == 2
    again.shutdown()


def test_no_usable_directory_is_an_error(tmp_path: Path) -> None:
    fs = FailingFileSystem()
    fs.fail("mkdir", "*", errno.EROFS)
    with pytest.raises(StorageError, match="no log directory is usable"):
        open_manager(tmp_path / "a" / "x", fs=fs)


# --- what recurs --------------------------------------------------------------------------------------------------


def flush_due(manager: LogManager) -> None:
    (log,) = manager.flush_due()
    task = manager.flush_task(log)
    assert task is not None
    task.run()
    manager.flushed(task)


def test_flush_by_count_and_by_time(data: Path) -> None:
    clock = ManualClock()
    manager = open_manager(data, clock=clock)
    by_count = manager.create(TopicPartition("c", 0), LogConfig.from_topic({"flush.messages": 3}))
    by_time = manager.create(TopicPartition("t", 0), LogConfig.from_topic({"flush.ms": 500}))
    append(by_count, [(b"a", b"1")] * 2)
    append(by_time, [(b"a", b"1")])
    assert manager.flush_due() == []
    append(by_count, [(b"a", b"1")])
    flush_due(manager)
    assert (by_count.recovery_point, by_time.recovery_point) == (3, 0)
    clock.advance(0.5)
    flush_due(manager)
    assert by_time.recovery_point == 1
    assert manager.flush_due() == []
    manager.shutdown()


def test_retention_passes_over_what_is_being_cleaned(data: Path) -> None:
    clock = ManualClock()
    manager = open_manager(data, clock=clock)
    log = manager.create(TP, compact_config(cleanup_policy="compact,delete", retention_ms=1000))
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll()
    clock.advance(2)
    append(log, [(b"a", b"3")])
    job = manager.cleaner.pick()
    assert job is not None
    assert manager.run_retention() == 0
    rewriter = manager.cleaner.new_rewriter()
    while not job.finished:
        job.run(rewriter)
        job.apply()
    manager.cleaner.done(job)
    assert manager.run_retention() == 1
    manager.shutdown()


def test_many_partitions_are_deleted_with_one_write_of_the_checkpoints(data: Path) -> None:
    fs = FailingFileSystem()
    manager = open_manager(data, fs=fs)
    partitions = [TopicPartition("t", n) for n in range(20)]
    for tp in partitions:
        manager.create(tp, CONFIG)
    written = fs.written
    assert manager.delete_many([*partitions, TopicPartition("nothing", 0)]) == partitions
    assert fs.written - written < 100
    assert manager.logs == {}
    assert len(list(data.glob("*-delete"))) == 20
    manager.shutdown()


def test_of_two_snapshots_the_later_one_wins_whoever_is_faster(data: Path) -> None:
    manager = open_manager(data)
    log = manager.create(TP, CONFIG)
    (early,) = manager.checkpoint_tasks()
    append(log, [(b"a", b"1")])
    log.flush()
    manager.checkpoint()
    early.run()  # a slow thread
    manager.checkpointed(early)
    assert manager.dirs[0].recovery_points() == {TP: 1}
    (marks,) = manager.checkpoint_tasks(high_watermarks_only=True)
    assert list(marks.snapshot.files) == ["replication-offset-checkpoint"]
    manager.shutdown()


def test_producers_expire_by_the_brokers_key(data: Path) -> None:
    clock = ManualClock()
    defaults = {"producer.id.expiration.ms": 5000}
    manager = LogManager([data], defaults, clock=clock, rng=seeded_rng(1))
    manager.open()
    manager.load()
    config = LogConfig.from_topic({})
    log = manager.create(TopicPartition("t", 0), config)
    log.append_as_leader(run_of(batch(producer_id=9, epoch=0, sequence=0, timestamp=clock.time_ms())), 0)
    clock.advance(4)
    assert log.producers.expire(clock.time_ms()) == 0
    manager.shutdown()
    again = LogManager([data], defaults, clock=clock, rng=seeded_rng(1))
    again.open()
    again.load(lambda topic: config)
    clock.advance(2)
    assert again.logs[TopicPartition("t", 0)].producers.expire(clock.time_ms()) == 1
    again.shutdown()


def test_an_unclean_stop_is_one_line_in_the_log(data: Path, caplog):
    manager = open_manager(data)
    for index in range(5):
        append(manager.create(TopicPartition("t", index), CONFIG), [(b"k", b"v")])
    for directory in manager.dirs:
        directory.close()  # the process dies
    caplog.clear()
    with caplog.at_level("INFO"):
        open_manager(data).shutdown()
    assert len(caplog.messages) == 1
    assert f"recovered 5 partitions of {data} after an unclean stop" in caplog.messages[0]


def kill(manager: LogManager) -> None:
    """End without a word."""
    for log in manager.all_logs():
        log.release()
    for directory in manager.dirs:
        directory.close()


def test_a_crash_in_a_deletion_leaves_nothing_to_a_later_log_of_that_name(data: Path) -> None:
    """Its checkpoints were not written any more: the next log of that name ends below the start that they name."""
    manager = open_manager(data)
    log = manager.create(TP, CONFIG)
    for _ in range(10):
        append(log, [(b"old", b"x")])
    log.flush()
    log.advance_log_start(7)
    manager.checkpoint()
    log.rename(delete_dir_name(TP, "0" * 32))
    kill(manager)
    manager = open_manager(data)
    log = manager.create(TP, CONFIG)
    append(log, [(b"new", b"y")])
    log.flush()
    kill(manager)
    manager = open_manager(data)
    assert [record.key for record in all_records(manager.logs[TP])] == [b"new"]
    assert manager.logs[TP].log_start_offset == 0
    manager.shutdown()


def test_a_log_that_is_set_aside_leaves_nothing_to_the_next(data: Path) -> None:
    manager = open_manager(data)
    log = manager.create(TP, CONFIG, topic_id=b"a" * 16)
    for _ in range(10):
        append(log, [(b"old", b"x")])
    log.advance_log_start(7)
    manager.shutdown()
    manager = LogManager([data], clock=ManualClock(), rng=seeded_rng(5))
    manager.open()
    manager.load(topic_ids={TP.topic: b"b" * 16})
    append(manager.create(TP, CONFIG, topic_id=b"b" * 16), [(b"new", b"y")])
    kill(manager)
    manager = open_manager(data)
    assert [record.key for record in all_records(manager.logs[TP])] == [b"new"]
    manager.shutdown()


def test_a_topic_id_that_a_directory_is_given_survives_a_clean_stop(data: Path, tmp_path: Path) -> None:
    manager = open_manager(data)
    append(manager.create(TP, CONFIG), [(b"a", b"1")])  # made before topic ids
    manager.shutdown()
    disk = RecordingFileSystem(data)
    manager = open_manager(data, fs=disk)
    manager.logs[TP].assign_topic_id(b"a" * 16)
    manager.shutdown()
    *_, last = disk.crashes()
    last.materialise(Survival.SYNCED, tmp_path / "found")
    manager = open_manager(tmp_path / "found")
    assert manager.dirs[0].was_clean
    assert manager.logs[TP].topic_id == b"a" * 16
    manager.shutdown()


class SlowRename(HookedFileSystem):
    """A copy's directory has its new name; who renamed it hears of that when a sync has twice looked for the old."""

    def __init__(self) -> None:
        super().__init__()
        self.renamed, self.told = threading.Event(), threading.Event()
        self.looked = 0
        self.synced: set[str] = set()

    def before(self, operation: Operation) -> None:
        if operation.kind == "open" and self.renamed.is_set() and "-future" in str(operation.path):
            self.looked += 1
            if self.looked > 1:
                self.told.set()

    def after(self, operation: Operation) -> None:
        if operation.kind == "sync":
            self.synced.add(operation.path.suffix)
        if operation.kind == "rename" and operation.path.name.endswith("-future"):
            self.renamed.set()
            self.told.wait(20)


@pytest.mark.parametrize("unsynced", [".log", ".snapshot"])
def test_a_sync_follows_a_directory_that_is_being_renamed(tmp_path: Path, unsynced: str) -> None:
    disk = SlowRename()
    manager = open_manager(tmp_path / "a", tmp_path / "b", fs=disk)
    manager.create(TP, CONFIG, dir=tmp_path / "a")
    copy = manager.create(TP, CONFIG, dir=tmp_path / "b", future=True)
    append(copy, [(b"a", b"1")])
    if unsynced == ".snapshot":
        copy.flush()
        copy.producers.take_snapshot()
    task = manager.flush_task(copy)
    assert task is not None
    copy.release()  # so that its files are opened anew
    disk.synced.clear()

    def sync() -> None:
        disk.renamed.wait(20)
        task.run()
        disk.told.set()

    thread = threading.Thread(target=sync)
    thread.start()
    manager.replace_current_with_future(TP)
    thread.join()
    assert disk.looked
    assert unsynced in disk.synced
    manager.flushed(task)
    assert task.error is None
    assert not manager.offline_dirs
    manager.shutdown()


@pytest.mark.parametrize("started", ["now", "before"])
def test_a_disk_that_fails_to_remove_old_segments_goes_offline(tmp_path: Path, started: str) -> None:
    disk, clock = FailingFileSystem(), ManualClock()
    config = LogConfig.from_topic({"retention.ms": 1000})

    def begin() -> LogManager:
        return open_manager(tmp_path / "a", tmp_path / "b", fs=disk, clock=clock, config=config)

    manager = begin()
    logs = [manager.create(TopicPartition("t", number), config) for number in range(2)]
    for log in logs:
        append(log, [(b"a", b"1")])
    if started == "before":
        manager.shutdown()
        manager = begin()
    clock.advance(2)
    assert manager.run_retention() == 2
    disk.fail("unlink", f"{logs[0].dir.parent.name}/t-0/*.deleted")
    clock.advance(61)
    assert isinstance(manager.scheduler, TimerQueue)
    manager.scheduler.run_due()
    assert [directory.path for directory in manager.offline_dirs] == [logs[0].dir.parent]
    assert not list(logs[1].dir.glob("*.deleted"))
    append(manager.logs[TopicPartition("t", 1)], [(b"b", b"2")])
    manager.shutdown()
