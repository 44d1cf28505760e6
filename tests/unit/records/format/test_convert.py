"""Conversion between the formats, both ways, and what gets lost."""

from __future__ import annotations

import pytest

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import Record, iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker
from tidelog.records.format.convert import down_convert, up_convert

OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def batch(magic: int, codec: Codec = Codec.NONE, base: int = 10, count: int = 4, **options: object) -> bytes:
    builder = BatchBuilder(magic, codec, base_offset=base, **options)  # type: ignore[arg-type]  # the builder's own
    for i in range(count):
        headers = [("h", b"x")] if magic == 2 else ()
        builder.append(100 + i, None if i == 2 else b"k%d" % i, None if i == 3 else b"v%d" % i, headers)
    return builder.build()


def records(data: bytes) -> list[Record]:
    return [record for entry in iter_batches(data, check_crc=True) for record in entry]


def without(record: Record, *, timestamp: bool) -> tuple[int, int, bytes | None, bytes | None]:
    return record.offset, record.timestamp if timestamp else -1, record.key, record.value


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("to_magic", [0, 1])
def test_down_from_magic_2(to_magic: int, codec: Codec) -> None:
    data = batch(2, codec)
    out = down_convert(data, to_magic)
    assert {entry.magic for entry in iter_batches(out)} == {to_magic}
    assert {entry.codec for entry in iter_batches(out)} == {codec}
    assert [without(record, timestamp=True) for record in records(out)] == [
        without(record, timestamp=to_magic == 1) for record in records(data)
    ]
    assert all(record.headers == () for record in records(out))


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_up_to_magic_2(magic: int, codec: Codec) -> None:
    data = batch(magic, codec)
    out = up_convert(data)
    assert {entry.magic for entry in iter_batches(out)} == {2}
    assert records(out) == records(data)
    assert up_convert(out) == out


def test_between_the_old_ones() -> None:
    data = batch(1, Codec.LZ4)
    down = down_convert(data, 0)
    assert [without(record, timestamp=True) for record in records(down)] == [
        without(record, timestamp=False) for record in records(data)
    ]
    assert [record.offset for record in records(up_convert(down, 1))] == [10, 11, 12, 13]


def test_old_enough_batches_pass_untouched() -> None:
    data = batch(0, Codec.GZIP) + batch(1, base=20) + batch(1, Codec.SNAPPY, base=30)
    assert down_convert(data, 1) == data
    mixed = down_convert(data + batch(2, base=40), 1)
    assert mixed.startswith(data)
    assert [record.offset for record in records(mixed)][-4:] == [40, 41, 42, 43]


def test_plain_messages_before_the_first_offset_are_left_out() -> None:
    assert [record.offset for record in records(down_convert(batch(2), 1, 12))] == [12, 13]
    assert [record.offset for record in records(down_convert(batch(2, Codec.GZIP), 1, 12))] == [10, 11, 12, 13]
    assert down_convert(batch(2), 1, 99) == b""


def test_control_batches_are_left_out() -> None:
    marker = end_txn_marker(1, 1, committed=True, coordinator_epoch=0, timestamp=5, base_offset=14)
    out = down_convert(batch(2) + marker + batch(2, base=15), 1)
    assert [record.offset for record in records(out)] == [10, 11, 12, 13, 15, 16, 17, 18]


def test_compacted_batches_keep_their_holes() -> None:
    builder = BatchBuilder(base_offset=10, codec=Codec.LZ4)
    builder.append(1, b"a", b"b", offset=12)
    builder.append(1, b"a", b"b", offset=17)
    for magic in (0, 1):
        out = down_convert(builder.build(last_offset=20), magic)
        assert [record.offset for record in records(out)] == [12, 17]
        assert [record.offset for record in records(up_convert(out))] == [12, 17]
    empty = BatchBuilder(base_offset=3, producer_id=1).build_empty(last_offset=5, timestamp=0)
    assert down_convert(empty, 1) == b""


def test_log_append_time_is_kept() -> None:
    data = batch(2, Codec.GZIP, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=4242)
    out = down_convert(data, 1)
    assert {record.timestamp for record in records(out)} == {4242}
    back = up_convert(out)
    (entry,) = iter_batches(back)
    assert entry.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert entry.max_timestamp == 4242


def test_zstd_cannot_go_down() -> None:
    with pytest.raises(KafkaError) as caught:
        down_convert(batch(2, Codec.ZSTD), 1)
    assert caught.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
