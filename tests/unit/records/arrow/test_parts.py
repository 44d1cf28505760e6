"""Packed batches become parts of bounded size; nothing is lost or hidden between two parts."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from tidelog.records.arrow import batches_in_parts, batches_to_arrow
from tidelog.records.format.attributes import Codec
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker

PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def build(base: int, *, codec: Codec = Codec.ZSTD, size: int = 10_000, producer: int = -1, magic: int = 2) -> bytes:
    whose = {"producer_id": producer, "producer_epoch": 0, "base_sequence": base, "transactional": True}
    builder = BatchBuilder(magic, codec, base_offset=base, **(whose if producer >= 0 else {}))
    for offset in range(base, base + 10):
        builder.append(offset, None, b"%d" % offset + bytes(size))
    return builder.build()


@pytest.mark.parametrize("codec", PACKED)
def test_what_is_large_when_unpacked_comes_in_parts(codec: Codec) -> None:
    data = b"".join(build(base, codec=codec) for base in range(0, 200, 10))
    parts = list(batches_in_parts([data], columns=("offset", "value"), part_bytes=300_000))
    assert len(parts) > 4
    assert all(batch.nbytes < 600_000 for _, batch in parts)
    assert [n for _, batch in parts for n in batch.column(0).to_pylist()] == list(range(200))
    ends = [end for end, _ in parts]
    assert ends == sorted(ends)
    assert ends[-1] == 200
    assert pa.Table.from_batches([batch for _, batch in parts]).equals(
        pa.Table.from_batches([batches_to_arrow(data, columns=("offset", "value"))]).combine_chunks()
    )


def test_what_is_not_packed_stays_together() -> None:
    data = b"".join(build(base, codec=Codec.NONE) for base in range(0, 100, 10))
    ((end, batch),) = batches_in_parts([data], columns=("offset",), part_bytes=1 << 20)
    assert (end, batch.num_rows) == (100, 100)


def test_a_packed_batch_among_others_is_seen() -> None:
    codecs = itertools.cycle([Codec.NONE, Codec.NONE, Codec.ZSTD])
    data = b"".join(build(base, codec=next(codecs)) for base in range(0, 90, 10))
    parts = list(batches_in_parts([data], columns=("offset",), part_bytes=1000))
    assert len(parts) == 9
    assert [n for _, batch in parts for n in batch.column(0).to_pylist()] == list(range(90))


def test_an_aborted_transaction_ends_in_another_part_than_it_began() -> None:
    """Its producer's later records count: the books of aborted transactions go on from part to part."""
    marker = end_txn_marker(7, 0, committed=False, coordinator_epoch=0, timestamp=0, base_offset=30)
    data = build(0) + build(10, producer=7) + build(20, producer=7) + marker + build(31, producer=7)
    parts = list(batches_in_parts([data], columns=("offset",), aborted=[(7, 10)], part_bytes=1000))
    assert [n for _, batch in parts for n in batch.column(0).to_pylist()] == [*range(10), *range(31, 41)]


def test_bounds_hold_in_every_part() -> None:
    data = b"".join(build(base) for base in range(0, 60, 10))
    parts = batches_in_parts([data], columns=("offset",), first_offset=13, last_offset=41, part_bytes=1000)
    assert [n for _, batch in parts for n in batch.column(0).to_pylist()] == list(range(13, 42))


def test_old_formats() -> None:
    data = build(0, magic=1, codec=Codec.GZIP) + build(10, magic=1, codec=Codec.NONE)
    parts = list(batches_in_parts([data], columns=("offset",), part_bytes=1000))
    assert [n for _, batch in parts for n in batch.column(0).to_pylist()] == list(range(20))
    assert list(batches_in_parts([b""], columns=("offset",))) == []
