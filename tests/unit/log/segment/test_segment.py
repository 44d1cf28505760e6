from __future__ import annotations

from pathlib import Path

import pytest

from support.logs import START_MS, batch, run_of, small_config
from tidelog.common.errors import CorruptRecordError
from tidelog.common.fs import LOCAL_FS
from tidelog.log.config import LogConfig
from tidelog.log.names import CLEANED, SEGMENT_KINDS, SWAP, file_name
from tidelog.log.segment.file_budget import FileBudget
from tidelog.log.segment.home import Home
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.testing.clock import ManualClock


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, LOCAL_FS, ManualClock(START_MS), FileBudget(8))


def make(home: Home, batches: int = 0, *, base: int = 100, config: LogConfig | None = None, magic: int = 2) -> Segment:
    """A segment of batches of two records (one in the old formats)."""
    segment = Segment.create(home, base, config or small_config())
    for _ in range(batches):
        offset = segment.next_offset()
        values = [b"%05d" % offset, b"%05d" % (offset + 1)][: 2 if magic == 2 else 1]
        segment.append_bytes(batch(values, base_offset=offset, timestamp=START_MS + offset, magic=magic))
    return segment


def offsets_in(segment: Segment) -> list[int]:
    return [
        record.offset
        for _, run in segment.batches()
        for part in iter_batches(b"".join(run.buffers()))
        for record in part.records()
    ]


def test_files_of_a_new_segment(home: Home) -> None:
    segment = make(home, 1)
    assert home.fs.listdir(home.path) == [file_name(100, kind) for kind in (".index", ".log", ".timeindex")]
    assert (segment.size, segment.next_offset()) == (home.fs.stat(segment.data.path).size, 102)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_translate_and_read_find_every_offset(home: Home, magic: int) -> None:
    segment = make(home, 60, magic=magic)
    step = 2 if magic == 2 else 1
    for offset in range(100, 100 + 60 * step):
        found = segment.translate(offset)
        assert found is not None
        assert found.base_offset == offset - (offset - 100) % step
        result = segment.read(offset, 1, min_one_message=True)
        assert result is not None
        assert result.slice is not None
        data = result.slice.read()
        result.slice.release()
        assert [record.offset for part in iter_batches(data) for record in part.records()] == list(
            range(found.base_offset, found.base_offset + step)
        )
    assert segment.translate(100 + 60 * step) is None
    assert segment.read(100 + 60 * step, 100) is None


def test_read_limits(home: Home) -> None:
    segment = make(home, 10)
    first = segment.translate(100)
    assert first is not None
    cut = segment.read(100, 10)
    assert cut is not None
    assert cut.slice is not None
    assert (len(cut.slice), cut.first_batch_incomplete, cut.base_offset) == (10, True, 100)
    bounded = segment.read(100, 10_000, max_position=first.size * 3)
    assert bounded is not None
    assert bounded.slice is not None
    assert len(bounded.slice) == first.size * 3
    nothing = segment.read(106, 10_000, max_position=first.size * 3)
    assert nothing is not None
    assert nothing.slice is None
    for result in (cut, bounded):
        assert result.slice is not None
        result.slice.release()


def test_large_batches_and_small_chunks(home: Home) -> None:
    segment = Segment.create(home, 0, small_config(segment_bytes=1 << 22))
    for offset, size in enumerate((10, 50_000, 3, 2_000_000, 7)):
        segment.append_bytes(batch([b"x" * size], base_offset=offset))
    assert offsets_in(segment) == [0, 1, 2, 3, 4]
    assert [len(run) for _, run in segment.batches(chunk=100)] == [1, 1, 1, 1, 1]
    assert segment.next_offset() == 5
    assert [segment.translate(offset).base_offset for offset in range(5)] == [0, 1, 2, 3, 4]  # type: ignore[union-attr] # all there


def test_batches_stop_at_a_torn_one_and_raise_at_garbage(home: Home) -> None:
    segment = make(home, 3)
    whole = segment.size
    segment.data.append([batch([b"torn"], base_offset=106)[:-5]], len(batch([b"torn"])) - 5)
    assert offsets_in(segment) == list(range(100, 106))
    assert segment.next_offset() == 106
    segment.data.truncate(whole)
    segment.data.append([bytes(40)], 40)
    with pytest.raises(CorruptRecordError) as caught:
        offsets_in(segment)
    assert caught.value.position == whole
    with pytest.raises(CorruptRecordError):
        segment.next_offset()


def test_append_bytes_takes_whole_batches_only(home: Home) -> None:
    with pytest.raises(CorruptRecordError, match="whole batch"):
        make(home).append_bytes(batch([b"x"], base_offset=100)[:-1])


def test_timestamps(home: Home) -> None:
    segment = make(home, 0)
    assert (segment.max_timestamp, segment.first_batch_timestamp()) == (-1, None)
    assert segment.largest_timestamp == segment.mtime_ms
    for offset, timestamp in ((100, 50), (101, 90), (102, 70)):
        segment.append_bytes(batch([b"x"], base_offset=offset, timestamp=timestamp))
    assert (segment.max_timestamp, segment.offset_of_max_timestamp) == (90, 101)
    assert segment.first_batch_timestamp() == 50
    segment.close()
    again = Segment.load(home, 100, small_config())
    assert (again.max_timestamp, again.offset_of_max_timestamp, again.first_batch_timestamp()) == (90, 101, 50)
    assert again.time_index.last_entry == (90, 101)


def test_load_finds_a_timestamp_behind_the_last_index_entry(home: Home) -> None:
    segment = make(home, 41)
    expected = segment.max_timestamp
    segment.release()  # no last entry was forced
    again = Segment.load(home, 100, small_config())
    again.time_index.resize(segment.time_index.entries * 12)
    again.offset_index.resize(segment.offset_index.entries * 8)
    assert again.time_index.last_entry[0] < expected
    assert again.max_timestamp == expected


def test_roll_rules(home: Home) -> None:
    config = small_config(segment_bytes=500, segment_ms=1000)
    segment = make(home, 2, config=config)
    now = home.clock.time_ms()
    size, first = segment.size, START_MS + 101
    assert not segment.should_roll(500 - size, first + 1000, 200, now)
    assert segment.should_roll(501 - size, first, 200, now)  # size
    assert segment.should_roll(1, first + 1001, 200, now)  # record time
    assert not segment.should_roll(1, first, 100 + 2**31 - 1, now)
    assert segment.should_roll(1, first, 100 + 2**31, now)  # offset
    segment.jitter_ms = 10
    assert segment.should_roll(1, first + 991, 200, now)
    empty = make(home, 0, base=900, config=config)
    assert not empty.should_roll(1, first + 10**9, 901, now + 10**9)  # an empty one does not age


def test_segments_without_timestamps_age_by_the_clock(home: Home) -> None:
    segment = make(home, 1, config=small_config(segment_ms=1000), magic=0)
    assert not segment.should_roll(1, -1, 200, START_MS + 1000)
    assert segment.should_roll(1, -1, 200, START_MS + 1001)


def test_a_full_index_rolls(home: Home) -> None:
    segment = make(home, 1, config=small_config(segment_index_bytes=48, index_interval_bytes=0))
    for offset in range(102, 114, 2):
        assert not segment.should_roll(1, 0, offset, START_MS)
        segment.append_bytes(batch([b"a", b"b"], base_offset=offset, timestamp=START_MS))
    assert segment.offset_index.full
    assert segment.should_roll(1, 0, 114, START_MS)


def test_become_inactive_trims_and_forces_the_last_time_entry(home: Home) -> None:
    segment = make(home, 50, config=small_config(preallocate="true", segment_bytes=100_000))
    assert home.fs.stat(segment.data.path).size == 100_000
    segment.become_inactive()
    assert home.fs.stat(segment.data.path).size == segment.size
    assert home.fs.stat(segment.offset_index.path).size == segment.offset_index.entries * 8
    assert segment.time_index.last_entry == (START_MS + 199, 199)


@pytest.mark.parametrize("offset", [100, 101, 130, 131, 150, 199, 200, 500])
def test_truncate(home: Home, offset: int) -> None:
    segment = make(home, 50)
    segment.txn_index.append(AbortedTxn(1, 100, 120, 121))
    segment.txn_index.append(AbortedTxn(1, 130, 140, 141))
    segment.truncate_to(offset)
    kept = range(100, min(offset - offset % 2, 200))
    assert offsets_in(segment) == list(kept)
    assert segment.max_timestamp == (START_MS + kept[-1] if kept else -1)
    assert all(entry.last_offset < offset for entry in segment.txn_index.entries)
    assert home.fs.stat(segment.offset_index.path).size == 4096
    segment.offset_index.check()
    assert segment.offset_index.last_offset < max(offset, 101)
    segment.append_bytes(batch([b"new"], base_offset=max(offset, 200), timestamp=START_MS + 999))
    assert segment.next_offset() == max(offset, 200) + 1


def test_suffixes(home: Home) -> None:
    segment = Segment.create(home, 5, small_config(), suffix=CLEANED)
    segment.append_bytes(batch([b"x"], base_offset=5))
    segment.txn_index.append(AbortedTxn(1, 5, 5, 6))
    segment.set_mtime(START_MS)
    segment.change_suffix(CLEANED, SWAP)
    assert set(home.fs.listdir(home.path)) == {file_name(5, kind, SWAP) for kind in SEGMENT_KINDS}
    segment.release()
    assert offsets_in(segment) == [5]
    assert segment.mtime_ms == START_MS
    segment.delete()
    assert home.fs.listdir(home.path) == []


def test_create_removes_what_a_crash_left(home: Home) -> None:
    for kind in SEGMENT_KINDS:
        home.file(file_name(100, kind)).write_bytes(b"junk" * 100)
    segment = make(home, 1)
    assert segment.txn_index.entries == []
    assert (segment.offset_index.entries, segment.time_index.entries) == (0, 0)
    assert offsets_in(segment) == [100, 101]


def test_compressed_batches_count_as_one(home: Home) -> None:
    segment = Segment.create(home, 0, small_config())
    run = run_of(batch([b"x" * 50] * 20, codec=Codec.GZIP))
    run.stamp(40, 3)
    segment.append(run, run.buffers())
    assert segment.translate(55) == (0, segment.size, 40)
    assert segment.next_offset() == 60
