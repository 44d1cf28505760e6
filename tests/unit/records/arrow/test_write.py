"""Arrow columns as batches, and keys as partitions."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from reference.records.batch_v2 import PlainRecord, encode_batch
from tidelog.common import hashing
from tidelog.common.errors import UsageError
from tidelog.records.arrow import ArrowRows, arrow_to_batches, batches_to_arrow, partition_keys, rows_by_partition
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import Record, iter_batches
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel.murmur2 import murmur2, partition_for_key

RNG = random.Random(7)
KEYS = [None if i % 11 == 0 else RNG.randbytes(i % 30) for i in range(500)]
VALUES = [None if i % 13 == 0 else RNG.randbytes(i % 300) for i in range(500)]
TIMES = [1_000_000 + RNG.randrange(-5000, 5000) for _ in range(500)]
HEADERS = [[(f"h{j}", None if j == 1 else RNG.randbytes(j)) for j in range(i % 4)] for i in range(500)]
HEADER_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def header_column(rows: list[list[tuple[str, bytes | None]]]) -> Any:
    return pa.array([[{"key": name, "value": value} for name, value in row] for row in rows], HEADER_TYPE)


def records_of(batches: list[memoryview]) -> list[Record]:
    records = []
    for batch in batches:
        run = BatchRun(batch)
        run.add(0, len(batch))
        run.check()
        records += [record for entry in iter_batches(batch) for record in entry]
    return records


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("start", [0, 3, 250])
@pytest.mark.parametrize("limit", [80, 4000, 1_000_000])
def test_rows_come_back(codec: Codec, start: int, limit: int) -> None:
    batches = arrow_to_batches(
        pa.array(KEYS, pa.binary())[start:],
        pa.array(VALUES, pa.binary())[start:],
        pa.array(TIMES)[start:],
        header_column(HEADERS)[start:],
        codec=codec,
        max_batch_bytes=limit,
        base_offset=start,
    )
    assert records_of(batches) == [
        Record(i, TIMES[i], KEYS[i], VALUES[i], tuple(HEADERS[i])) for i in range(start, 500)
    ]


@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize("limit", [80, 4000, 1_000_000])
@pytest.mark.parametrize("chosen", [1, 7, 400])
def test_an_order_is_the_same_as_to_take_the_rows(start: int, limit: int, chosen: int) -> None:
    columns = [pa.array(KEYS, pa.binary()), pa.array(VALUES, pa.binary()), pa.array(TIMES), header_column(HEADERS)]
    columns = [column[start:] for column in columns]
    order = pa.array(RNG.choices(range(500 - start), k=chosen + 2), pa.uint64())[1:-1]
    how: dict[str, Any] = {"max_batch_bytes": limit, "producer_id": 1, "producer_epoch": 0, "base_sequence": 3}
    taken = arrow_to_batches(*(column.take(order) for column in columns), **how)
    assert ArrowRows(*columns).batches(order, **how) == taken
    bare = arrow_to_batches(None, columns[1].take(order), default_timestamp=9, **how)
    assert ArrowRows(None, columns[1], default_timestamp=9).batches(order, **how) == bare


def test_the_first_row_that_is_too_large_is_found() -> None:
    rows = ArrowRows(pa.array([b"k"] * 4), pa.array([b"", b"x" * 99, b"y" * 100, b"z" * 200]), default_timestamp=1)
    sizes = [rows.encoder().first_larger(limit) for limit in (0, 173, 10_000)]
    assert [found and found[0] for found in sizes] == [0, 2, None]
    (alone,) = ArrowRows(pa.array([b"k"]), pa.array([b"y" * 100]), default_timestamp=1).batches()
    assert sizes[1] is not None
    assert len(alone) <= sizes[1][1] <= len(alone) + 4  # a length may take up to five bytes, and takes two here
    headers = ArrowRows(None, pa.array([b"a"]), headers=header_column([[("name", b"x" * 500)]]))
    assert headers.encoder().first_larger(500) is not None
    assert rows.encoder(pa.array([3, 0], pa.uint64())).first_larger(180) == (0, sizes[1][1] + 100)


def test_times_before_1970_are_found() -> None:
    values = pa.array([b"a", b"b"])
    assert ArrowRows(None, values, pa.array([5, -3])).first_before_1970() == (1, -3)
    assert (
        ArrowRows(None, values, pa.array([5, None], pa.timestamp("us")), default_timestamp=7).first_before_1970()
        is None
    )
    assert ArrowRows(None, values).first_before_1970() is None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_without_a_checksum_everything_else_is_the_same(codec: Codec) -> None:
    rows = ArrowRows(None, pa.array(VALUES, pa.binary()), pa.array(TIMES))
    whole = rows.batches(codec=codec, max_batch_bytes=4000)
    bare = rows.batches(codec=codec, max_batch_bytes=4000, checksum=False)
    assert len(whole) == len(bare) > 1
    for one, other in zip(whole, bare, strict=True):
        assert (one[:17], one[21:]) == (other[:17], other[21:])
        assert one[17:21] != other[17:21]


def test_no_rows_chosen_no_batches() -> None:
    assert ArrowRows(None, pa.array([b"a"])).batches(pa.array([], pa.uint64())) == []


def test_bytes_are_those_of_the_reference() -> None:
    (batch,) = arrow_to_batches(
        pa.array([b"k", None]),
        pa.array([None, b"v" * 200]),
        pa.array([5, 9]),
        header_column([[("a", b"b")], []]),
        producer_id=3,
        producer_epoch=4,
        base_sequence=5,
        transactional=True,
        leader_epoch=6,
    )
    assert bytes(batch) == encode_batch(
        [PlainRecord(0, 0, b"k", None, ((b"a", b"b"),)), PlainRecord(1, 4, None, b"v" * 200, ())],
        attributes=0x10,
        base_timestamp=5,
        max_timestamp=9,
        producer_id=3,
        producer_epoch=4,
        base_sequence=5,
        leader_epoch=6,
    )


def test_batches_stay_within_the_limit_and_sequences_go_on() -> None:
    values = pa.array([b"x" * 100] * 1000)
    batches = arrow_to_batches(
        None, values, max_batch_bytes=5000, producer_id=1, producer_epoch=0, base_sequence=2**31 - 500
    )
    assert max(map(len, batches)) <= 5000
    assert min(map(len, batches[:-1])) > 4800
    sequence = 2**31 - 500
    for batch in batches:
        (entry,) = iter_batches(batch)
        assert (entry.base_sequence, entry.base_offset) == (sequence % 2**31, 0)
        sequence += entry.record_count
    assert sequence == 2**31 + 500


def test_a_row_larger_than_the_limit_has_a_batch_to_itself() -> None:
    values = pa.array([b"a", b"b" * 5000, b"c"])
    batches = arrow_to_batches(None, values, max_batch_bytes=100)
    assert [[record.value for record in records_of([batch])] for batch in batches] == [[b"a"], [b"b" * 5000], [b"c"]]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.large_binary(), pa.binary_view(), pa.string_view(), pa.binary(3)]
)
def test_all_sorts_of_columns(kind: Any) -> None:
    column = (
        pa.array(["abc", None, "déf"[:2]], pa.string()) if kind != pa.binary(3) else pa.array([b"abc", None, b"def"])
    )
    records = records_of(arrow_to_batches(column.cast(kind), column.cast(pa.binary()).cast(kind)))
    expected = [
        None if item is None else item if isinstance(item, bytes) else item.encode() for item in column.to_pylist()
    ]
    assert [record.key for record in records] == [record.value for record in records] == expected


def test_dictionaries_nulls_and_chunks() -> None:
    words = pa.chunked_array([["a", "b"], ["a"]])
    assert [record.key for record in records_of(arrow_to_batches(words.dictionary_encode(), words))] == [
        b"a",
        b"b",
        b"a",
    ]
    assert [record.value for record in records_of(arrow_to_batches(words, pa.nulls(3)))] == [None] * 3
    assert [record.value for record in records_of(arrow_to_batches(words, None))] == [None] * 3


def test_timestamps_of_every_unit_and_missing_ones() -> None:
    values = pa.array([b"a", b"b"])
    for unit, scale in (("s", 1000), ("ms", 1), ("us", 0.001), ("ns", 0.000001)):
        times = pa.array([1_600_000_000, None], pa.int64()).cast(pa.timestamp(unit, "UTC"))
        records = records_of(arrow_to_batches(None, values, times, default_timestamp=77))
        assert [record.timestamp for record in records] == [int(1_600_000_000 * scale), 77]
    assert {record.timestamp for record in records_of(arrow_to_batches(None, values, default_timestamp=5))} == {5}


def test_headers_as_maps_and_null_lists() -> None:
    kind = pa.map_(pa.string(), pa.binary())
    headers = pa.array([[("a", b"1")], None, [("b", None), ("c", b"")]], kind)
    records = records_of(arrow_to_batches(None, pa.array([b"x"] * 3), headers=headers))
    assert [record.headers for record in records] == [(("a", b"1"),), (), (("b", None), ("c", b""))]
    empty = header_column([[], []])
    assert [record.headers for record in records_of(arrow_to_batches(None, pa.array([b"x"] * 2), headers=empty))] == [
        (),
        (),
    ]


def test_no_rows() -> None:
    assert arrow_to_batches(pa.array([], pa.binary()), pa.array([], pa.binary())) == []


def test_misuse_is_named() -> None:
    with pytest.raises(UsageError, match="same length"):
        arrow_to_batches(pa.array([b"a"]), pa.array([b"a", b"b"]))
    with pytest.raises(UsageError, match="same length"):
        arrow_to_batches(None, None)
    with pytest.raises(UsageError, match="int64"):
        arrow_to_batches(pa.array([1]), pa.array([b"a"]))
    with pytest.raises(UsageError, match="headers column"):
        arrow_to_batches(None, pa.array([b"a"]), headers=pa.array([b"a"]))
    nameless = pa.array([[{"key": None, "value": b""}]], HEADER_TYPE)
    with pytest.raises(UsageError, match="needs a name"):
        arrow_to_batches(None, pa.array([b"a"]), headers=nameless)
    with pytest.raises(UsageError, match="at least 1"):
        partition_keys(pa.array([b"a"]), 0)


def test_there_and_back() -> None:
    table = pa.table({"key": KEYS, "value": VALUES})
    batches = arrow_to_batches(table["key"], table["value"], base_offset=0, max_batch_bytes=3000)
    back = batches_to_arrow(batches)
    assert back["key"].to_pylist() == KEYS
    assert back["value"].to_pylist() == VALUES
    assert back["offset"].to_pylist() == list(range(500))
    assert back["timestamp"].null_count == 500


@pytest.mark.parametrize("partitions", [1, 3, 12, 2**31 - 1])
def test_partitions_of_keys(partitions: int) -> None:
    column = pa.array(KEYS, pa.binary())
    expected = [None if key is None else hashing.partition_for_key(key, partitions) for key in KEYS]
    assert partition_keys(column, partitions).to_pylist() == expected
    assert partition_keys(column[7:40], partitions).to_pylist() == expected[7:40]
    assert [partition_for_key(key, partitions) for key in KEYS if key is not None] == [
        place for place in expected if place is not None
    ]


@pytest.mark.parametrize("partitions", [1, 2, 7, 100])
@pytest.mark.parametrize("rows", [0, 1, 50, 5000])
def test_rows_by_partition(partitions: int, rows: int) -> None:
    places = [RNG.randrange(partitions) for _ in range(rows + 3)]
    found = rows_by_partition(pa.array(places, pa.int32())[3:], partitions)
    expected: dict[int, list[int]] = {}
    for row, place in enumerate(places[3:]):
        expected.setdefault(place, []).append(row)
    assert [number for number, _ in found] == sorted(expected)
    for number, order in found:
        assert (list(range(rows)) if order is None else order.to_pylist()) == expected[number]
        assert (order is None) == (len(expected) == 1)


@pytest.mark.parametrize("place", [-1, 3, 2**31 - 1])
def test_a_row_outside_of_the_topic_is_refused(place: int) -> None:
    with pytest.raises(ValueError, match=f"row 1 is placed in partition {place} of 3"):
        rows_by_partition(pa.array([0, place], pa.int32()), 3)


@pytest.mark.parametrize(
    ("key", "expected"), [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536)]
)
def test_murmur2_of_kafka_s_own_test(key: bytes, expected: int) -> None:
    assert murmur2(key) == hashing.murmur2(key) == expected % 2**32
