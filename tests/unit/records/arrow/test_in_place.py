"""Columns that are decoded where the batches were read: equal to the copied ones, at every size of step and buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidelog.common.errors import CorruptRecordError
from tidelog.records.arrow import batches_to_arrow, read_in_place
from tidelog.records.arrow.in_place import STEP
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker
from tidelog.records.kernel._filter import BatchFilter

COLUMNS = ("offset", "timestamp", "timestamp_type", "key", "value")


class Bytes:
    """Something to read from."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.read = 0

    def read_into(self, place: int, buffer: memoryview) -> int:
        part = self.data[place : place + len(buffer)]
        buffer[: len(part)] = part
        self.read += len(part)
        return len(part)


def pieces(
    data: bytes, *, size: int = 1 << 20, step: int = STEP, columns: tuple[str, ...] = COLUMNS, **options: Any
) -> Iterator[pa.RecordBatch]:
    position = 0
    while True:
        source = Bytes(data[position:])
        found = read_in_place(
            source.read_into, len(source.data), columns=columns, wanted=BatchFilter(**options), size=size, step=step
        )
        assert found is not None, "cannot be read in place"
        if not found.size:
            return
        found.batch.validate(full=True)
        yield found.batch
        position += found.size


def rows_in_place(data: bytes, **options: Any) -> list[dict[str, Any]]:
    return [row for batch in pieces(data, **options) for row in batch.to_pylist()]


def rows_copied(data: bytes, **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batches_to_arrow(data, columns=COLUMNS, **options).to_pylist()
    return rows


def build(count: int, *, base: int = 0, length: int = 40, headers: bool = False, **options: Any) -> bytes:
    builder = BatchBuilder(base_offset=base, **options)
    for i in range(count):
        key = None if i % 7 == 0 else b"key-%d" % (base + i)
        value = None if i % 5 == 0 else bytes([65 + (base + i) % 50]) * (i % (length + 1))
        timestamp = -1 if i % 11 == 3 else 1_600_000_000_000 + i % 50
        builder.append(timestamp, key, value, [("name", b"x" * (i % 9))] if headers and i % 3 == 0 else ())
    return builder.build()


@pytest.mark.parametrize("step", [1, 7, 61, 100, 1000, 1 << 20])
@pytest.mark.parametrize("size", [1, 200, 3000, 1 << 20])
def test_equal_to_copied_columns(step: int, size: int) -> None:
    data = b"".join(build(30, base=30 * number, length=20 * number, headers=number % 2 == 1) for number in range(20))
    assert rows_in_place(data, size=size, step=step) == rows_copied(data)


@pytest.mark.parametrize("length", [*range(70), 255, 256, 257, 300, 5000])
def test_values_of_every_length_are_moved_whole(length: int) -> None:
    """Short values are moved 32 bytes at a time, over what is behind them."""
    builder = BatchBuilder()
    for i in range(50):
        builder.append(0, None, bytes((i + n) % 251 for n in range(length)))
    data = builder.build() * 2
    assert rows_in_place(data, step=64) == rows_copied(data)


def test_some_columns_only() -> None:
    data = build(100)
    for columns in [("value",), ("offset",), ("key", "timestamp"), ("timestamp_type", "value"), ()]:
        (batch,) = pieces(data, columns=columns)
        assert batch.equals(batches_to_arrow(data, columns=columns))


def test_ranges_control_batches_and_aborted_transactions() -> None:
    def txn(producer: int, base: int) -> bytes:
        return build(2, base=base, producer_id=producer, producer_epoch=0, base_sequence=base, transactional=True)

    def marker(producer: int, base: int, committed: bool) -> bytes:
        return end_txn_marker(producer, 0, committed=committed, coordinator_epoch=0, timestamp=1, base_offset=base)

    data = txn(1, 0) + txn(2, 2) + marker(1, 4, False) + txn(1, 5) + marker(2, 7, True) + marker(1, 8, True)
    for options in ({}, {"aborted": [(1, 0)]}, {"first_offset": 1, "last_offset": 5}, {"aborted": [(1, 5)]}):
        for step in (1, 100, 1 << 20):
            assert rows_in_place(data, step=step, **options) == rows_copied(data, **options)
    assert [row["offset"] for row in rows_in_place(data, aborted=[(1, 0)])] == [2, 3, 5, 6]


def test_log_append_time() -> None:
    data = build(3, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=1_700_000_000_000)
    assert rows_in_place(data) == rows_copied(data)


def test_a_batch_that_is_cut_off_does_not_count() -> None:
    whole, cut = build(20), build(20, base=20)
    for left in range(len(cut)):
        assert rows_in_place(whole + cut[:left], step=50) == rows_copied(whole)
        assert rows_in_place(cut[:left]) == []


def test_what_is_behind_the_range_is_not_read() -> None:
    data = b"".join(build(1000, base=1000 * number) for number in range(200))
    source = Bytes(data)
    found = read_in_place(
        source.read_into, len(data), columns=COLUMNS, wanted=BatchFilter(last_offset=10), size=8 << 20
    )
    assert found is not None
    assert (found.batch.num_rows, found.next_offset) == (11, 1000)
    assert source.read < 600_000 < len(data)


def test_a_batch_larger_than_the_buffer_gets_a_buffer_of_its_size() -> None:
    data = build(10) + build(1000, base=10, length=500) + build(10, base=1010)
    batches = list(pieces(data, size=2000))
    assert [batch.num_rows for batch in batches] == [10, 1000, 10]


def test_a_length_beyond_the_file_takes_no_memory() -> None:
    lying = bytearray(build(3))
    lying[8:12] = b"\x7f\xff\xff\xff"
    before = pa.total_allocated_bytes()
    assert rows_in_place(bytes(lying)) == []
    assert pa.total_allocated_bytes() == before


def test_more_and_smaller_records_than_expected_end_the_columns() -> None:
    """The columns have room for records as large as those of the first batch."""
    large, small = BatchBuilder(), BatchBuilder(base_offset=1)
    large.append(0, None, bytes(4_000_000))
    for _ in range(60_000):
        small.append(0, None, b"x")
    data = large.build() + small.build()
    assert [batch.num_rows for batch in pieces(data, size=8 << 20)] == [1, 60_000]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_packed_and_old_batches_are_left_to_others(codec: Codec) -> None:
    packed = build(10, base=10, codec=codec)
    data = build(10) + packed
    first = read_in_place(Bytes(data).read_into, len(data), columns=COLUMNS, wanted=BatchFilter(), size=1 << 20)
    assert first is not None
    assert (first.batch.num_rows, first.size, first.next_offset) == (10, len(build(10)), 10)
    options: dict[str, Any] = {"columns": COLUMNS, "wanted": BatchFilter(), "size": 1 << 20}
    assert read_in_place(Bytes(packed).read_into, len(packed), **options) is None
    old = BatchBuilder(1)
    old.append(5, b"k", b"v")
    assert read_in_place(Bytes(old.build()).read_into, len(old.build()), **options) is None


def test_faults_are_told_after_what_is_in_front_of_them() -> None:
    good, bad = build(10), bytearray(build(10, base=10))
    bad[61] += 2
    assert rows_in_place(good + good) == rows_copied(good) * 2
    found = pieces(bytes(good + bad))
    assert next(found).num_rows == 10
    with pytest.raises(CorruptRecordError, match="malformed record"):
        next(found)
    lying = bytearray(build(10, base=10))
    lying[57:61] = b"\x7f\xff\xff\xff"
    with pytest.raises(CorruptRecordError, match="cannot hold 2147483647 records"):
        rows_in_place(bytes(lying))
    with pytest.raises(CorruptRecordError, match="magic 9"):
        rows_in_place(good + b"\x09" * 100)


def outcome(read: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return read(*arguments, **options)
    except CorruptRecordError:
        return "corrupt"


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(1, 400), st.integers(1, 2000))
def test_any_bytes_give_what_copying_gives_or_the_same_error(data: st.DataObject, step: int, size: int) -> None:
    content = bytearray(build(8) + build(5, base=8, headers=True) + build(1, base=13))
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    try:
        found = outcome(rows_in_place, bytes(content), size=size, step=step)
    except AssertionError:
        return  # a bit that says "packed" or "old"
    assert found == outcome(rows_copied, bytes(content))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.none() | st.binary(max_size=40), st.none() | st.binary(max_size=400)), max_size=12),
        max_size=6,
    ),
    st.integers(1, 300),
    st.integers(1, 3000),
)
@example([[(None, b"")], [], [(b"", None)]], 1, 1)
def test_any_records(batches: list[list[tuple[bytes | None, bytes | None]]], step: int, size: int) -> None:
    data, offset = b"", 0
    for records in batches:
        builder = BatchBuilder(base_offset=offset, producer_id=7)
        for key, value in records:
            builder.append(offset, key, value)
        data += builder.build() if records else builder.build_empty(last_offset=offset, timestamp=0)
        offset += max(len(records), 1)
    assert rows_in_place(data, step=step, size=size) == rows_copied(data)


def test_the_steps_are_small() -> None:
    """What is read at once is meant to be in a core's own cache when it is decoded."""
    asked: list[int] = []
    data = b"".join(build(1000, base=1000 * number) for number in range(40))

    def read(place: int, buffer: memoryview) -> int:
        asked.append(len(buffer))
        return Bytes(data).read_into(place, buffer)

    read_in_place(read, len(data), columns=COLUMNS, wanted=BatchFilter(), size=8 << 20)
    assert max(asked) == STEP <= 512 << 10
