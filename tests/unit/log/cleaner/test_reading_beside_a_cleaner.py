"""Reading a directory while its owner compacts it, and after he died in the middle of that: no record is missed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.managed_logs import TP, append, compact_config, latest_values, open_manager
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import INDEX, LOG, SWAP, file_name
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.reading.reader import LogDirectory, PartitionReader
from tidelog.log.reading.segment_arrow import ArrowSegmentReader
from tidelog.log.reading.segment_walk import SegmentWalk
from tidelog.records.format.batch import Record
from tidelog.testing.clock import ManualClock
from tidelog.testing.fs_hooks import HookedFileSystem, Operation


class Watched(HookedFileSystem):
    """Calls `look` after every change of a name."""

    look: Callable[[], None] = staticmethod(lambda: None)

    def after(self, operation: Operation) -> None:
        if operation.kind == "rename":
            self.look()


def filled(home: Path, fs: FileSystem = LOCAL_FS) -> tuple[LogManager, PartitionLog]:
    """Three hundred records of thirty keys in many segments, of which compaction makes fewer."""
    clock = ManualClock(1_000_000)
    manager = open_manager(home, fs=fs, clock=clock)
    log = manager.create(TP, compact_config())
    for n in range(300):
        append(log, [(b"%d" % (n % 30), b"value-%d" % n)])
        clock.advance(1)
    log.roll()
    assert len(log.segments) > 10
    return manager, log


def compact(manager: LogManager) -> None:
    manager.cleaner.clean_one(manager.cleaner.new_rewriter())


def reader(home: Path) -> PartitionReader:
    return LogDirectory(home).partition("orders", 0)


def check(seen: list[Record]) -> None:
    """The newest value of every key, and each offset once, in order."""
    assert latest_values(seen) == {b"%d" % (n % 30): b"value-%d" % n for n in range(270, 300)}
    offsets = [record.offset for record in seen]
    assert offsets == sorted(set(offsets))


def test_at_every_rename_of_a_compaction_everything_is_there(tmp_path: Path) -> None:
    fs = Watched()
    manager, log = filled(tmp_path, fs)
    looks = []

    def look() -> None:
        looks.append(any(path.name.endswith(SWAP) for path in log.dir.iterdir()))
        check(list(reader(tmp_path).records()))
        assert reader(tmp_path).end_offset == 300
        starts = [segment.base_offset for segment in reader(tmp_path).segments]
        assert starts == sorted(set(starts))
        assert starts[0] == 0

    fs.look = look
    compact(manager)
    assert sum(looks) > 20, "there were moments in the middle of a swap"


@pytest.mark.parametrize("before", [1, 10, 50, 150, 299])
def test_a_compaction_in_the_middle_of_reading_costs_nothing(tmp_path: Path, before: int) -> None:
    manager, _ = filled(tmp_path)
    records = reader(tmp_path).records()
    seen = [next(records) for _ in range(before)]
    compact(manager)
    check(seen + list(records))


@pytest.mark.parametrize("before", range(1, 25, 3))
def test_a_segment_that_is_merged_into_an_earlier_one_is_found_there(tmp_path: Path, before: int) -> None:
    """The first pass leaves little in each segment; the second puts several into one, of the first one's name."""
    clock = ManualClock(1_000_000)
    manager = open_manager(tmp_path, clock=clock)
    log = manager.create(TP, compact_config())
    for number in range(300):
        append(log, [(b"often" if number % 10 else b"once-%d" % number, b"value-%d" % number)])
    log.roll()
    compact(manager)
    append(log, [(b"often", b"last")])
    log.roll()
    small = [segment.base_offset for segment in reader(tmp_path).segments]
    records = reader(tmp_path).records()
    seen = [next(records) for _ in range(before)]
    compact(manager)
    assert len(reader(tmp_path).segments) < len(small) - 10
    seen += list(records)
    offsets = [record.offset for record in seen]
    assert offsets == sorted(set(offsets))
    assert set(range(0, 300, 10)) | {300} <= set(offsets)


def test_an_index_of_another_file_is_not_believed(tmp_path: Path) -> None:
    manager, log = filled(tmp_path)
    first = log.segments[0]
    old_index = Path(first.offset_index.path).read_bytes()
    compact(manager)
    manager.shutdown()
    path = log.dir / file_name(0, INDEX)
    new_index = path.read_bytes()
    survivors = [record.offset for record in reader(tmp_path).records()]
    for stale in (old_index, new_index[:4] + b"\x00\x00\x00\x05", new_index[:4] + b"\x7f\xff\xff\xff"):
        path.write_bytes(stale)
        for start in (1, 5, 9, survivors[0]):
            found = [record.offset for record in reader(tmp_path).records(start_offset=start)]
            assert found == [offset for offset in survivors if offset >= start]


def test_a_place_beyond_the_end_of_the_new_file_is_not_believed(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    _, log = filled(tmp_path)
    segment = reader(tmp_path).segments[0]
    size = (log.dir / file_name(0, LOG)).stat().st_size
    for position in (size, size + 500, 7):
        columns = ArrowSegmentReader(segment, ("offset",), last_offset=1 << 40, size=1 << 20)
        offsets = [n for _, batch in columns.batches(position, 0) for n in batch.column(0).to_pylist()]
        assert offsets == list(range(log.segments[1].base_offset))


def test_a_file_that_is_never_there_is_an_error(tmp_path: Path) -> None:
    _, log = filled(tmp_path)
    segments = reader(tmp_path).segments
    (log.dir / file_name(0, LOG)).unlink()
    walk = SegmentWalk(lambda: segments, lambda segment, offset: iter(segment.open() and ()), start=0, end=10)
    with pytest.raises(FileNotFoundError):
        list(walk)


def test_reading_ends_with_the_last_segment_of_its_beginning(tmp_path: Path) -> None:
    """A directory that is written to faster than it is read does not keep its reader for ever."""
    _, log = filled(tmp_path)
    count = 0
    for _ in reader(tmp_path).records():
        count += 1
        append(log, [(b"more", b"x" * 100)])
        assert count < 1000
    assert count >= 300
