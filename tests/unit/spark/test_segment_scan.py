"""Tasks of segments mode on directories that change between plan and reading, without Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from support.managed_logs import TP, append, compact_config, open_manager
from tidelog.common.errors import KafkaError
from tidelog.log.config import LogConfig
from tidelog.log.names import DELETED, INDEX, LOG, SEGMENT_KINDS, SWAP, TIME_INDEX, file_name
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.records.format.builder import BatchBuilder
from tidelog.spark.boundaries import DataLossError
from tidelog.spark.offsets import OffsetRange
from tidelog.spark.options import SourceOptions, source_options
from tidelog.spark.segment_scan import SegmentPartition, plan_segments, scan_segments
from tidelog.spark.segment_topics import SegmentTopics
from tidelog.testing.clock import ManualClock

CONFIG = {"internal.segment.bytes": 1000, "segment.index.bytes": 1200, "index.interval.bytes": 100}
COLUMNS = ("offset", "value")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def log(home: Path) -> PartitionLog:
    """Three hundred records in many segments."""
    clock = ManualClock(1_000_000)
    manager = open_manager(home, clock=clock)
    log = manager.create(TP, LogConfig.from_topic(CONFIG), topic_id=b"1" * 16)
    for n in range(300):
        append(log, [(b"key", b"value-%d" % n)])
    manager.checkpoint()
    return log


def options_of(home: Path, **more: str) -> SourceOptions:
    return source_options({"mode": "segments", "path": str(home), "subscribe": "orders", **more}, streaming=False)


def plan(options: SourceOptions, start: int = 0, end: int = 300) -> list[SegmentPartition]:
    topics = SegmentTopics(options.paths, read_committed=options.read_committed)
    return list(plan_segments(options, topics, [OffsetRange("orders", 0, start, end)]))


def scan(options: SourceOptions, tasks: list[SegmentPartition]) -> list[int]:
    return [n for task in tasks for batch in scan_segments(options, task, COLUMNS) for n in batch.column(0).to_pylist()]


def rename(directory: Path, base: int, old: str, new: str) -> None:
    for kind in SEGMENT_KINDS:
        source = directory / file_name(base, kind, old)
        if source.exists():
            source.rename(directory / file_name(base, kind, new))


def test_a_segment_in_the_middle_of_its_swap_is_read(home: Path, log: PartitionLog) -> None:
    """As a crash between the two renames leaves it: the old file is `.deleted`, the new one still `.swap`."""
    options = options_of(home)
    tasks = plan(options)
    base = log.segments[3].base_offset
    for kind in SEGMENT_KINDS:
        source = log.dir / file_name(base, kind)
        if source.exists():
            shutil.copy(source, log.dir / file_name(base, kind, SWAP))
    rename(log.dir, base, "", DELETED)
    assert scan(options, tasks) == scan(options, plan(options)) == list(range(300))


def test_a_segment_that_is_gone_is_a_loss(home: Path, log: PartitionLog) -> None:
    tasks = plan(options_of(home))
    for segment in log.segments[:2]:
        rename(log.dir, segment.base_offset, "", DELETED)
    with pytest.raises(DataLossError, match="Offset 0 of orders-0 is gone"):
        scan(options_of(home), tasks)
    rest = scan(options_of(home, failOnDataLoss="false"), tasks)
    assert rest == list(range(log.segments[2].base_offset, 300))


def test_the_index_of_the_file_before_compaction_is_not_believed(home: Path) -> None:
    manager = open_manager(home, clock=ManualClock(1_000_000))
    log = manager.create(TP, compact_config(internal_segment_bytes=4000))
    for n in range(300):
        append(log, [(b"%d" % (n % 100 if n < 200 else 1000), b"value-%d" % n)])
    log.roll()
    old = {base: (log.dir / file_name(base, INDEX)).read_bytes() for base in [s.base_offset for s in log.segments]}
    manager.cleaner.clean_one(manager.cleaner.new_rewriter())
    manager.checkpoint()
    options = options_of(home)
    kept = scan(options, plan(options))
    for segment in log.segments[:-1]:
        (log.dir / file_name(segment.base_offset, INDEX)).write_bytes(old[segment.base_offset])
    for start in range(0, 300, 7):
        assert scan(options, plan(options, start)) == [offset for offset in kept if offset >= start]


def test_a_directory_that_is_gone_is_a_loss(home: Path, log: PartitionLog) -> None:
    tasks = plan(options_of(home))
    log.dir.rename(home / "orders-0.0123456789abcdef-delete")
    with pytest.raises(DataLossError, match="has gone while it was read"):
        scan(options_of(home), tasks)
    assert scan(options_of(home, failOnDataLoss="false"), tasks) == []


@pytest.mark.parametrize("read_committed", [True, False])
def test_a_directory_that_goes_before_it_is_planned_is_a_missing_partition(
    home: Path, log: PartitionLog, read_committed: bool
) -> None:
    topics = SegmentTopics([str(home)], read_committed=read_committed)
    shutil.rmtree(log.dir)
    for ask in (topics.earliest, topics.latest, lambda partitions: topics.at_timestamp(dict.fromkeys(partitions, 1))):
        with pytest.raises(KafkaError, match="orders-0 has gone"):
            ask([TP])


def test_a_topic_that_was_made_anew_is_another_one(home: Path, log: PartitionLog) -> None:
    tasks = plan(options_of(home))
    (log.dir / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    with pytest.raises(DataLossError, match="made anew"):
        scan(options_of(home), tasks)
    assert scan(options_of(home, failOnDataLoss="false"), tasks) == []


def write_batches(directory: Path, *bases: int) -> None:
    data = b""
    for base in bases:
        builder = BatchBuilder(base_offset=base)
        for offset in range(base, base + 10):
            builder.append(0, None, b"v%d" % offset)
        data += builder.build()
    directory.mkdir(parents=True)
    (directory / file_name(0, LOG)).write_bytes(data)
    for kind in (INDEX, TIME_INDEX):
        (directory / file_name(0, kind)).touch()


def test_an_end_in_a_gap_of_the_last_segment_is_no_loss(home: Path) -> None:
    """A follower's segment holds what its leader has compacted: there are gaps, and the log goes on behind them."""
    write_batches(home / "orders-0", 0, 50)
    options = options_of(home)
    assert scan(options, plan(options, 0, 30)) == list(range(10))
    assert scan(options, plan(options, 20, 55)) == list(range(50, 55))
    assert scan(options, plan(options, 20, 40)) == []
    with pytest.raises(DataLossError, match="ends at offset 60, not at 70"):
        scan(options, plan(options, 0, 70))
    assert len(scan(options_of(home, failOnDataLoss="false"), plan(options, 0, 70))) == 20


def test_nothing_where_there_should_be_something_is_a_loss(home: Path) -> None:
    (home / "orders-0").mkdir(parents=True)
    options = options_of(home)
    with pytest.raises(DataLossError):
        scan(options, plan(options, 0, 10))
