"""Topics of magic 0 and 1: what is stored of what producers send, byte by byte, and what is refused."""

from __future__ import annotations

import pytest

from reference.records.message_set import Message, iter_messages, unwrap
from tidelog.common.errors import ErrorCode, InvalidRecordError, KafkaError
from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import TIMESTAMP_TYPE_BIT, Codec, TimestampType
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.legacy import encode_message
from tidelog.records.format.validate import ProduceRules, ValidatedRecords, validate_produce

NOW = 1_700_000_000_000
TIMES = (NOW - 3, NOW, NOW - 1)
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
BROKER_TIME = TimestampType.LOG_APPEND_TIME


def messages(magic: int, offsets: tuple[int, ...] = (0, 1, 2), attributes: int = 0) -> bytes:
    rows = zip(offsets, TIMES, (b"a", b"b", b"c"), (b"1", None, b"3" * 40), strict=True)
    return b"".join(encode_message(magic, offset, attributes, time, key, value) for offset, time, key, value in rows)


def wrapped(magic: int, inner: bytes, codec: Codec = Codec.GZIP, offset: int = 2, attributes: int = 0) -> bytes:
    return encode_message(magic, offset, codec | attributes, NOW, None, compress(codec, inner, magic=magic))


def batch(codec: Codec = Codec.NONE, headers: bool = False, **options: object) -> bytes:
    builder = BatchBuilder(2, codec, **options)  # type: ignore[arg-type]  # the builder's own
    for time, key, value in zip(TIMES, (b"a", b"b", b"c"), (b"1", None, b"3" * 40), strict=True):
        builder.append(time, key, value, [("h", b"x")] if headers else ())
    return builder.build()


def prepared(data: bytes, rules: ProduceRules, version: int = 2, next_offset: int = 0) -> ValidatedRecords:
    return validate_produce(bytearray(data), rules, now_ms=NOW, request_version=version, next_offset=next_offset)


def stored(data: bytes, rules: ProduceRules, first_offset: int = 10, append_time: int | None = None) -> list[Message]:
    """What a log holds after the append."""
    version = 8 if data[16] == 2 else 2
    result = prepared(data, rules, version, first_offset)
    assert result.run.stamp(first_offset, 5, log_append_time=append_time) == first_offset + 2
    whole = b"".join(result.run.buffers())
    for entry in iter_batches(whole, check_crc=True):
        entry.records()
    return list(iter_messages(whole, check_crc=True))


def content(found: list[Message]) -> list[tuple[bytes | None, bytes | None]]:
    return [(m.key and bytes(m.key), m.value and bytes(m.value)) for m in found]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_plain_set_stays_where_it_is(magic: int) -> None:
    data = bytearray(messages(magic, offsets=(7, 7, 9)))
    result = validate_produce(data, ProduceRules(magic=magic), now_ms=NOW, request_version=2)
    assert result.run.buffer is data
    assert result.converted_records == 0
    assert result.run.stamp(10, 5) == 12
    assert bytes(data) == messages(magic, offsets=(10, 11, 12))


@pytest.mark.parametrize("codec", OLD_CODECS[1:])
def test_a_wrapper_of_magic_1_is_patched_and_not_packed_anew(codec: Codec) -> None:
    data = bytearray(wrapped(1, messages(1), codec))
    result = validate_produce(data, ProduceRules(magic=1), now_ms=NOW, request_version=2)
    assert result.run.buffer is data
    assert result.run.stamp(10, 5) == 12
    assert bytes(data) == wrapped(1, messages(1), codec, offset=12)


@pytest.mark.parametrize(("inner", "offset"), [((0, 0, 0), 0), ((0, 0, 0), 2), ((10, 11, 12), 12), ((0, 1, 2), 7)])
def test_relative_offsets_that_are_none_are_written_anew(inner: tuple[int, ...], offset: int) -> None:
    (outer,) = stored(wrapped(1, messages(1, inner), offset=offset), ProduceRules(magic=1))
    assert outer.offset == 12
    assert [message.offset for message in unwrap(outer)] == [0, 1, 2]


@pytest.mark.parametrize("codec", OLD_CODECS[1:])
def test_a_wrapper_of_magic_0_is_packed_for_its_offsets(codec: Codec) -> None:
    rules = ProduceRules(magic=0)
    result = prepared(wrapped(0, messages(0), codec), rules, next_offset=10)
    assert result.packed_for == 10
    with pytest.raises(ValueError, match="not packed for offsets 11 to 13"):
        result.run.stamp(11, 5)
    (outer,) = stored(wrapped(0, messages(0), codec), rules)
    assert outer.offset == 12
    assert [message.offset for message in unwrap(outer, check_crc=True)] == [10, 11, 12]


@pytest.mark.parametrize("target", [None, *OLD_CODECS])
@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("source", [0, 1, 2])
@pytest.mark.parametrize("magic", [0, 1])
def test_every_format_becomes_the_topic_s(magic: int, source: int, codec: Codec, target: Codec | None) -> None:
    data = batch(codec) if source == 2 else wrapped(source, messages(source), codec) if codec else messages(source)
    found = stored(data, ProduceRules(magic=magic, codec=target))
    wanted = codec if target is None else target
    assert {(message.magic, message.codec) for message in found} == {(magic, wanted)}
    inner = unwrap(found[0], check_crc=True) if wanted else found
    times = [-1, -1, -1] if 0 in (magic, source) else list(TIMES)
    assert content(inner) == [(b"a", b"1"), (b"b", None), (b"c", b"3" * 40)]
    assert [message.timestamp for message in inner] == times
    assert found[-1].offset == 12
    if wanted:
        assert found[0].timestamp == max(times)
        assert [message.offset for message in inner] == ([10, 11, 12] if magic == 0 else [0, 1, 2])
    else:
        assert [message.offset for message in found] == [10, 11, 12]


@pytest.mark.parametrize("data", [messages(1), messages(0), batch()])
def test_the_broker_s_time_is_set_in_every_plain_message(data: bytes) -> None:
    found = stored(data, ProduceRules(magic=1, timestamp_type=BROKER_TIME), append_time=NOW + 50)
    assert [(m.timestamp, m.attributes) for m in found] == [(NOW + 50, TIMESTAMP_TYPE_BIT)] * 3


def test_the_broker_s_time_is_set_in_the_wrapper_alone() -> None:
    rules = ProduceRules(magic=1, timestamp_type=BROKER_TIME)
    (outer,) = stored(wrapped(1, messages(1)), rules, append_time=NOW + 50)
    assert (outer.timestamp, outer.attributes) == (NOW + 50, TIMESTAMP_TYPE_BIT | Codec.GZIP)
    assert [message.timestamp for message in unwrap(outer)] == list(TIMES)


def test_a_claim_of_the_broker_s_time_and_a_wrong_wrapper_time_are_set_right() -> None:
    found = stored(messages(1, attributes=TIMESTAMP_TYPE_BIT), ProduceRules(magic=1))
    assert [(m.timestamp, m.attributes) for m in found] == [(time, 0) for time in TIMES]
    late = encode_message(1, 2, Codec.GZIP, NOW - 77, None, compress(Codec.GZIP, messages(1), magic=1))
    (outer,) = stored(late, ProduceRules(magic=1))
    assert outer.timestamp == NOW


@pytest.mark.parametrize("magic", [0, 1])
def test_what_needs_magic_2_is_refused(magic: int) -> None:
    rules = ProduceRules(magic=magic)
    producer = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    cases = [
        (batch(**producer), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, "Idempotent.*set that to 0.11.0"),
        (batch(**producer, transactional=True), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, "Transactional"),
        (batch(headers=True), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, "headers"),
        (batch(Codec.LZ4, headers=True), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, "headers"),
        (batch(Codec.ZSTD), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd"),
    ]
    for data, code, text in cases:
        with pytest.raises(KafkaError, match=text) as caught:
            prepared(data, rules, version=8)
        assert caught.value.code == code


@pytest.mark.parametrize("magic", [0, 1])
def test_mixed_and_misplaced_messages_are_refused(magic: int) -> None:
    rules = ProduceRules(magic=magic)
    for data in (
        messages(0) + messages(1),
        messages(1) + messages(0),
        messages(magic) + wrapped(magic, messages(magic)),
        wrapped(magic, messages(magic)) * 2,
        wrapped(magic, wrapped(magic, messages(magic))),
        wrapped(1 - magic, messages(magic)),
        wrapped(magic, b""),
        wrapped(1, messages(1, (10, 11, 12)), offset=5),
        encode_message(magic, 0, Codec.GZIP, NOW, None, None),
    ):
        with pytest.raises(InvalidRecordError):
            prepared(data, rules)


def test_a_timestamp_below_none_becomes_none() -> None:
    data = encode_message(1, 0, 0, -7, b"k", b"v") * 3
    assert [m.timestamp for m in stored(data, ProduceRules(magic=1))] == [-1, -1, -1]
