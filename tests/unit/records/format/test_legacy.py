"""Magic 0 and 1: sizes, wrappers, relative offsets, timestamps, and what is refused."""

from __future__ import annotations

import struct
import zlib

import pytest

from reference.records.message_set import iter_messages, unwrap
from tidelog.common.errors import CorruptRecordError
from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.legacy import encode_message, size_of
from tidelog.records.kernel._messages import read_entry


def wrapper(magic: int, offset: int, inner: bytes, codec: Codec = Codec.GZIP, attributes: int = 0) -> bytes:
    return encode_message(magic, offset, codec | attributes, 500, None, compress(codec, inner, magic=magic))


def test_a_message_without_key_and_value_takes_14_and_22_bytes() -> None:
    assert len(encode_message(0, 0, 0, -1, None, None)) == 12 + 14
    assert len(encode_message(1, 0, 0, -1, None, None)) == 12 + 22
    assert len(encode_message(1, 0, 0, -1, b"key", b"value")) == size_of(1, b"key", b"value") == 12 + 22 + 8


def test_bytes_of_a_magic_1_message() -> None:
    body = b"\x01\x00" + struct.pack(">q", 77) + struct.pack(">i", 1) + b"k" + struct.pack(">i", -1)
    expected = struct.pack(">qiI", 5, len(body) + 4, zlib.crc32(body)) + body
    assert encode_message(1, 5, 0, 77, b"k", None) == expected


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_a_wrapper_has_the_offset_of_its_last_message(codec: Codec) -> None:
    for magic, inner_offsets in ((0, [40, 41, 45]), (1, [0, 1, 5])):
        builder = BatchBuilder(magic, codec, base_offset=40)
        for offset, timestamp in ((40, 9), (41, 7), (45, 8)):
            builder.append(timestamp, b"k", b"v", offset=offset)
        (message,) = iter_messages(builder.build(), check_crc=True)
        assert message.offset == 45
        assert message.timestamp == (9 if magic else -1)
        assert message.key is None
        (batch,) = iter_batches(builder.build())
        assert [record.offset for record in batch] == [40, 41, 45]
        assert (batch.base_offset, batch.last_offset) == (40, 45)
        assert [inner.offset for inner in unwrap(message)] == inner_offsets


def test_old_librdkafka_wrote_wrappers_with_offset_0() -> None:
    inner = b"".join(encode_message(1, i, 0, i, b"k", b"v") for i in range(3))
    assert [record.offset for record in read_entry(wrapper(1, 0, inner))] == [0, 1, 2]
    assert [record.offset for record in read_entry(wrapper(1, 12, inner))] == [10, 11, 12]


def test_a_wrapper_with_log_append_time_speaks_for_all() -> None:
    inner = b"".join(encode_message(1, i, 0, i, b"k", b"v") for i in range(3))
    assert [record.timestamp for record in read_entry(wrapper(1, 2, inner))] == [0, 1, 2]
    assert {record.timestamp for record in read_entry(wrapper(1, 2, inner, attributes=8))} == {500}


def test_log_append_time_is_written_into_every_message() -> None:
    builder = BatchBuilder(1, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=321)
    builder.append(1, b"k", b"v")
    (message,) = iter_messages(builder.build(), check_crc=True)
    assert (message.timestamp, message.attributes) == (321, 8)


def test_what_is_refused() -> None:
    good = encode_message(1, 0, 0, 0, b"k", b"v")
    nested = wrapper(1, 0, wrapper(1, 0, good))
    cases = {
        "magic 0 in a wrapper of magic 1": wrapper(1, 0, encode_message(0, 0, 0, -1, b"k", b"v")),
        "packed message inside": nested,
        "bytes of no message": wrapper(1, 0, b""),
        "a message of 0 bytes": wrapper(1, 0, good + bytes(17)),
        "no value": encode_message(1, 0, Codec.GZIP, 0, b"k", None),
        "codec 5": encode_message(1, 0, 5, 0, b"k", b"v"),
        "no gzip data": encode_message(1, 0, Codec.GZIP, 0, b"k", b"nonsense"),
        "cut off": good[:-1],
        "magic 3": good[:16] + b"\x03" + good[17:],
    }
    for text, data in cases.items():
        with pytest.raises(CorruptRecordError, match=text):
            read_entry(data)
    assert len(read_entry(wrapper(1, 0, good + good[:17]))) == 1  # cut off: left out, as Kafka reads it


@pytest.mark.parametrize("position", [26, 31])
def test_lengths_that_run_past_the_message(position: int) -> None:
    data = bytearray(encode_message(1, 0, 0, 0, b"k", b"v"))
    for bad in (2, 100, 2**31 - 1):
        struct.pack_into(">i", data, position, bad)
        with pytest.raises(CorruptRecordError, match=r"runs|fields end"):
            list(iter_messages(data))
    struct.pack_into(">i", data, position, 0)
    with pytest.raises(CorruptRecordError):
        list(iter_messages(data))


def test_sizes_that_are_too_small() -> None:
    data = bytearray(encode_message(1, 0, 0, 0, None, None))
    struct.pack_into(">i", data, 8, 13)
    with pytest.raises(CorruptRecordError, match="13 bytes"):
        list(iter_messages(data))
    struct.pack_into(">i", data, 8, 21)
    with pytest.raises(CorruptRecordError, match="needs 22"):
        list(iter_messages(data))


def test_checksums() -> None:
    data = bytearray(encode_message(0, 0, 0, -1, b"k", b"v"))
    data[-1] ^= 1
    assert len(list(iter_messages(data))) == 1
    with pytest.raises(CorruptRecordError, match="checksum"):
        list(iter_messages(data, check_crc=True))
