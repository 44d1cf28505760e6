"""Cleaning by deletion and by compaction: 000 日志清理, 004 日志清理."""

from __future__ import annotations

from pathlib import Path

from support.logs import START_MS, LogBench, batch, fill, run_of, sized, small_config
from support.managed_logs import compact_config
from tidelog.log.config import LogConfig
from tidelog.log.partition.partition_log import PartitionLog


def by_segments(bench: LogBench, bases: list[int]) -> PartitionLog:
    """A log whose segments begin at these offsets (the first at 0)."""
    log = bench.open()
    for base in bases[1:]:
        fill(log, base - log.log_end_offset, records=1)
        log.roll()
    fill(log, 5, records=1)
    return log


DAY = 24 * 3_600_000


def drawn(bench: LogBench, segments: list[tuple[int, int, int]]) -> PartitionLog:
    """A log of segments (base offset, bytes, time of the newest record), each of one batch; as in docs/formats."""
    log = bench.open()
    for base, size, newest in segments:
        if base:
            log.advance_high_watermark(log.log_end_offset)
            log.roll(base)
        log.append_as_follower(bytearray(sized(size, base, [newest])))
    log.advance_high_watermark(log.log_end_offset)
    return log


def test_the_drawing_by_size(tmp_path: Path) -> None:
    """004 基于日志大小 (picture), docs/formats/retention.md: 1100 bytes, 700 to keep: one of 300 fits diff 400."""
    sizes = [(0, 300, START_MS), (1, 300, START_MS), (2, 300, START_MS), (3, 200, START_MS)]
    log = drawn(LogBench(tmp_path, config=small_config(retention_bytes=700)), sizes)
    assert log.delete_old_segments() == 1
    assert [segment.size for segment in log.segments] == [300, 300, 200]
    log.close()


def test_the_drawing_by_time(tmp_path: Path) -> None:
    """004 基于时间 (picture), docs/formats/retention.md: the walk ends at the first segment that is young enough."""
    bench = LogBench(tmp_path)
    times = [(0, 100, START_MS + DAY), (100, 100, START_MS + 3 * DAY), (200, 100, START_MS + 2 * DAY)]
    log = drawn(bench, [*times, (300, 100, START_MS + 9 * DAY)])
    bench.clock.set_time_ms(START_MS + 9 * DAY + DAY // 2)
    assert log.delete_old_segments() == 1
    assert [segment.base_offset for segment in log.segments] == [100, 200, 300]
    bench.clock.set_time_ms(START_MS + 10 * DAY + 1)
    assert log.delete_old_segments() == 2
    assert [segment.base_offset for segment in log.segments] == [300]
    log.close()


def test_seven_days_by_default() -> None:
    """000 日志删除 1: segments are kept for seven days by default."""
    assert LogConfig.from_topic({}).retention_ms == 7 * 24 * 3600 * 1000


def test_ms_wins_over_minutes_over_hours() -> None:
    """004 基于时间: log.retention.ms comes first, then .minutes, then .hours."""

    def kept(**broker: str) -> int:
        return LogConfig.from_topic({}, {f"log.retention.{key}": value for key, value in broker.items()}).retention_ms

    assert kept(hours="1") == 3_600_000
    assert kept(hours="1", minutes="2") == 120_000
    assert kept(hours="1", minutes="2", ms="3000") == 3000


def test_old_segments_go_by_their_largest_timestamp(tmp_path: Path) -> None:
    """004 基于时间: the age is that of the newest record, not of the file: touching the file changes nothing."""
    bench = LogBench(tmp_path, config=small_config(retention_ms=60_000))
    log = by_segments(bench, [0, 10, 20])
    for path in bench.dir.glob("*.log"):
        bench.fs.set_mtime(path, START_MS + 10_000_000)
    bench.clock.set_time_ms(START_MS + 60_000 + 12)
    log.delete_old_segments()
    assert [segment.base_offset for segment in log.segments] == [10, 20]
    assert log.log_start_offset == 10
    log.close()


def test_when_all_have_expired_a_new_active_segment_is_made_first(tmp_path: Path) -> None:
    """000 日志删除 1: there is always a segment to write to."""
    bench = LogBench(tmp_path, config=small_config(retention_ms=60_000))
    log = by_segments(bench, [0, 10])
    end = log.log_end_offset
    bench.clock.set_time_ms(START_MS + 3_600_000)
    log.delete_old_segments()
    assert [segment.base_offset for segment in log.segments] == [end]
    assert (log.log_start_offset, log.log_end_offset) == (end, end)
    log.append_as_leader(run_of(batch()), 0)
    log.close()


def test_deleted_files_are_renamed_first_and_removed_later(tmp_path: Path) -> None:
    """000 日志删除 1: all files of the segment get the suffix .deleted; a delayed task removes them."""
    bench = LogBench(tmp_path, config=small_config(retention_ms=60_000, file_delete_delay_ms=60_000))
    log = by_segments(bench, [0, 10])
    bench.clock.set_time_ms(START_MS + 60_000 + 11)
    log.delete_old_segments()
    first = "00000000000000000000"
    assert {f"{first}.log.deleted", f"{first}.index.deleted", f"{first}.timeindex.deleted"} <= set(bench.names())
    assert f"{first}.log" not in bench.names()
    bench.clock.advance(61)
    bench.scheduler.run_due()
    assert not [name for name in bench.names() if name.endswith(".deleted")]
    log.close()


def test_by_size_the_oldest_go_until_the_rest_fits(tmp_path: Path) -> None:
    """000 日志删除 2: diff = size − retention.bytes; from the first segment on, as long as diff covers it."""
    bench = LogBench(tmp_path)
    log = by_segments(bench, [0, 10, 20, 30])
    sizes = [segment.size for segment in log.segments]
    keep = sum(sizes[2:]) + sizes[1] // 2
    log.update_config(small_config(retention_bytes=keep))
    log.delete_old_segments()
    assert [segment.base_offset for segment in log.segments] == [10, 20, 30]
    log.close()


def test_size_is_unlimited_and_segments_are_1_gib_by_default() -> None:
    """004 基于日志大小: log.retention.bytes is -1 by default, log.segment.bytes 1,073,741,824."""
    config = LogConfig.from_topic({})
    assert (config.retention_bytes, config.segment_size) == (-1, 1_073_741_824)


def test_log_start_offset_25_with_segments_0_11_23(tmp_path: Path) -> None:
    """004 基于日志起始偏移量: with logStartOffset 25 the segments 0 and 11 may go, 23 stays."""
    bench = LogBench(tmp_path)
    log = by_segments(bench, [0, 11, 23])
    assert log.log_start_offset == 0
    log.advance_log_start(25)
    log.delete_old_segments()
    assert [segment.base_offset for segment in log.segments] == [23]
    assert log.log_start_offset == 25
    log.close()


def test_a_segment_goes_only_when_the_next_one_begins_at_or_below_the_log_start(tmp_path: Path) -> None:
    """000 日志删除 3: the next segment's base offset must not be above logStartOffset."""
    log = by_segments(LogBench(tmp_path), [0, 11, 23])
    log.advance_log_start(22)
    log.delete_old_segments()
    assert [segment.base_offset for segment in log.segments] == [11, 23]
    log.advance_log_start(23)
    log.delete_old_segments()
    assert [segment.base_offset for segment in log.segments] == [23]
    log.close()


def test_policy_is_delete_by_default() -> None:
    """000 日志清理: two policies, deletion and compaction."""
    assert LogConfig.from_topic({}).delete
    assert not LogConfig.from_topic({}).compact
    assert compact_config().compact
