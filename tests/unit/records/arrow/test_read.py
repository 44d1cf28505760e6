"""Batches as Arrow columns: every format and codec, ranges, control batches, transactions, views."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidelog.common.errors import CorruptRecordError, UsageError
from tidelog.records.arrow import ALL_COLUMNS, ColumnReader, batches_to_arrow, read_columns, schema
from tidelog.records.codec.compression import DEFAULT_LIMIT
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker
from tidelog.records.format.convert import up_convert
from tidelog.records.kernel._filter import BatchFilter


def build(
    count: int, *, magic: int = 2, codec: Codec = Codec.NONE, base: int = 0, mixed: bool = True, **options: Any
) -> bytes:
    builder = BatchBuilder(magic, codec, base_offset=base, **options)
    for i in range(count):
        key = None if mixed and i % 7 == 0 else b"key-%d" % i
        value = None if mixed and i % 5 == 0 else b"v" * (i % 40)
        headers = [(f"a{i}", b"x" * (i % 20)), ("b", None)] if mixed and magic == 2 and i % 3 == 0 else ()
        builder.append(1_600_000_000_000 + i % 50, key, value, headers)
    return builder.build()


def expected_rows(data: bytes) -> list[dict[str, Any]]:
    return [
        {
            "offset": record.offset,
            "timestamp": None if record.timestamp == -1 else record.timestamp,
            "timestamp_type": max(int(batch.timestamp_type), 0),
            "key": record.key,
            "value": record.value,
            "headers": [{"key": name, "value": value} for name, value in record.headers],
        }
        for batch in iter_batches(data)
        for record in batch
    ]


def rows_of(table: pa.RecordBatch) -> list[dict[str, Any]]:
    table.validate(full=True)
    rows = table.to_pylist()
    if "timestamp" in table.schema.names:
        for row, number in zip(rows, table["timestamp"].view(pa.int64()).to_pylist(), strict=True):
            row["timestamp"] = number
    return rows


FORMATS = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec != Codec.ZSTD]


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_every_format(magic: int, codec: Codec, view: bool) -> None:
    data = build(200, magic=magic, codec=codec) + build(9, magic=magic, codec=codec, base=300)
    table = batches_to_arrow(data, view=view)
    assert table.schema.equals(schema(view=view))
    assert rows_of(table) == expected_rows(data)


@pytest.mark.parametrize("view", [False, True])
def test_values_of_every_short_length_and_their_last_bytes(view: bool) -> None:
    """Short values lie inside the views, and the last record of a buffer is copied byte by byte."""
    for length in range(70):
        builder = BatchBuilder()
        builder.append(0, bytes(range(1, length + 1)), b"")
        builder.append(0, b"", bytes(range(100, 100 + length)))
        rows = batches_to_arrow(builder.build(), view=view).to_pylist()
        assert rows[0]["key"] == bytes(range(1, length + 1))
        assert rows[1]["value"] == bytes(range(100, 100 + length))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_offset_ranges_are_inclusive(codec: Codec) -> None:
    data = build(100, codec=codec) + build(100, codec=codec, base=100)
    for first, last in [(0, 199), (5, 5), (95, 104), (None, 3), (190, None), (250, None), (None, -1)]:
        table = batches_to_arrow(data, first_offset=first, last_offset=last, columns=("offset", "headers", "key"))
        wanted = [
            (row["offset"], row["key"], row["headers"])
            for row in expected_rows(data)
            if (first is None or row["offset"] >= first) and (last is None or row["offset"] <= last)
        ]
        assert [(row["offset"], row["key"], row["headers"]) for row in rows_of(table)] == wanted


def test_some_columns_only() -> None:
    data = build(20)
    for columns in [("value",), ("timestamp", "offset"), ("headers",), ("timestamp_type", "key"), ()]:
        table = batches_to_arrow(data, columns=columns)
        assert table.schema.names == list(columns)
    assert batches_to_arrow(data, columns=("value",))["value"].to_pylist() == [
        row["value"] for row in expected_rows(data)
    ]
    with pytest.raises(UsageError, match="unknown columns size"):
        batches_to_arrow(data, columns=("size",))


def test_several_buffers_and_a_cut_tail() -> None:
    first, second = build(5), build(5, base=5)
    reader = ColumnReader(BatchFilter(), up_convert, limit=DEFAULT_LIMIT)
    assert reader.add(first + second[:30]) == len(first)
    assert reader.next_offset == 5
    assert reader.add(bytearray(second)) == len(second)
    assert reader.next_offset == 10
    assert rows_of(read_columns(reader)) == expected_rows(first + second)
    assert rows_of(batches_to_arrow([first, memoryview(second)])) == expected_rows(first + second)


def test_nothing_at_all() -> None:
    for view in (False, True):
        table = batches_to_arrow(b"", view=view)
        assert table.num_rows == 0
        assert table.schema.equals(schema(view=view))
    empty = BatchBuilder(producer_id=1).build_empty(last_offset=3, timestamp=0)
    assert batches_to_arrow(empty).num_rows == 0


def test_log_append_time() -> None:
    data = build(3, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=1_700_000_000_000, codec=Codec.GZIP)
    rows = rows_of(batches_to_arrow(data))
    assert [(row["timestamp"], row["timestamp_type"]) for row in rows] == [(1_700_000_000_000, 1)] * 3


def test_views_keep_the_batches_alive_and_copy_nothing() -> None:
    data = bytearray(build(50, mixed=False))
    table = batches_to_arrow(data, view=True, columns=("value",))
    with pytest.raises(BufferError):
        data.extend(b"more")
    long = table["value"][39].as_py()
    position = data.index(b"v" * 39)
    data[position] = ord("w")
    assert table["value"][39].as_py() == b"w" + long[1:]
    del table
    data.extend(b"more")


def test_control_batches_are_skipped_unless_asked_for() -> None:
    marker = end_txn_marker(4, 0, committed=True, coordinator_epoch=0, timestamp=9, base_offset=5)
    data = build(5) + marker
    assert batches_to_arrow(data).num_rows == 5
    assert batches_to_arrow(data, skip_control=False)["offset"].to_pylist() == [0, 1, 2, 3, 4, 5]


def test_aborted_transactions_are_left_out_until_their_marker() -> None:
    def txn(producer: int, base: int) -> bytes:
        return build(2, base=base, producer_id=producer, producer_epoch=0, base_sequence=base, transactional=True)

    def marker(producer: int, base: int, committed: bool) -> bytes:
        return end_txn_marker(producer, 0, committed=committed, coordinator_epoch=0, timestamp=1, base_offset=base)

    plain = build(2, base=10)
    idempotent = build(2, base=12, producer_id=1, producer_epoch=0, base_sequence=50)
    data = (
        txn(1, 0)
        + txn(2, 2)
        + txn(1, 4)
        + marker(1, 6, False)
        + marker(2, 7, True)
        + txn(1, 8)
        + plain
        + idempotent
        + marker(1, 14, True)
        + txn(2, 15)
        + txn(1, 17)
        + marker(2, 19, False)
        + txn(2, 20)
        + marker(1, 22, True)
    )
    everything = batches_to_arrow(data, columns=("offset",))["offset"].to_pylist()
    assert everything == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 20, 21]
    committed = batches_to_arrow(data, columns=("offset",), aborted=[(2, 15), (1, 0)])["offset"].to_pylist()
    assert committed == [2, 3, 8, 9, 10, 11, 12, 13, 17, 18, 20, 21]


def test_corrupt_input_is_named() -> None:
    data = bytearray(build(5))
    data[70] ^= 0xFF
    with pytest.raises(CorruptRecordError, match="checksum"):
        batches_to_arrow(data, check_crc=True)
    lying = bytearray(build(5))
    lying[57:61] = b"\x7f\xff\xff\xff"
    with pytest.raises(CorruptRecordError, match="cannot hold 2147483647 records"):
        batches_to_arrow(lying)
    malformed = bytearray(build(5))
    malformed[61] += 2
    with pytest.raises(CorruptRecordError, match="malformed record"):
        batches_to_arrow(malformed)
    unknown = bytearray(build(5))
    unknown[22] = 5
    with pytest.raises(CorruptRecordError, match="codec 5"):
        batches_to_arrow(unknown)


def test_bombs_are_bounded() -> None:
    builder = BatchBuilder(codec=Codec.GZIP)
    builder.append(0, None, bytes(500_000))
    assert batches_to_arrow(builder.build()).num_rows == 1
    with pytest.raises(CorruptRecordError, match="more than 1000 bytes"):
        batches_to_arrow(builder.build(), limit=1000)


def test_header_names_that_are_no_utf8() -> None:
    builder = BatchBuilder()
    builder.append(0, None, None, [("ab", b"1"), ("fine", b"2")])
    data = bytearray(builder.build())
    data[data.index(b"ab")] = 0xFF
    headers = rows_of(batches_to_arrow(data))[0]["headers"]
    assert headers == [{"key": "\ufffdb", "value": b"1"}, {"key": "fine", "value": b"2"}]


def test_all_columns_are_the_schema_s() -> None:
    assert schema().names == list(ALL_COLUMNS)
