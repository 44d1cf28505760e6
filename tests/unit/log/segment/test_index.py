from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference.sparse_index import IndexReference
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.fs import LOCAL_FS
from tidelog.log.segment._index import CorruptIndexError, IndexWriter, OffsetIndex, TimeIndex
from tidelog.log.segment.file_budget import FileBudget
from tidelog.log.segment.home import Home
from tidelog.records.kernel._batches import BatchRun


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, LOCAL_FS, SYSTEM_CLOCK, FileBudget(4))


def offset_index(home: Home, base: int = 100, size: int = 80) -> OffsetIndex:
    index = OffsetIndex(home, base, size)
    index.create()
    return index


def time_index(home: Home, base: int = 100, size: int = 60) -> TimeIndex:
    index = TimeIndex(home, base, size)
    index.create()
    return index


def test_the_file_is_preallocated_and_trimmed(home: Home) -> None:
    offsets, times = offset_index(home, size=83), time_index(home, size=10 << 20)
    assert home.fs.stat(offsets.path).size == 80
    assert home.fs.stat(times.path).size == 10_485_756  # rounded down to whole entries
    offsets.append(101, 0)
    offsets.append(117, 4200)
    times.maybe_append(5, 117)
    offsets.trim()
    times.finish()
    assert offsets.path.read_bytes() == struct.pack(">iiii", 1, 0, 17, 4200)
    assert times.path.read_bytes() == struct.pack(">qi", 5, 17)
    assert (offsets.entries, offsets.size, offsets.last_offset) == (2, 16, 117)


def test_lookup_gives_the_floor(home: Home) -> None:
    index = offset_index(home)
    assert index.lookup(150) == (100, 0)
    for offset, position in ((110, 500), (120, 900), (130, 1700)):
        assert index.append(offset, position)
    assert [index.lookup(offset) for offset in (99, 109, 110, 119, 129, 130, 10**12)] == [
        (100, 0), (100, 0), (110, 500), (110, 500), (120, 900), (130, 1700), (130, 1700),
    ]  # fmt: skip
    assert index.entry(1) == (120, 900)
    with pytest.raises(IndexError):
        index.entry(3)


def test_entries_must_rise_and_fit(home: Home) -> None:
    index = offset_index(home)
    index.append(110, 500)
    with pytest.raises(CorruptIndexError, match="does not follow"):
        index.append(110, 600)
    with pytest.raises(CorruptIndexError, match="too far"):
        index.append(100 + 2**31, 600)
    times = time_index(home)
    times.maybe_append(50, 120)
    with pytest.raises(CorruptIndexError, match="lies before"):
        times.maybe_append(51, 119)
    assert not times.maybe_append(50, 130)
    assert times.entries == 1


def test_full(home: Home) -> None:
    index = offset_index(home, size=24)
    assert [index.append(101 + n, n) for n in range(4)] == [True, True, True, False]
    assert index.full
    times = time_index(home, size=36)
    assert [times.maybe_append(n, 101 + n) for n in range(4)] == [True, True, False, False]
    assert times.full  # one slot is kept for the end of the segment
    assert times.maybe_append(9, 110, True)
    assert not times.maybe_append(10, 111, True)


def test_an_existing_file_counts_as_full_to_its_length_and_grows_on_append(home: Home) -> None:
    offset_index(home).close()
    index = OffsetIndex(home, 100, 80)
    assert index.entries == 10
    index.resize(16)
    index.close()
    index = OffsetIndex(home, 100, 80)
    assert index.entries == 2
    assert home.fs.stat(index.path).size == 16
    index.append(900, 5)
    assert home.fs.stat(index.path).size == 80
    assert index.entries == 3


def test_closing_for_the_budget_forgets_nothing(home: Home) -> None:
    indexes = [offset_index(home, base=1000 * n) for n in range(10)]
    for index in indexes:
        index.append(index.base_offset + 5, 77)
    assert len(home.files) == 4
    assert [index.lookup(index.base_offset + 9) for index in indexes] == [(1000 * n + 5, 77) for n in range(10)]
    assert all(index.entries == 1 for index in indexes)


@pytest.mark.parametrize(("offset", "left"), [(100, 0), (110, 0), (111, 1), (120, 1), (125, 2), (500, 3)])
def test_truncate(home: Home, offset: int, left: int) -> None:
    index = offset_index(home)
    times = time_index(home)
    for number, entry in enumerate((110, 120, 130)):
        index.append(entry, entry)
        times.maybe_append(number, entry)
    index.truncate_to(offset)
    times.truncate_to(offset)
    assert (index.entries, times.entries) == (left, left)


def test_reset_makes_a_missing_file(home: Home) -> None:
    index = offset_index(home)
    index.append(110, 1)
    index.close()
    home.fs.unlink(index.path)
    index.reset()
    assert (index.entries, home.fs.stat(index.path).size) == (0, 80)


def test_a_missing_time_index_is_empty(home: Home) -> None:
    times = TimeIndex(home, 100, 60)
    assert (times.entries, times.last_entry) == (0, (-1, 100))
    with pytest.raises(FileNotFoundError):
        OffsetIndex(home, 100, 60).lookup(5)


def test_check_finds_disorder(home: Home) -> None:
    index = offset_index(home)
    index.path.write_bytes(struct.pack(">iiii", 5, 10, 5, 20))
    index.close()
    broken = OffsetIndex(home, 100, 80)
    with pytest.raises(CorruptIndexError, match="entry 1"):
        broken.check()
    times = time_index(home)
    times.close()
    times.path.write_bytes(struct.pack(">qiqi", 5, 10, 4, 20))
    with pytest.raises(CorruptIndexError, match="entry 1"):
        TimeIndex(home, 100, 60).check()


def header_only(base_offset: int, count: int, size: int, timestamp: int) -> bytes:
    """A batch of `size` bytes that has only a header worth reading."""
    head = struct.pack(
        ">qiibIhiqqqhii", base_offset, size - 12, 0, 2, 0, 0, count - 1, timestamp, timestamp, -1, -1, -1, count
    )
    return head + bytes(size - len(head))


BATCHES = st.lists(st.tuples(st.integers(1, 50), st.integers(61, 3000), st.integers(-1, 200)), min_size=1, max_size=120)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES, interval=st.integers(0, 5000), size=st.sampled_from([24, 120, 4096]), cuts=st.randoms())
def test_entries_are_those_of_the_reference(home: Home, batches, interval: int, size: int, cuts) -> None:  # type: ignore[no-untyped-def] # hypothesis
    base = 1_000_000
    writer = IndexWriter(offset_index(home, base, size), time_index(home, base, size), interval)
    reference = IndexReference(base, interval, size // 8, size // 12)
    offset, pending, position = base, [], 0
    for count, length, timestamp in batches:
        pending.append(header_only(offset, count, length, timestamp))
        offset += count
        reference.append(offset - 1, length, timestamp)
        if cuts.random() < 0.3:
            run = BatchRun(b"".join(pending))
            run.scan()
            writer.append(run, 0, len(run), position)
            position += run.size
            pending.clear()
    if pending:
        run = BatchRun(b"".join(pending))
        run.scan()
        writer.append(run, 0, len(run), position)
    for target in (base - 1, base, base + 7, offset // 2, offset - 1, offset + 9):
        assert writer.offsets.lookup(target) == reference.lookup(target)
    for target in (-1, 0, 50, 199, 500):
        assert writer.times.lookup(target) == reference.time_lookup(target)
    writer.force_time_entry()
    reference.finish()
    writer.offsets.finish()
    writer.times.finish()
    assert writer.offsets.path.read_bytes() == reference.offset_bytes()
    assert writer.times.path.read_bytes() == reference.time_bytes()


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4000, unique=True), st.integers(-5, 2**31 + 5))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_search_with_a_warm_section_finds_what_a_plain_one_finds(
    home: Home, offsets: list[int], target: int
) -> None:
    index = offset_index(home, base=0, size=8 * 4000)
    for position, offset in enumerate(sorted(offsets)):
        index.append(offset, position)
    below = [offset for offset in offsets if offset <= target]
    assert index.lookup(target) == ((max(below), len(below) - 1) if below else (0, 0))
    index.close()


def test_every_entry_is_found_in_an_index_that_is_longer_than_its_warm_section(home: Home) -> None:
    """The searches on both sides of where the warm section begins (1024 entries before the last) find their own."""
    index = offset_index(home, base=0, size=8 * 3000)
    for slot in range(3000):
        index.append(10 * slot, slot)
    found = [index.lookup(10 * slot + 5) for slot in range(3000)]
    assert found == [(10 * slot, slot) for slot in range(3000)]
    index.close()
