"""Cleaning by compaction: 000 日志清理/日志压缩, 004 日志清理."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.logs import records_of
from support.managed_logs import TP, all_records, append, compact_config, latest_values, open_manager
from tidelog.log.manager.manager import LogManager
from tidelog.log.partition.partition_log import PartitionLog


@pytest.fixture
def manager(tmp_path: Path) -> LogManager:
    return open_manager(tmp_path)


def clean(manager: LogManager, log: PartitionLog) -> None:
    """Close the active segment, which is never cleaned, and clean the rest."""
    log.roll()
    assert manager.cleaner.clean_one(manager.cleaner.new_rewriter()) is not None


def test_only_the_last_value_of_each_key_stays(manager: LogManager) -> None:
    """000 日志清理 2: of the values of one key, only the last version is kept."""
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"a", b"3")])
    clean(manager, log)
    assert [(record.key, record.value) for record in all_records(log)] == [(b"b", b"1"), (b"c", b"1"), (b"a", b"3")]


def test_offsets_stay_as_they_were_written_with_gaps_between(manager: LogManager) -> None:
    """000 日志压缩: a message keeps its offset; afterwards offsets are no longer contiguous."""
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"b", b"2"), (b"c", b"1")])
    before = {record.offset: record.value for record in all_records(log)}
    clean(manager, log)
    after = {record.offset: record.value for record in all_records(log)}
    assert list(after) == [2, 3, 4]
    assert all(before[offset] == value for offset, value in after.items())
    assert log.log_end_offset == 5


def test_reading_goes_on_behind_the_gaps(manager: LogManager) -> None:
    """000 日志压缩: the gaps do not disturb look-ups: reading from a removed offset finds the next that is there."""
    log = manager.create(TP, compact_config())
    for number in range(40):
        append(log, [(b"%d" % (number % 4), b"%d" % number)])
    clean(manager, log)
    assert [record.offset for record in records_of(log, 7)] == [36, 37, 38, 39]
    assert records_of(log, 38)[0].value == b"38"


def test_new_files_take_the_place_of_the_old(manager: LogManager) -> None:
    """000 日志压缩: cleaning makes new segment files, in which messages lie at new positions."""
    log = manager.create(TP, compact_config())
    for number in range(60):
        append(log, [(b"same", b"%d" % number)])
    path = log.segments[0].data.path
    inode, size = path.stat().st_ino, log.size
    clean(manager, log)
    assert path.stat().st_ino != inode
    assert log.size < size / 10
    result = log.read(59, 1000)
    assert result.slice is not None
    assert result.slice.position == 0
    result.slice.release()


def test_a_state_is_rebuilt_from_less(manager: LogManager) -> None:
    """000 日志压缩: an application that keeps its state in the log finds the same state, reading much less."""
    log = manager.create(TP, compact_config())
    for number in range(50):
        append(log, [(b"account-%d" % (number % 5), b"balance %d" % number)])
    append(log, [(b"account-0", None)])
    history = all_records(log)
    clean(manager, log)
    kept = all_records(log)
    assert latest_values(kept) == latest_values(history)
    assert len(kept) == 5
    assert len(history) == 51
