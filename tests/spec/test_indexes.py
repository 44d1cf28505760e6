"""Sparse indexes: 000 日志索引, 001 三. 日志索引, 003 3.3 基于索引文件查询, 004 日志索引.

The documents' worked examples are in `test_worked_examples.py`.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from support.logs import START_MS, LogBench, batch, fill, records_of, run_of, small_config
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.fs import LOCAL_FS
from tidelog.common.types import MAX_INT32
from tidelog.log.config import LogConfig
from tidelog.log.segment._handles import FileBudget
from tidelog.log.segment._index import OffsetIndex, TimeIndex
from tidelog.log.segment.home import Home
from tidelog.records.format.builder import BatchBuilder


def offset_index(path: Path, base: int, entries: list[tuple[int, int]], size: int = 4096) -> OffsetIndex:
    """An index with these (relative offset, position) entries."""
    index = OffsetIndex(Home(path, LOCAL_FS, SYSTEM_CLOCK, FileBudget()), base, size)
    index.create()
    for relative, position in entries:
        index.append(base + relative, position)
    return index


def time_index(path: Path, base: int, entries: list[tuple[int, int]], size: int = 4096) -> TimeIndex:
    index = TimeIndex(Home(path, LOCAL_FS, SYSTEM_CLOCK, FileBudget()), base, size)
    index.create()
    for timestamp, relative in entries:
        index.maybe_append(timestamp, base + relative)
    return index


def test_an_offset_before_the_first_entry_starts_at_the_front(tmp_path: Path) -> None:
    """000 日志索引: without a smaller entry the scan starts with the segment."""
    assert offset_index(tmp_path, 100, [(50, 999)]).lookup(120) == (100, 0)


def test_a_timestamp_look_up_in_a_real_log(tmp_path: Path) -> None:
    """000 时间戳索引, steps 1-4: the first record that is not older, for every timestamp, across segments."""
    log = LogBench(tmp_path).open()
    fill(log, 80)
    assert len(log.segments) > 3
    for offset in range(0, log.log_end_offset, 7):
        found = log.offset_for_timestamp(START_MS + offset)
        assert found is not None
        assert (found.offset, found.timestamp) == (offset, START_MS + offset)
    assert log.offset_for_timestamp(START_MS + log.log_end_offset) is None
    log.close()


def test_the_newest_time_of_a_segment_is_its_last_time_entry_or_the_files_own(tmp_path: Path) -> None:
    """000 时间戳索引, step 1: the last entry's timestamp if it is above 0, else when the file was last modified."""
    bench = LogBench(tmp_path)
    log = bench.open()
    fill(log, 10)
    log.roll()
    stamped = log.segments[0]
    assert stamped.largest_timestamp == stamped.time_index.last_entry[0] == START_MS + 29
    log.append_as_leader(run_of(batch([b"v"], timestamp=-1)), 0)
    log.roll()
    unstamped = log.segments[-2]
    bench.fs.set_mtime(unstamped.data.path, START_MS + 777_000)
    assert unstamped.largest_timestamp == START_MS + 777_000
    log.close()


def test_every_look_up_agrees_with_a_search_from_the_front(tmp_path: Path) -> None:
    """000 日志索引: offsets and times in an index rise; binary search gives the largest entry that is not above."""
    entries = [(3, 0), (7, 120), (8, 260), (15, 300), (40, 900)]
    offsets = offset_index(tmp_path, 0, entries)
    times = time_index(tmp_path, 0, [(1000 + 10 * position, relative) for relative, position in entries])
    for target in range(45):
        expected = [entry for entry in entries if entry[0] <= target]
        assert offsets.lookup(target) == (expected[-1] if expected else (0, 0))
    for target in range(990, 10_100, 7):
        found = [relative for relative, position in entries if 1000 + 10 * position <= target]
        assert times.lookup(target)[1] == (found[-1] if found else 0)


def test_entries_are_8_and_12_bytes(tmp_path: Path) -> None:
    """000 偏移量索引 and 时间戳索引: (relative offset 4 B, position 4 B); (timestamp 8 B, relative offset 4 B)."""
    offsets = offset_index(tmp_path, 251, [(6, 0), (14, 459)])
    times = time_index(tmp_path, 251, [(1526384718283, 28)])
    offsets.trim()
    times.trim()
    assert offsets.path.read_bytes() == struct.pack(">iiii", 6, 0, 14, 459)
    assert times.path.read_bytes() == struct.pack(">qi", 1526384718283, 28)


@pytest.mark.parametrize(("kind", "size"), [("index", 64), ("timeindex", 60)])
def test_67_bytes_are_cut_to_whole_entries(tmp_path: Path, kind: str, size: int) -> None:
    """004 偏移量索引/时间戳索引: log.index.size.max.bytes = 67 becomes 64 and 60."""
    index = offset_index(tmp_path, 0, [], 67) if kind == "index" else time_index(tmp_path, 0, [], 67)
    assert index.path.stat().st_size == size


def test_a_time_entry_must_be_newer_than_the_last(tmp_path: Path) -> None:
    """000 时间戳索引: an entry whose timestamp is not larger than the last one's is not added."""
    times = time_index(tmp_path, 0, [(1500, 3), (1500, 9), (1400, 12), (1501, 15)])
    assert times.entries == 2
    assert times.last_entry == (1501, 15)


def test_the_index_is_sparse(tmp_path: Path) -> None:
    """000 日志索引: an entry per index.interval.bytes, not per message; a larger interval gives fewer."""
    counts = []
    for name, interval in (("dense", 100), ("sparse", 1000)):
        config = small_config(segment_bytes=1 << 20, index_interval_bytes=interval)
        log = LogBench(tmp_path / name, config=config).open()
        fill(log, 100)
        counts.append(log.active_segment.offset_index.entries)
        log.close()
    dense, sparse = counts
    assert 0 < sparse < dense <= 100


def test_interval_is_4096_by_default() -> None:
    """001 三. 日志索引: log.index.interval.bytes is 4096 by default."""
    assert LogConfig.from_topic({}).index_interval_bytes == 4096


def test_an_entry_names_the_last_offset_of_its_batch(tmp_path: Path) -> None:
    """004 偏移量索引 注意: the index keeps a batch's largest offset, and where the batch begins."""
    config = small_config(segment_bytes=1 << 20, index_interval_bytes=10)
    log = LogBench(tmp_path, config=config).open()
    fill(log, 2, records=5)
    index = log.active_segment.offset_index
    first_size = log.active_segment.size // 2
    assert index.entries == 1
    assert index.entry(0) == (9, first_size)
    log.close()


def test_time_and_offset_entries_may_name_different_records(tmp_path: Path) -> None:
    """004 时间戳索引 注意: the record with the largest timestamp need not be the last one."""
    config = small_config(segment_bytes=1 << 20, index_interval_bytes=10)
    log = LogBench(tmp_path, config=config).open()
    for stamp in (START_MS, START_MS + 5000, START_MS + 10):
        log.append_as_leader(run_of(batch([b"a", b"b"], timestamp=stamp)), 0)
    segment = log.active_segment
    assert segment.time_index.last_entry == (START_MS + 5001, 3)
    assert segment.offset_index.entry(segment.offset_index.entries - 1)[0] == 5
    log.close()


def test_a_time_entry_names_the_last_offset_of_the_batch_with_the_newest_record(tmp_path: Path) -> None:
    """000 and 004 时间戳索引 say: the offset of the message with that time. As in Kafka 4, it is the last of its batch.

    The look-up reads the batch, and finds the message itself either way.
    """
    config = small_config(segment_bytes=1 << 20, index_interval_bytes=10)
    log = LogBench(tmp_path, config=config).open()
    log.append_as_leader(run_of(batch(timestamp=START_MS)), 0)
    builder = BatchBuilder()
    for delta in (100, 900, 200, 300):
        builder.append(START_MS + delta, None, b"v")
    log.append_as_leader(run_of(bytes(builder.build())), 0)
    segment = log.active_segment
    assert segment.time_index.last_entry == (START_MS + 900, 4)
    found = log.offset_for_timestamp(START_MS + 900)
    assert found is not None
    assert (found.offset, found.timestamp) == (2, START_MS + 900)
    log.close()


def test_index_files_are_preallocated_and_trimmed_on_roll(tmp_path: Path) -> None:
    """000 日志索引: the active segment's indexes have their largest size; the others only what they use."""
    bench = LogBench(tmp_path, config=small_config(segment_index_bytes=4096))
    log = bench.open()
    fill(log, 60)
    sizes = {path.name: path.stat().st_size for path in bench.dir.iterdir() if path.suffix in (".index", ".timeindex")}
    active = f"{log.active_segment.base_offset:020d}"
    assert sizes.pop(f"{active}.index") == 4096
    assert sizes.pop(f"{active}.timeindex") == 4092
    assert sizes
    for segment in log.segments[:-1]:
        assert sizes[f"{segment.base_offset:020d}.index"] == 8 * segment.offset_index.entries
        assert sizes[f"{segment.base_offset:020d}.timeindex"] == 12 * segment.time_index.entries
    log.close()


def test_indexes_of_closed_segments_are_not_written_any_more(tmp_path: Path) -> None:
    """000 日志索引: only the active segment's indexes still grow; those of the others are fixed."""
    bench = LogBench(tmp_path)
    log = bench.open()
    fill(log, 60)
    closed = {f"{segment.base_offset:020d}" for segment in log.segments[:-1]}
    files = [path for path in bench.dir.glob("*index") if path.stem in closed]
    before = [path.read_bytes() for path in files]
    fill(log, 60)
    assert len(files) == 2 * len(closed) > 4
    assert [path.read_bytes() for path in files] == before
    log.close()


def test_indexes_are_mapped_into_memory(tmp_path: Path) -> None:
    """000 日志索引, 004 日志索引: index files are mapped (MappedByteBuffer), so that a look-up reads memory."""
    index = offset_index(tmp_path, 0, [(6, 0), (14, 459)])
    assert str(index.path) in Path("/proc/self/maps").read_text()


# --- when a segment is cut (000 日志索引, the four conditions) ------------------------------------------------------


def test_rolls_when_the_log_is_full(tmp_path: Path) -> None:
    """Condition 1: the size would pass log.segment.bytes."""
    log = LogBench(tmp_path, config=small_config(segment_bytes=1000)).open()
    fill(log, 30)
    assert len(log.segments) > 1
    assert all(segment.size <= 1000 for segment in log.segments)
    log.close()


def test_rolls_when_the_records_span_too_much_time(tmp_path: Path) -> None:
    """Condition 2: log.roll.ms or log.roll.hours is over."""
    bench = LogBench(tmp_path, config=small_config(segment_bytes=1 << 20, segment_ms=60_000))
    log = bench.open()
    log.append_as_leader(run_of(batch(timestamp=START_MS)), 0)
    log.append_as_leader(run_of(batch(timestamp=START_MS + 59_000)), 0)
    assert len(log.segments) == 1
    log.append_as_leader(run_of(batch(timestamp=START_MS + 60_001)), 0)
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    log.close()


def test_the_clock_alone_rolls_nothing(tmp_path: Path) -> None:
    """Condition 2 in 000 compares the segment's largest timestamp with the system's time. As in Kafka, it is the age of
    the records that counts: the append's newest against the segment's first batch; the clock only without timestamps.
    """
    bench = LogBench(tmp_path, config=small_config(segment_bytes=1 << 20, segment_ms=60_000))
    log = bench.open()
    log.append_as_leader(run_of(batch(timestamp=START_MS)), 0)
    bench.clock.set_time_ms(START_MS + 600_000)
    log.append_as_leader(run_of(batch(timestamp=START_MS + 1)), 0)
    assert len(log.segments) == 1
    log.append_as_leader(run_of(batch(timestamp=START_MS + 60_001)), 0)
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    log.roll()
    log.append_as_leader(run_of(batch(timestamp=-1)), 0)
    bench.clock.set_time_ms(START_MS + 1_200_000)
    log.append_as_leader(run_of(batch(timestamp=-1)), 0)
    assert [segment.base_offset for segment in log.segments] == [0, 2, 3, 4]
    log.close()


def test_rolls_when_an_index_is_full(tmp_path: Path) -> None:
    """Condition 3: the offset or time index reaches log.index.size.max.bytes."""
    config = small_config(segment_bytes=1 << 20, index_interval_bytes=1, segment_index_bytes=48)
    log = LogBench(tmp_path, config=config).open()
    fill(log, 20)
    assert len(log.segments) > 1
    assert all(segment.offset_index.entries <= 6 for segment in log.segments)
    log.close()


def test_rolls_when_an_offset_does_not_fit_its_segment(tmp_path: Path) -> None:
    """Condition 4: the distance to the base offset passes Integer.MAX_VALUE."""
    log = LogBench(tmp_path, config=small_config(segment_bytes=1 << 20)).open()
    log.append_as_follower(bytearray(batch(base_offset=0)))
    log.append_as_follower(bytearray(batch(base_offset=MAX_INT32)))
    assert len(log.segments) == 1
    log.append_as_follower(bytearray(batch(base_offset=MAX_INT32 + 1)))
    assert [segment.base_offset for segment in log.segments] == [0, MAX_INT32 + 1]
    log.close()


def test_a_thousand_messages_in_ten_segments(tmp_path: Path) -> None:
    """003 3.3: 1,000 messages, 100 a segment; offset 938 is found in the last one, without reading the others."""
    log = LogBench(tmp_path, config=small_config(segment_bytes=1 << 20)).open()
    for _ in range(10):
        fill(log, 100, records=1)
        if log.log_end_offset < 1000:
            log.roll()
    assert [segment.base_offset for segment in log.segments] == list(range(0, 1000, 100))
    result = log.read(938, 1)
    assert result.slice is not None
    assert result.slice.fileno() == log.active_segment.data.fileno()
    result.slice.release()
    assert records_of(log, 938)[0].offset == 938
    log.close()
