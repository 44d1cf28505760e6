"""The power fails at every write, rename and sync: of appends, rolls, flushes, retention, compaction, checkpoints.

Nothing that was acknowledged as flushed is lost, nothing torn is served, and every start succeeds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.crash import SURVIVALS, Promise, Scenario, check_all_crashes
from support.managed_logs import TP, append, batches_of, compact_config, end_transaction
from tidelog.common.scheduler import TimerQueue
from tidelog.log.config import LogConfig
from tidelog.log.manager import closing
from tidelog.log.manager.manager import LogManager
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.testing.fs import PowerLoss


def config(**settings: object) -> LogConfig:
    values: dict[str, object] = {
        "internal.segment.bytes": 300,
        "segment.index.bytes": 120,
        "index.interval.bytes": 64,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    return LogConfig.from_topic(values)


def test_append_roll_and_flush(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "disk", config())
    for number in range(12):
        append(scenario.log, [(b"%d" % number, b"x" * 20)])
        if number % 3 == 2:
            scenario.flush()
    assert len(scenario.log.segments) > 2
    assert check_all_crashes(scenario, tmp_path / "crashes") > 100


def test_checkpoints_and_a_clean_stop(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "disk", config())
    for number in range(6):
        append(scenario.log, [(b"%d" % number, b"x" * 20)])
        if number % 2:
            scenario.flush()
            scenario.manager.checkpoint()
    append(scenario.log, [(b"last", b"y")])
    scenario.stop()
    check_all_crashes(scenario, tmp_path / "crashes")


def transact(log: PartitionLog, rounds: int, *, first: int = 0) -> None:
    """Transactions of two producers side by side, every other one aborted; a third one's stays open."""
    for number in range(first, first + rounds):
        append(log, [(b"a%d" % number, b"x" * 20)], producer_id=1, sequence=number, transactional=True)
        append(log, [(b"b%d" % number, b"x" * 20)], producer_id=2, sequence=number, transactional=True)
        end_transaction(log, 1, committed=number % 2 == 0)
        end_transaction(log, 2, committed=number % 3 == 0)
    append(log, [(b"c%d" % first, b"open")], producer_id=3, sequence=0 if not first else 1, transactional=True)


#: How the stop syncs: a few logs file by file, many by one sync of the file system.
FILE_BY_FILE, ALL_AT_ONCE = 200, 1


@pytest.mark.parametrize("bulk", [FILE_BY_FILE, ALL_AT_ONCE])
def test_a_clean_stop_with_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk: int) -> None:
    monkeypatch.setattr(closing, "BULK", bulk)
    scenario = Scenario(tmp_path / "disk", config())
    transact(scenario.log, 2)
    assert len(scenario.log.segments) > 2
    stopping = len(scenario.fs.journal)
    scenario.stop()
    assert scenario.promised.state is not None
    assert scenario.promised.state.aborted
    check_all_crashes(scenario, tmp_path / "crashes", since=stopping)


@pytest.mark.parametrize(
    ("bulk", "flushed", "appended"),
    [(FILE_BY_FILE, False, False), (ALL_AT_ONCE, False, False), (FILE_BY_FILE, True, False), (ALL_AT_ONCE, True, True)],
)
def test_killed_recovered_stopped_and_then_the_power_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk: int, flushed: bool, appended: bool
) -> None:
    monkeypatch.setattr(closing, "BULK", bulk)
    scenario = Scenario(tmp_path / "disk", config())
    transact(scenario.log, 2)
    if flushed:
        scenario.flush()
        scenario.manager.checkpoint()
    scenario.log.assign_epoch(1, scenario.log.log_end_offset)
    transact(scenario.log, 1, first=2)
    killed = len(scenario.fs.journal)
    scenario.kill()
    assert not scenario.manager.dirs[0].was_clean
    scenario.manager.checkpoint()
    if appended:
        append(scenario.log, [(b"one more", b"y")])
    scenario.stop()
    check_all_crashes(scenario, tmp_path / "crashes", since=killed)


@pytest.mark.parametrize("bulk", [FILE_BY_FILE, ALL_AT_ONCE])
def test_the_epoch_of_a_log_that_was_flushed_before_its_first_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk: int
) -> None:
    """An empty log has no file of epochs; what lies below the recovery point can no longer be read off the batches."""
    monkeypatch.setattr(closing, "BULK", bulk)
    scenario = Scenario(tmp_path / "disk", config())
    scenario.log.assign_epoch(0, 0)
    scenario.flush()
    scenario.manager.checkpoint()
    append(scenario.log, [(b"a", b"x")])
    scenario.flush()
    scenario.manager.checkpoint()
    scenario.stop()
    assert scenario.promised.state is not None
    assert scenario.promised.state.epochs == ((0, 0),)
    check_all_crashes(scenario, tmp_path / "crashes")


def test_a_log_that_was_flushed_ended_and_never_written_to_again(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "disk", config())
    append(scenario.log, [(b"a", b"x" * 200)], producer_id=1, sequence=0, transactional=True)
    scenario.flush()
    scenario.manager.checkpoint()
    scenario.log.roll()  # the flushed segment's indexes are cut behind the recovery point
    scenario.manager.checkpoint()
    scenario.kill()
    scenario.stop()
    check_all_crashes(scenario, tmp_path / "crashes")


def test_a_start_after_a_crash_may_crash_again(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "disk", config())
    for number in range(8):
        append(scenario.log, [(b"%d" % number, b"x" * 30)])
    scenario.flush()
    scenario.manager.checkpoint()
    append(scenario.log, [(b"unflushed", b"x" * 30)])
    scenario.kill()  # recovery itself is recorded
    assert not scenario.manager.dirs[0].was_clean
    scenario.stop()
    check_all_crashes(scenario, tmp_path / "crashes")


def test_retention(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "disk", config(retention_ms=1000))
    for number in range(10):
        append(scenario.log, [(b"%d" % number, b"x" * 20)])
    scenario.flush()
    scenario.manager.checkpoint()
    scenario.clock.advance(2)
    append(scenario.log, [(b"new", b"x")])
    end = scenario.log.log_end_offset
    scenario.promise(Promise(scenario.log.recovery_point, end))  # from now on, all may go
    assert scenario.manager.run_retention() > 0
    scenario.flush()
    scenario.manager.checkpoint()
    scenario.clock.advance(61)
    assert isinstance(scenario.manager.scheduler, TimerQueue)
    scenario.manager.scheduler.run_due()
    check_all_crashes(scenario, tmp_path / "crashes")


def test_retention_of_all_there_is(tmp_path: Path) -> None:
    """The log is empty then, but for what it knows: where it goes on."""
    scenario = Scenario(tmp_path / "disk", config(retention_ms=1000))
    for number in range(10):
        append(scenario.log, [(b"%d" % number, b"x" * 20)])
    scenario.flush()
    scenario.manager.checkpoint()
    scenario.clock.advance(2)
    end = scenario.log.log_end_offset
    scenario.promise(Promise(end, end))
    before = len(scenario.fs.journal)
    assert scenario.manager.run_retention() > 0
    assert scenario.log.log_start_offset == end
    more = tuple(PowerLoss(seed) for seed in range(3, 12))
    check_all_crashes(scenario, tmp_path / "crashes", (*SURVIVALS, *more), since=before)


def test_delete_records_and_truncation(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "disk", config())
    for number in range(10):
        append(scenario.log, [(b"%d" % number, b"x" * 20)])
    scenario.flush()
    scenario.promise(Promise(5, 0))  # what lies behind may be cut from now on
    scenario.log.truncate_to(5)
    scenario.manager.checkpoint()
    append(scenario.log, [(b"other", b"y" * 30)])
    scenario.flush()
    scenario.promise(Promise(scenario.log.recovery_point, 3))
    scenario.log.advance_log_start(3)
    scenario.manager.checkpoint()
    check_all_crashes(scenario, tmp_path / "crashes")


def test_deleting_a_partition(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "disk", config())
    append(scenario.log, [(b"a", b"x")])
    scenario.flush()
    scenario.promise(Promise())
    scenario.manager.delete(TP)
    scenario.clock.advance(61)
    assert isinstance(scenario.manager.scheduler, TimerQueue)
    scenario.manager.scheduler.run_due()
    scenario.manager.shutdown()
    check_all_crashes(scenario, tmp_path / "crashes")


def table_of(log: PartitionLog) -> dict[bytes, bytes]:
    table: dict[bytes, bytes] = {}
    for batch in batches_of(log):
        if not batch.is_control:
            table.update((r.key, r.value) for r in batch.records() if r.key is not None and r.value is not None)
    return table


@pytest.mark.parametrize("groups", [1, 2])
def test_compaction(tmp_path: Path, groups: int) -> None:
    scenario = Scenario(tmp_path / "disk", compact_config(internal_segment_bytes=2000 if groups == 1 else 350))
    log = scenario.log
    for number in range(16):
        append(log, [(b"%d" % (number % 5), b"v%d" % number), (b"k%d" % (number % 3), b"w%d" % number)])
        if number % 4 == 3:
            log.roll()
    scenario.flush()
    scenario.manager.checkpoint()
    table = table_of(log)
    scenario.promise(Promise(log.recovery_point, 0, table))
    before = len(scenario.fs.journal)
    rewriter = scenario.manager.cleaner.new_rewriter()
    passes = 0
    while scenario.manager.cleaner.clean_one(rewriter) is not None:
        passes += 1
    assert passes
    kinds = {operation.kind for operation in scenario.fs.journal[before:]}
    assert {"rename", "sync", "sync_dir", "write", "create"} <= kinds
    scenario.clock.advance(61)
    assert isinstance(scenario.manager.scheduler, TimerQueue)
    scenario.manager.scheduler.run_due()
    scenario.manager.shutdown()

    def no_leftovers(manager: LogManager, opened: PartitionLog) -> None:
        names = [path.name for path in opened.dir.iterdir()]
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))], names

    assert check_all_crashes(scenario, tmp_path / "crashes", also=no_leftovers) > 200


def test_compaction_of_transactions(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "disk", compact_config(internal_segment_bytes=2000))
    log = scenario.log
    append(log, [(b"a", b"committed"), (b"b", b"1")])
    append(log, [(b"a", b"aborted")], producer_id=1, sequence=0, transactional=True)
    end_transaction(log, 1, committed=False)
    append(log, [(b"b", b"2")], producer_id=2, sequence=0, transactional=True)
    end_transaction(log, 2, committed=True)
    log.roll()
    log.flush()
    scenario.manager.checkpoint()
    scenario.promise(Promise(log.recovery_point, 0, {b"b": b"2"}))
    scenario.manager.cleaner.clean_one(scenario.manager.cleaner.new_rewriter())
    scenario.manager.shutdown()

    def aborted_stays_hidden(manager: LogManager, opened: PartitionLog) -> None:
        aborted = [r.offset for b in batches_of(opened) for r in b.records() if r.value == b"aborted"]
        if aborted and opened.last_stable_offset > aborted[0]:  # otherwise it is open, and hidden by that
            transactions = opened.aborted_transactions(0, opened.log_end_offset)
            assert [t.first_offset for t in transactions] == aborted
        if any(batch.producer_id == 2 for batch in batches_of(opened)):
            assert opened.producers.entries[2].last_sequence == 0

    check_all_crashes(scenario, tmp_path / "crashes", also=aborted_stays_hidden)
