"""A segment's file as Arrow batches: in place, copied, both in one segment, and where the file ends or is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidelog.common.errors import CorruptRecordError
from tidelog.common.fs import LOCAL_FS
from tidelog.log.reading.segment_arrow import ArrowSegmentReader
from tidelog.log.reading.segment_reader import SegmentReader
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.arrow import batches_in_parts
from tidelog.records.format.attributes import Codec
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker

COLUMNS = ("offset", "value")


def build(base: int, count: int = 10, *, magic: int = 2, codec: Codec = Codec.NONE, **options: Any) -> bytes:
    builder = BatchBuilder(magic, codec, base_offset=base, **options)
    for offset in range(base, base + count):
        builder.append(offset, None, b"v%d" % offset)
    return builder.build()


def segment_of(folder: Path, data: bytes) -> SegmentReader:
    (folder / f"{0:020d}.log").write_bytes(data)
    return SegmentReader(LOCAL_FS, folder, 0)


def read(
    segment: SegmentReader,
    *,
    columns: tuple[str, ...] = COLUMNS,
    first: int = 0,
    last: int = 1 << 40,
    size: int = 1000,
    aborted: tuple[AbortedTxn, ...] = (),
) -> list[int]:
    reader = ArrowSegmentReader(segment, columns, last_offset=last, aborted=aborted, size=size)
    offsets: list[int] = []
    behind = first
    for following, batch in reader.batches(0, first):
        assert following >= behind
        behind = following
        rows = batch.to_pylist()
        assert all(row["value"] == b"v%d" % row["offset"] and row["offset"] < following for row in rows)
        offsets += [row["offset"] for row in rows]
    return offsets


@pytest.mark.parametrize("columns", [COLUMNS, (*COLUMNS, "headers")])
@pytest.mark.parametrize("size", [64, 300, 1 << 20])
def test_plain_packed_and_old_batches_in_one_segment(tmp_path: Path, columns: tuple[str, ...], size: int) -> None:
    data = (
        build(0, magic=1)
        + build(10)
        + build(20, codec=Codec.ZSTD)
        + build(30, codec=Codec.GZIP, magic=1)
        + build(40)
        + build(50)
    )
    for start in (0, len(build(0, magic=1))):
        assert read(segment_of(tmp_path, data[start:]), columns=columns, size=size) == list(range(start and 10, 60))


def test_ranges(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, b"".join(build(base) for base in range(0, 100, 10)))
    for size in (64, 400, 1 << 20):
        for first, last in [(0, 99), (7, 7), (35, 61), (99, 1000), (100, 200), (50, 49)]:
            assert read(segment, first=first, last=last, size=size) == list(range(first, min(last, 99) + 1))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_aborted_transactions_that_span_pieces(tmp_path: Path, codec: Codec) -> None:
    options: dict[str, Any] = {"producer_id": 5, "producer_epoch": 0, "transactional": True, "codec": codec}
    data = b"".join(build(base, base_sequence=base, **options) for base in range(0, 50, 10))
    data += end_txn_marker(5, 0, committed=False, coordinator_epoch=0, timestamp=1, base_offset=50)
    data += build(51, base_sequence=51, **options)
    segment = segment_of(tmp_path, data)
    aborted = (AbortedTxn(producer_id=5, first_offset=0, last_offset=50, last_stable_offset=51),)
    for size in (64, 400, 1 << 20):
        assert read(segment, size=size, aborted=aborted) == list(range(51, 61))
        assert read(segment, size=size, aborted=aborted, first=25) == list(range(51, 61))


@pytest.mark.parametrize("end", [b"", bytes(40), bytes(5000), build(20)[:70], build(20, 500)[:-1], b"\0\0\0"])
def test_the_end_of_a_file_that_is_in_use(tmp_path: Path, end: bytes) -> None:
    """Preallocated zeros, and a batch that is being written, are not there yet."""
    for size in (64, 300, 1 << 20):
        assert read(segment_of(tmp_path, build(0) + build(10) + end), size=size) == list(range(20))


def test_damage_is_named_with_its_place_after_what_is_in_front(tmp_path: Path) -> None:
    damaged = bytearray(build(20))
    damaged[61] += 2
    front = build(0) + build(10)
    for bad, text, place in [
        (bytes(damaged), "malformed record", 61),
        (b"\x09" * 200, "magic 9", 0),
        (bytes(8) + b"\0\0\0\1" + bytes(4) + b"\2" + bytes(100), "too few", 0),
    ]:
        reader = ArrowSegmentReader(segment_of(tmp_path, front + bad), COLUMNS, last_offset=100, size=1 << 20)
        found = reader.batches(0, 0)
        assert next(found)[1].num_rows == 20
        with pytest.raises(CorruptRecordError, match=text) as caught:
            next(found)
        assert caught.value.position == len(front) + place
        assert ".log" in str(caught.value)


@pytest.mark.parametrize("columns", [COLUMNS, (*COLUMNS, "headers")])
def test_well_packed_batches_come_in_parts_by_their_unpacked_size(
    tmp_path: Path, columns: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of a few packed bytes may unpack to more than memory holds: it is bounded by what comes out of it."""
    smaller = {**(batches_in_parts.__kwdefaults__ or {}), "part_bytes": 300_000}
    monkeypatch.setattr(batches_in_parts, "__kwdefaults__", smaller)
    data = b""
    for base in range(0, 200, 10):
        builder = BatchBuilder(codec=Codec.ZSTD, base_offset=base)
        for offset in range(base, base + 10):
            builder.append(offset, None, bytes(10_000))
        data += builder.build()
    assert len(data) < 10_000
    reader = ArrowSegmentReader(segment_of(tmp_path, data), columns, last_offset=199, size=1 << 20)
    found = [batch for _, batch in reader.batches(0, 0)]
    assert max(batch.nbytes for batch in found) < 600_000
    assert [offset for batch in found for offset in batch.column("offset").to_pylist()] == list(range(200))


def test_a_segment_that_is_gone(tmp_path: Path) -> None:
    reader = ArrowSegmentReader(SegmentReader(LOCAL_FS, tmp_path, 7), COLUMNS, last_offset=9, size=100)
    with pytest.raises(FileNotFoundError):
        next(reader.batches(0, 7))
