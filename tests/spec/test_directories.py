"""File layout: 000 文件目录结构, 001 一. 文件目录布局, 004 日志存储/文件目录布局."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from support.logs import LogBench, batch, fill, records_of, run_of, small_config
from support.managed_logs import append, end_transaction
from tidelog.common.types import TopicPartition
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import CLEANED, DELETED, LOG, SWAP, file_name


def manager_over(*dirs: Path) -> LogManager:
    manager = LogManager(list(dirs))
    manager.open()
    manager.write_meta("A" * 22, 1)
    manager.load()
    return manager


def test_a_topic_of_four_partitions_is_four_directories(tmp_path: Path) -> None:
    """000 文件目录结构: topic-log with 4 partitions is stored as topic-log-0 … topic-log-3."""
    manager = manager_over(tmp_path)
    for partition in range(4):
        manager.create(TopicPartition("topic-log", partition), small_config())
    names = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    assert names == ["topic-log-0", "topic-log-1", "topic-log-2", "topic-log-3"]
    manager.shutdown()


def test_file_names_are_the_base_offset_in_twenty_digits(tmp_path: Path) -> None:
    """000 文件目录结构: names have 20 digits filled with zeros; the first is 00000000000000000000.log."""
    assert file_name(0, LOG) == "00000000000000000000.log"
    bench = LogBench(tmp_path)
    log = bench.open()
    fill(log, 60)
    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) > 2
    for base in bases:
        for kind in ("log", "index", "timeindex"):
            assert f"{base:020d}.{kind}" in bench.names()
    log.close()


def test_what_else_may_lie_beside_a_segment(tmp_path: Path) -> None:
    """000 文件目录结构: also .txnindex, .snapshot and leader-epoch-checkpoint; .deleted, .cleaned, .swap in passing."""
    assert (DELETED, CLEANED, SWAP) == (".deleted", ".cleaned", ".swap")
    bench = LogBench(tmp_path)
    log = bench.open()
    append(log, [(b"k", b"v")], producer_id=1, sequence=0, transactional=True)
    end_transaction(log, 1, committed=False)
    log.roll()
    log.flush()
    beside = {"00000000000000000000.txnindex", "00000000000000000002.snapshot", "leader-epoch-checkpoint"}
    assert beside <= set(bench.names())
    log.close()


def test_only_the_last_segment_is_written(tmp_path: Path) -> None:
    """000 文件目录结构: appends are sequential, and only the active segment takes them."""
    log = LogBench(tmp_path).open()
    fill(log, 60)
    closed = {segment.base_offset: segment.size for segment in log.segments[:-1]}
    fill(log, 2)
    assert {segment.base_offset: segment.size for segment in log.segments if segment.base_offset in closed} == closed
    assert log.active_segment is log.segments[-1]
    log.close()


def test_every_record_gets_the_next_offset(tmp_path: Path) -> None:
    """000 文件目录结构: each record of a partition has a unique serial number, its offset."""
    log = LogBench(tmp_path).open()
    fill(log, 40)
    assert [record.offset for record in records_of(log)] == list(range(120))
    log.close()


def test_a_root_directory_holds_four_checkpoints_and_meta_properties(tmp_path: Path) -> None:
    """000 文件目录结构: every root holds the four checkpoint files and meta.properties."""
    roots = [tmp_path / "one", tmp_path / "two"]
    manager = manager_over(*roots)
    manager.create(TopicPartition("t", 0), small_config())
    manager.checkpoint()
    manager.shutdown()
    for root in roots:
        assert {
            "cleaner-offset-checkpoint",
            "log-start-offset-checkpoint",
            "meta.properties",
            "recovery-point-offset-checkpoint",
            "replication-offset-checkpoint",
        } <= {path.name for path in root.iterdir()}


def test_a_new_partition_goes_to_the_root_with_the_fewest(tmp_path: Path) -> None:
    """000 文件目录结构: with several roots, the one with the fewest partitions is chosen."""
    first, second = tmp_path / "a", tmp_path / "b"
    manager = manager_over(first, second)
    for partition in range(7):
        manager.create(TopicPartition("t", partition), small_config())
    counts = sorted(sum(path.is_dir() for path in root.iterdir()) for root in (first, second))
    assert counts == [3, 4]
    manager.shutdown()


def test_base_offsets_rise_from_segment_to_segment(tmp_path: Path) -> None:
    """003 3.2: a new segment's base offset is above every offset before it, and is its first message's offset."""
    log = LogBench(tmp_path).open()
    fill(log, 60)
    offsets = iter(record.offset for record in records_of(log))
    for segment, following in pairwise(log.segments):
        held = [next(offsets) for _ in range(segment.base_offset, following.base_offset)]
        assert held[0] == segment.base_offset
        assert held == sorted(held)
        assert held[-1] < following.base_offset
    log.close()


def test_offsets_900_to_902(tmp_path: Path) -> None:
    """003 3.2 Broker写消息: a batch numbered 0, 1, 2 gets the offsets 900, 901, 902, whatever it says itself."""
    log = LogBench(tmp_path).open()
    log.truncate_fully_and_start_at(900)
    info = log.append_as_leader(run_of(batch([b"0", b"1", b"2"])), 0)
    assert (info.first_offset, info.last_offset) == (900, 902)
    assert log.log_end_offset == 903
    log.advance_high_watermark(903)
    assert [record.offset for record in records_of(log)] == [900, 901, 902]
    log.close()
