"""Index pages: had before they are touched, and mapped without write permission once nobody writes them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from support.managed_logs import TP, append, open_manager
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.errors import StorageError
from tidelog.common.fs import FileSystem
from tidelog.log.config import LogConfig
from tidelog.log.directory.log_dir import disk_error
from tidelog.log.manager.manager import LogManager
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.segment._index import OffsetIndex, TimeIndex
from tidelog.log.segment.file_budget import FileBudget
from tidelog.log.segment.home import Home
from tidelog.testing.fs import FailingFileSystem

#: An entry of each index per batch.
DENSE = LogConfig.from_topic({"index.interval.bytes": 0, "segment.index.bytes": 1 << 16})


def home(path: Path, fs: FileSystem) -> Home:
    return Home(path, fs, SYSTEM_CLOCK, FileBudget(4))


def fill(log: PartitionLog, batches: int) -> None:
    """Append small batches, each with a later time than the one before."""
    start = log.log_end_offset
    for number in range(start, start + batches):
        append(log, [(b"k", b"v")], timestamp=number)


@pytest.mark.parametrize("closed_in_between", [False, True])
def test_every_page_is_reserved_before_its_first_entry(tmp_path: Path, closed_in_between: bool) -> None:
    disk = FailingFileSystem()  # touching another page is a BusError
    offsets = OffsetIndex(home(tmp_path, disk), 0, 1 << 20)
    times = TimeIndex(home(tmp_path, disk), 0, 1 << 20)
    offsets.create()
    times.create()
    for number in range(1, 12_000):
        assert offsets.append(number, number)
        assert times.maybe_append(number, number)
        if closed_in_between and number % 341 == 0:  # the budget took the file
            offsets.close()
            times.close()
    offsets.sync()
    times.sync()
    offsets.finish()
    times.finish()
    assert (tmp_path / "00000000000000000000.index").stat().st_size == 11_999 * 8
    assert (tmp_path / "00000000000000000000.timeindex").stat().st_size == 11_999 * 12


def test_an_index_without_room_is_an_error_of_the_disk(tmp_path: Path) -> None:
    disk = FailingFileSystem(capacity=3 * 4096)
    index = OffsetIndex(home(tmp_path, disk), 0, 1 << 20)
    index.create()

    def fill() -> None:
        for number in range(1, 12_000):
            index.append(number, number)

    with pytest.raises(OSError, match="No space left"):
        fill()
    known = index.entries
    assert 511 < known < 1536
    assert index.lookup(10**9) == (known, known)  # what is there can still be read
    disk.heal()
    assert index.append(12_000, 12_000)
    index.finish()


def test_an_append_whose_index_entry_has_no_room_fails(tmp_path: Path) -> None:
    """Small batches, so that the pages of the indexes run out first."""
    disk = FailingFileSystem()
    manager = open_manager(tmp_path, fs=disk, config=DENSE)
    log = manager.create(TP, DENSE)
    fill(log, 10)
    disk.fail("reserve", "*.timeindex", errno.ENOSPC)
    with pytest.raises(StorageError, match="No space left") as caught:
        fill(log, 2000)
    acknowledged = log.log_end_offset
    cause = disk_error(caught.value)
    assert cause is not None
    manager.fail_dir(manager.dirs[0], cause)
    manager.shutdown()
    disk.heal()
    again = open_manager(tmp_path, fs=disk, config=DENSE)
    assert again.logs[TP].log_end_offset >= acknowledged
    append(again.logs[TP], [(b"k", b"v")])
    again.shutdown()


def test_recovery_reserves_what_it_rebuilds(tmp_path: Path) -> None:
    manager = open_manager(tmp_path, config=DENSE)
    log = manager.create(TP, DENSE)
    fill(log, 1500)
    log.release()
    manager.dirs[0].close()
    full = FailingFileSystem()
    full.fail("reserve", "*.index", errno.ENOSPC)
    failing = LogManager([tmp_path], fs=full)
    failing.open()
    with pytest.raises(StorageError, match="No space left"):
        failing.load(lambda topic: DENSE)
    failing.shutdown()
    again = open_manager(tmp_path, fs=FailingFileSystem(), config=DENSE)
    assert again.logs[TP].log_end_offset == 1500
    again.shutdown()


def permissions(path: Path) -> set[str]:
    """How this process has mapped a file."""
    with open("/proc/self/maps") as maps:
        return {line.split()[1] for line in maps if line.rstrip().endswith(str(path))}


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs Linux' /proc")
def test_indexes_of_closed_segments_are_mapped_to_be_read(tmp_path: Path) -> None:
    manager = open_manager(tmp_path, config=DENSE)
    log = manager.create(TP, DENSE)
    fill(log, 3)
    closed = log.active_segment
    assert permissions(closed.offset_index.path) == permissions(closed.time_index.path) == {"rw-s"}
    log.roll()
    fill(log, 2)
    assert permissions(closed.offset_index.path) == permissions(closed.time_index.path) == {"r--s"}
    assert permissions(log.active_segment.offset_index.path) == {"rw-s"}
    closed.offset_index.close()  # the budget took it
    assert closed.offset_index.lookup(2)[0] == 2
    assert permissions(closed.offset_index.path) == {"r--s"}
    manager.shutdown()

    again = open_manager(tmp_path, config=DENSE)
    log = again.logs[TP]
    first, active = log.segments[0], log.active_segment
    for segment in (first, active):
        segment.offset_index.lookup(10)
        assert permissions(segment.offset_index.path) == {"r--s"}, "nobody has written to it yet"
    fill(log, 2)
    assert permissions(active.offset_index.path) == {"rw-s"}
    assert permissions(first.offset_index.path) == {"r--s"}
    again.shutdown()
