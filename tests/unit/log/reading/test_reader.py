"""Reading log directories from outside: topics, partitions, segments, batches, records, ranges, Arrow."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from support.managed_logs import TP, append, append_bytes, compact_config, end_transaction, open_manager
from tidelog.common.errors import CorruptRecordError, UsageError
from tidelog.common.fs import LOCAL_FS
from tidelog.common.types import TopicPartition
from tidelog.log.config import LogConfig
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import INDEX, TIME_INDEX
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.reading.reader import LogDirectory, PartitionReader
from tidelog.log.reading.segment_reader import SegmentReader
from tidelog.log.reading.statistics import StatisticsReader
from tidelog.log.reading.verify import PartitionVerifier, verify_checkpoints
from tidelog.records.format.attributes import Codec
from tidelog.records.format.builder import BatchBuilder
from tidelog.testing.clock import ManualClock

CONFIG = LogConfig.from_topic(
    {"internal.segment.bytes": 1000, "segment.index.bytes": 1200, "index.interval.bytes": 100}
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000)


@pytest.fixture
def manager(tmp_path: Path, clock: ManualClock) -> LogManager:
    manager = open_manager(tmp_path / "data", clock=clock)
    manager.write_meta("cluster", 1)
    return manager


@pytest.fixture
def log(manager: LogManager, clock: ManualClock) -> PartitionLog:
    """A hundred records, a second apart, in several segments."""
    log = manager.create(TP, CONFIG, topic_id=bytes(range(16)))
    for n in range(100):
        append(log, [(b"key-%d" % (n % 10), b"value-%d" % n)], codec=Codec.GZIP if n % 3 == 0 else Codec.NONE)
        clock.advance(1)
    return log


def reader(log: PartitionLog) -> PartitionReader:
    return LogDirectory(log.dir.parent).partition("orders", 0)


def test_a_directory_in_use_shows_everything(manager: LogManager, log: PartitionLog) -> None:
    manager.create(TopicPartition("other", 3), CONFIG)
    log.flush()
    manager.checkpoint()
    directory = LogDirectory(log.dir.parent)
    assert directory.topics() == ["orders", "other"]
    assert [str(p.topic_partition) for p in directory.partitions()] == ["orders-0", "other-3"]
    assert directory.meta is not None
    assert directory.meta.node_id == 1
    assert directory.high_watermarks[TP] == 100
    partition = directory.partition("orders", 0)
    assert partition.topic_id == bytes(range(16))
    assert (partition.log_start_offset, partition.end_offset) == (0, 100)
    assert len(partition.segments) == len(log.segments) > 3
    assert partition.size == log.size
    assert partition.leader_epochs == [(0, 0)]
    assert [r.offset for r in partition.records()] == list(range(100))
    with pytest.raises(UsageError, match="no partition"):
        directory.partition("nothing", 0)
    with pytest.raises(UsageError, match="does not exist"):
        LogDirectory(log.dir.parent / "nowhere")


@pytest.mark.parametrize(("start", "end"), [(0, 10), (37, 38), (50, None), (99, 100), (100, None), (None, 3), (20, 20)])
def test_ranges_of_offsets(log: PartitionLog, start: int | None, end: int | None) -> None:
    found = [r.offset for r in reader(log).records(start_offset=start, end_offset=end)]
    assert found == list(range(100))[start:end]


@pytest.mark.parametrize(("start", "end"), [(0, 10), (37, 38), (50, None), (None, 3), (99, None)])
def test_ranges_of_times(log: PartitionLog, start: int | None, end: int | None) -> None:
    def time(n: int | None) -> int | None:
        return None if n is None else 1_000_000 + 1000 * n

    found = [r.offset for r in reader(log).records(start_time=time(start), end_time=time(end))]
    assert found == list(range(100))[start:end]


def test_arrow_tables(log: PartitionLog) -> None:
    pytest.importorskip("pyarrow")
    table = reader(log).to_arrow(start_offset=10, end_offset=20)
    assert table.column("offset").to_pylist() == list(range(10, 20))
    assert table.column("value").to_pylist() == [b"value-%d" % n for n in range(10, 20)]
    assert reader(log).to_arrow(start_offset=100).num_rows == 0


@pytest.mark.parametrize(("start", "end"), [(0, 10), (37, 40), (50, None), (None, 3), (99, None), (20, 20)])
@pytest.mark.parametrize("batch", [1, 20])
def test_arrow_tables_of_times(
    manager: LogManager, clock: ManualClock, batch: int, start: int | None, end: int | None
) -> None:
    """Rows count, not batches: the same as `records` gives."""
    pytest.importorskip("pyarrow")
    log = manager.create(TP, CONFIG)
    for first in range(0, 100, batch):
        builder = BatchBuilder()
        for number in range(first, first + batch):
            builder.append(1_000_000 + 1000 * number, b"key", b"value-%d" % number)
        append_bytes(log, builder.build())
    times = {"start_time": start, "end_time": end}
    given = {name: 1_000_000 + 1000 * number for name, number in times.items() if number is not None}
    expected = list(range(100))[start:end]
    assert reader(log).to_arrow(**given).column("offset").to_pylist() == expected
    table = reader(log).to_arrow(columns=("offset", "value"), **given)
    assert table.column_names == ["offset", "value"]
    assert table.column("offset").to_pylist() == expected == [r.offset for r in reader(log).records(**given)]


def test_committed_records_only(manager: LogManager) -> None:
    log = manager.create(TP, CONFIG)
    append(log, [(b"a", b"1")], producer_id=1, sequence=0, transactional=True)
    append(log, [(b"b", b"2")])
    end_transaction(log, 1, committed=False)
    append(log, [(b"c", b"3")], producer_id=1, sequence=1, transactional=True)
    end_transaction(log, 1, committed=True)
    partition = reader(log)
    assert [r.offset for r in partition.records()] == [0, 1, 3]
    assert [r.offset for r in partition.records(committed=True)] == [1, 3]
    assert [r.offset for r in partition.records(control=True)] == [0, 1, 2, 3, 4]
    assert [t.producer_id for t in partition.aborted_transactions()] == [1]


def test_a_torn_tail_is_not_there_and_corruption_says_where(log: PartitionLog, manager: LogManager) -> None:
    manager.shutdown()
    path = log.segments[-1].data.path
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert reader(log).end_offset < 100
    path.write_bytes(whole + bytes(200))  # preallocated
    assert reader(log).end_offset == 100
    path.write_bytes(whole + b"\0" * 8 + b"\x7f" + b"\xff" * 60)
    with pytest.raises(CorruptRecordError) as caught:
        list(reader(log).records())
    assert caught.value.position == len(whole)


def test_segments_deleted_while_reading_are_passed_over(log: PartitionLog) -> None:
    records = reader(log).records()
    assert next(records).offset == 0
    third = log.segments[2]
    for path in log.dir.glob(f"{third.base_offset:020d}.*"):
        path.unlink()
    rest = [r.offset for r in records]
    assert rest[-1] == 99
    assert third.base_offset not in rest


def test_other_directories_are_listed_on_demand(manager: LogManager, log: PartitionLog) -> None:
    manager.delete(TP)
    directory = LogDirectory(manager.dirs[0].path)
    assert directory.partitions() == []
    (gone,) = directory.partitions(all_kinds=True)
    assert (gone.kind, gone.topic) == ("delete", "orders")
    with pytest.raises(UsageError, match="no partition's directory"):
        PartitionReader(manager.dirs[0].path)


def test_statistics(log: PartitionLog) -> None:
    found = StatisticsReader(reader(log)).read()
    assert (found.records, found.batches, found.first_offset, found.last_offset) == (100, 100, 0, 99)
    assert (found.distinct_keys, found.keys_exact) == (10, True)
    assert (found.min_time, found.max_time) == (1_000_000, 1_099_000)
    assert found.codecs == {"gzip": 34, "none": 66}
    assert found.compression_ratio is not None
    assert found.compression_ratio > 0


# --- verify -------------------------------------------------------------------------------------------------------


def problems(log: PartitionLog) -> list[str]:
    return [
        f"{f.severity} {f.path.suffix or f.path.name} {f.problem}" for f in PartitionVerifier(reader(log)).findings()
    ]


def test_a_sound_partition_has_no_findings(manager: LogManager, log: PartitionLog) -> None:
    verifier = PartitionVerifier(reader(log))
    assert list(verifier.findings()) == []
    assert (verifier.totals.records, verifier.totals.bytes) == (100, log.size)
    manager.checkpoint()
    assert list(verify_checkpoints(manager.dirs[0].path)) == []


def test_a_compacted_and_transactional_partition_is_sound(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config())
    for n in range(30):
        append(log, [(b"%d" % (n % 4), b"x")], producer_id=1, sequence=n, transactional=True)
        end_transaction(log, 1, committed=n % 3 != 0)
        clock.advance(1)
    log.roll()
    manager.cleaner.clean_one(manager.cleaner.new_rewriter())
    assert problems(log) == []


def damage(path: Path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("kind", "position", "data", "expected"),
    [
        (".log", 100, b"\xff", "error .log"),
        (".index", 4, b"\0\0\0\x07", "error .index points to byte 7, where no batch starts"),
        (".index", 0, b"\x7f", "does not follow"),
        (".timeindex", 0, b"\x7f", "does not follow"),
        (".timeindex", 2, b"\0\0\0\0\0\1", "is the largest timestamp up to"),
        (".snapshot", 8, b"\xff", "error .snapshot"),
    ],
)
def test_damage_is_found(
    manager: LogManager, log: PartitionLog, kind: str, position: int, data: bytes, expected: str
) -> None:
    append(log, [(b"a", b"1")], producer_id=1, sequence=0)
    log.roll()
    manager.shutdown()
    name = sorted(path.name for path in log.dir.glob(f"*{kind}"))[-1 if kind == ".snapshot" else 0]
    damage(log.dir / name, position, data)
    assert any(expected in problem for problem in problems(log)), problems(log)


def test_missing_files_and_bad_checkpoints_are_found(manager: LogManager, log: PartitionLog) -> None:
    manager.shutdown()
    (log.dir / log.segments[0].offset_index.path.name).unlink()
    (log.dir / "leader-epoch-checkpoint").write_text("0\n2\n5 0\n3 9\n")
    found = problems(log)
    assert "error .index is missing" in found
    assert any("does not follow" in problem for problem in found)
    root = log.dir.parent
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\ngone 0 1\n")
    (root / "cleaner-offset-checkpoint").write_text("nonsense")
    (root / "meta.properties").write_text("version=9\n")
    checks = [finding.problem for finding in verify_checkpoints(root)]
    assert len(checks) == 3
    assert "names gone-0, which is not here" in checks


def test_a_torn_tail_is_a_warning(manager: LogManager, log: PartitionLog) -> None:
    manager.shutdown()
    path = log.segments[-1].data.path
    path.write_bytes(path.read_bytes() + b"torn")
    assert problems(log) == ["warning .log 4 bytes after the last whole batch"]


@pytest.mark.parametrize("entries", [0, 1, 12_288, 12_289, 30_000])
def test_only_the_used_part_of_a_preallocated_index_is_read(tmp_path: Path, entries: int) -> None:
    segment = SegmentReader(LOCAL_FS, tmp_path, 100)
    used = b"".join(struct.pack(">ii", number + 1, 10 * (number + 1)) for number in range(entries))
    times = b"".join(struct.pack(">qi", 1000 + number, number + 1) for number in range(entries))
    segment.file(INDEX).write_bytes(used + bytes(1 << 20))
    segment.file(TIME_INDEX).write_bytes(times + bytes(12 << 16))
    assert [tuple(entry) for entry in segment.offset_index[-1:]] == ([(100 + entries, 10 * entries)] if entries else [])
    assert len(segment.offset_index) == len(segment.time_index) == entries
    assert len(used) <= len(segment.offset_index_data) <= len(used) + (200 << 10)
    segment.file(INDEX).write_bytes(used)
    assert segment.offset_index_data == used
    segment.file(INDEX).unlink()
    assert segment.offset_index == []


def test_arrow_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t-0").mkdir()
    with pytest.raises(UsageError, match=r"pip install 'tidelog\[arrow\]'"):
        LogDirectory(tmp_path).partition("t", 0).to_arrow()
