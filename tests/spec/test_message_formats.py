"""Record formats: 000 文件格式演变 (v0, v1, 变长字段, v2), 001 二. 压缩消息."""

from __future__ import annotations

import struct
import zlib

import pytest

from tidelog.common.errors import CorruptRecordError
from tidelog.common.varint import encode_unsigned, encode_varint
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel.crc32c import crc32c

LOG_OVERHEAD = 12
STAMP = 1526384718288


def built(magic: int, key: bytes | None, value: bytes | None, **options: object) -> bytes:
    builder = BatchBuilder(magic=magic, **options)  # type: ignore[arg-type] # the builder's own options
    builder.append(STAMP, key, value)
    return bytes(builder.build())


def test_v0_smallest_message_is_14_bytes() -> None:
    """000 v0 版本: crc 4 + magic 1 + attributes 1 + key length 4 + value length 4 = 14 B, after 12 B log overhead."""
    data = built(0, None, None)
    assert len(data) == LOG_OVERHEAD + 14
    offset, size, _, magic, attributes, key_length, value_length = struct.unpack(">qiIbbii", data)
    assert (offset, size, magic, attributes, key_length, value_length) == (0, 14, 0, 0, -1, -1)


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_below_the_smallest_size_is_refused(magic: int) -> None:
    """000 v0 版本: a message shorter than the minimum is broken and not accepted."""
    whole = built(magic, None, None)
    body = whole[LOG_OVERHEAD:-1]
    with pytest.raises(CorruptRecordError):
        list(iter_batches(struct.pack(">qi", 0, len(body)) + body, check_crc=True))


@pytest.mark.parametrize("magic", [0, 1])
def test_old_checksum_covers_magic_to_value(magic: int) -> None:
    """000 v0 版本: crc32 covers magic to value."""
    data = built(magic, b"key", b"value")
    (crc,) = struct.unpack_from(">I", data, LOG_OVERHEAD)
    assert crc == zlib.crc32(data[LOG_OVERHEAD + 4 :])


@pytest.mark.parametrize(("codec", "bits"), [(Codec.NONE, 0), (Codec.GZIP, 1), (Codec.SNAPPY, 2), (Codec.LZ4, 3)])
@pytest.mark.parametrize("magic", [0, 1])
def test_low_three_bits_are_the_codec(magic: int, codec: Codec, bits: int) -> None:
    """000 v0 版本: 0 NONE, 1 GZIP, 2 SNAPPY, 3 LZ4."""
    assert built(magic, None, b"v", codec=codec)[LOG_OVERHEAD + 5] & 7 == bits


def test_v1_adds_a_timestamp() -> None:
    """000 v1 版本: v1 has eight bytes more than v0, a timestamp, and magic 1."""
    data = built(1, b"key", b"value")
    assert len(data) == len(built(0, b"key", b"value")) + 8
    assert len(built(1, None, None)) == LOG_OVERHEAD + 22
    assert data[LOG_OVERHEAD + 4] == 1
    assert struct.unpack_from(">q", data, LOG_OVERHEAD + 6) == (STAMP,)


@pytest.mark.parametrize("magic", [1, 2])
def test_fourth_bit_is_the_timestamp_type(magic: int) -> None:
    """000 v1 版本 and v2 版本: bit 3 clear = CreateTime, set = LogAppendTime."""
    position = LOG_OVERHEAD + 5 if magic == 1 else 22
    assert built(magic, None, b"v")[position] & 8 == 0
    stamped = built(magic, None, b"v", timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=STAMP + 5)
    assert stamped[position] & 8 == 8
    (batch,) = iter_batches(stamped)
    assert [record.timestamp for record in batch] == [STAMP + 5]


def test_a_wrapper_holds_the_inner_messages_and_the_last_absolute_offset() -> None:
    """000 v1 版本: the outer message has no key and the offset 1030; inside, offsets run from 0 to 5."""
    builder = BatchBuilder(magic=1, codec=Codec.GZIP, base_offset=1025)
    for number in range(6):
        builder.append(STAMP, b"k", b"%d" % number)
    data = bytes(builder.build())
    assert struct.unpack_from(">q", data) == (1030,)
    (key_length,) = struct.unpack_from(">i", data, LOG_OVERHEAD + 14)
    assert key_length == -1
    inner = zlib.decompress(data[LOG_OVERHEAD + 22 :], 31)
    offsets = []
    position = 0
    while position < len(inner):
        offset, size = struct.unpack_from(">qi", inner, position)
        offsets.append(offset)
        position += LOG_OVERHEAD + size
    assert offsets == [0, 1, 2, 3, 4, 5]
    (batch,) = iter_batches(data)
    assert [record.offset for record in batch] == [1025, 1026, 1027, 1028, 1029, 1030]


def test_varint_bytes_carry_seven_bits_and_a_continuation_bit() -> None:
    """000 变长字段: all but the last byte have the top bit set; the smaller the number, the fewer the bytes."""
    encoded = encode_unsigned(300)
    assert [byte >> 7 for byte in encoded] == [1, 0]
    assert [len(encode_unsigned(1 << bits)) for bits in (0, 6, 7, 13, 14, 31)] == [1, 1, 2, 2, 3, 5]


def test_zigzag_keeps_small_negative_numbers_short() -> None:
    """000 变长字段: -1 as a plain int64 takes ten bytes; with ZigZag it takes one."""
    assert len(encode_unsigned(-1 & 0xFFFFFFFFFFFFFFFF)) == 10
    assert encode_varint(-1) == b"\x01"
    assert [encode_varint(n)[0] for n in (0, -1, 1, -2, 2)] == [0, 1, 2, 3, 4]


def test_v2_header_fields_in_order() -> None:
    """000 v2 版本, RecordBatch 1-12: first offset … records count, and the length counts from the leader epoch."""
    builder = BatchBuilder(base_offset=77, producer_id=9, producer_epoch=3, base_sequence=21, leader_epoch=4)
    for number in range(3):
        builder.append(STAMP + number, b"k", b"v")
    data = bytes(builder.build())
    fields = struct.unpack_from(">qiibIhiqqqhii", data)
    assert fields[:4] == (77, len(data) - LOG_OVERHEAD, 4, 2)
    assert fields[4] == crc32c(data[21:])
    assert fields[5:] == (0, 2, STAMP, STAMP + 2, 9, 3, 21, 3)


def test_v2_attribute_bits() -> None:
    """000 v2 版本: low three bits codec, then timestamp type, transactional, control."""
    transactional = built(2, None, b"v", transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)
    control = built(2, b"\0\0\0\1", b"\0\0\0\0\0\0", control=True, transactional=True, producer_id=1, producer_epoch=0)
    assert struct.unpack_from(">h", transactional, 21) == (16,)
    assert struct.unpack_from(">h", control, 21) == (48,)
    assert struct.unpack_from(">h", built(2, None, b"v", codec=Codec.LZ4), 21) == (3,)


def test_v2_header_stays_uncompressed() -> None:
    """000 v2 版本: only the records are compressed; the header from first offset to records count is not."""
    plain, packed = (built(2, b"k", b"v" * 500, codec=codec) for codec in (Codec.NONE, Codec.GZIP))
    assert struct.unpack_from(">iqq", packed, 23) == struct.unpack_from(">iqq", plain, 23)
    assert packed[57:61] == plain[57:61]
    assert zlib.decompress(packed[61:], 31) == plain[61:]


def test_v2_record_is_made_of_varints() -> None:
    """000 v2 版本, Record: length, attributes (1 B, unused), timestamp delta, offset delta, key, value, headers."""
    builder = BatchBuilder()
    builder.append(STAMP, b"k1", b"v1")
    builder.append(STAMP + 3, b"k2", None, headers=[("h", b"x")])
    data = bytes(builder.build())[61:]
    first = b"\0" + encode_varint(0) + encode_varint(0) + encode_varint(2) + b"k1" + encode_varint(2) + b"v1" + b"\0"
    second = (
        b"\0" + encode_varint(3) + encode_varint(1) + encode_varint(2) + b"k2" + encode_varint(-1)
        + encode_varint(1) + encode_varint(1) + b"h" + encode_varint(1) + b"x"
    )  # fmt: skip
    assert data == encode_varint(len(first)) + first + encode_varint(len(second)) + second


def test_the_newest_format_is_the_smallest_for_many_records() -> None:
    """000 文件格式演变: without redundant fields a partition takes less room."""
    sizes = []
    for magic in (0, 1, 2):
        builder = BatchBuilder(magic=magic)
        for number in range(100):
            builder.append(STAMP + number, b"key", b"value")
        sizes.append(len(builder.build()))
    assert sizes[2] < sizes[0] < sizes[1]


def test_compressing_many_together_beats_one_by_one() -> None:
    """001 二. 压缩消息: messages are compressed together, which works better than one at a time."""
    one_by_one = sum(len(built(2, b"key", b"a message that repeats itself", codec=Codec.GZIP)) for _ in range(50))
    builder = BatchBuilder(codec=Codec.GZIP)
    for _ in range(50):
        builder.append(STAMP, b"key", b"a message that repeats itself")
    assert len(builder.build()) * 5 < one_by_one
