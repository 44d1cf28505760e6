"""RecordBatch and Record: lazy views, whatever the magic."""

from __future__ import annotations

import pickle

import pytest

from tidelog.common.errors import CorruptRecordError
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import Record, RecordBatch, iter_batches
from tidelog.records.format.builder import BatchBuilder

ROWS = [
    (1000, b"key", b"value", (("h", b"1"), ("h", None), ("naïve", b""))),
    (990, None, b"no key", ()),
    (1010, b"no value", None, ()),
    (1000, b"", b"", ()),
]


def build(magic: int = 2, codec: Codec = Codec.NONE, base_offset: int = 50) -> bytes:
    builder = BatchBuilder(magic, codec, base_offset=base_offset)
    for timestamp, key, value, headers in ROWS:
        builder.append(timestamp, key, value, headers if magic == 2 else ())
    return builder.build()


def expected(magic: int, base_offset: int = 50) -> list[Record]:
    return [
        Record(base_offset + i, timestamp if magic else -1, key, value, headers if magic == 2 else ())
        for i, (timestamp, key, value, headers) in enumerate(ROWS)
    ]


CASES = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec != Codec.ZSTD]


@pytest.mark.parametrize(("magic", "codec"), CASES)
def test_records_of_every_format(magic: int, codec: Codec) -> None:
    batches = list(iter_batches(build(magic, codec), check_crc=True))
    assert [record for batch in batches for record in batch] == expected(magic)
    assert len(batches) == (len(ROWS) if magic < 2 and codec == Codec.NONE else 1)
    last = batches[-1]
    assert (last.magic, last.codec, last.last_offset, last.next_offset) == (magic, codec, 53, 54)
    assert batches[0].base_offset == 50
    assert sum(batch.record_count for batch in batches) == 4
    assert max(batch.max_timestamp for batch in batches) == (1010 if magic else -1)


def test_a_batch_that_is_cut_off_is_left_out() -> None:
    data = build()
    assert [batch.position for batch in iter_batches(data + data + data[:70])] == [0, len(data)]


def test_good_batches_come_before_the_corrupt_one() -> None:
    data = build()
    bad = bytearray(data)
    bad[16] = 9
    batches = iter_batches(data + bytes(bad))
    assert next(batches).base_offset == 50
    with pytest.raises(CorruptRecordError, match="magic 9"):
        next(batches)


def test_checksums_are_looked_at_when_asked() -> None:
    data = bytearray(build())
    data[-1] ^= 1
    (batch,) = iter_batches(data)
    with pytest.raises(CorruptRecordError, match="checksum"):
        batch.check_crc()
    with pytest.raises(CorruptRecordError, match="checksum"):
        next(iter_batches(data, check_crc=True))


def test_log_append_time_holds_for_all_records() -> None:
    for magic in (1, 2):
        for codec in (Codec.NONE, Codec.GZIP):
            builder = BatchBuilder(magic, codec, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=777)
            builder.append(1, b"a", b"b")
            builder.append(2, b"a", b"b")
            batches = list(iter_batches(builder.build()))
            assert {record.timestamp for batch in batches for record in batch} == {777}
            assert batches[0].timestamp_type is TimestampType.LOG_APPEND_TIME


def test_malformed_records_are_corrupt_and_say_where() -> None:
    data = bytearray(build())
    data[61] = 2  # the first record's length
    (batch,) = iter_batches(data)
    with pytest.raises(CorruptRecordError, match=r"record 0.*at byte 0"):
        batch.records()


def test_unknown_codec_and_negative_count() -> None:
    data = bytearray(build())
    data[22] = 7
    with pytest.raises(CorruptRecordError, match="codec 7"):
        next(iter_batches(data)).records()
    data = bytearray(build())
    data[57:61] = b"\xff" * 4
    with pytest.raises(CorruptRecordError, match="-1 records"):
        next(iter_batches(data)).records()


def test_header_names_that_are_no_utf8_do_not_hide_the_record() -> None:
    builder = BatchBuilder()
    builder.append(0, b"k", b"v", [("ab", b"1")])
    data = bytearray(builder.build())
    data[data.index(b"ab")] = 0xFF
    (record,) = next(iter_batches(data))
    assert record.headers == (("\ufffdb", b"1"),)


def test_records_compare_print_and_pickle() -> None:
    record = Record(1, 2, b"k", None, [("h", b"v")])
    assert record == Record(1, 2, b"k", None, (("h", b"v"),))
    assert record != Record(1, 2, b"k", b"", (("h", b"v"),))
    assert record != "record"
    assert hash(record) == hash(Record(1, 2, b"k", None, (("h", b"v"),)))
    assert pickle.loads(pickle.dumps(record)) == record
    assert repr(record) == "Record(offset=1, timestamp=2, key=b'k', value=None, headers=(('h', b'v'),))"


def test_a_batch_prints_what_it_is() -> None:
    (batch,) = iter_batches(build())
    assert isinstance(batch, RecordBatch)
    assert repr(batch) == f"RecordBatch(magic=2, offsets 50..53, 4 records, {len(build())} bytes)"
