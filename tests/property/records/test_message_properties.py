"""Message sets of magic 0 and 1: the kernel against the plain reference, and against any bytes at all."""

from __future__ import annotations

import tracemalloc
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.records.message_set import Message, iter_messages, read_entry, unwrap
from tidelog.common.errors import CorruptRecordError, KafkaError
from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.convert import down_convert, up_convert
from tidelog.records.format.legacy import encode_message
from tidelog.records.format.validate import ProduceRules, validate_produce
from tidelog.records.kernel import _messages
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel._convert import convert
from tidelog.records.kernel._messages import MessageSet, crc32, whole_end

EXAMPLES = settings(max_examples=150, deadline=None)
FUZZ = settings(max_examples=300, deadline=None)
LIMIT = 1 << 20
NOW = 1_700_000_000_000

NULLABLE = st.none() | st.binary(max_size=200)
OFFSETS = st.integers(0, 2**40)
TIMES = st.integers(-1, NOW)
ROW = st.tuples(OFFSETS, TIMES, NULLABLE, NULLABLE)
ROWS = st.lists(ROW, min_size=1, max_size=12)
MAGICS = st.sampled_from([0, 1])
CODECS = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
ATTRIBUTES = st.sampled_from([0, 8])


def encode(rows: list[Any], magic: int, attributes: int = 0) -> bytes:
    return b"".join(encode_message(magic, offset, attributes, at, key, value) for offset, at, key, value in rows)


def wrap(inner: bytes, magic: int, codec: Codec, offset: int, attributes: int) -> bytes:
    if codec == Codec.NONE:
        return inner
    return encode_message(magic, offset, codec | attributes, NOW, None, compress(codec, inner, magic=magic))


def copied(found: list[Message]) -> list[tuple[Any, ...]]:
    return [(m.key and bytes(m.key), m.value and bytes(m.value)) for m in found]


@EXAMPLES
@given(st.binary(max_size=3000))
def test_the_checksum(data: bytes) -> None:
    assert crc32(data) == crc32(data, portable=True) == zlib.crc32(data)


@EXAMPLES
@given(ROWS, MAGICS, CODECS, OFFSETS, ATTRIBUTES, st.booleans())
def test_readers_agree(rows: list[Any], magic: int, codec: Codec, offset: int, attributes: int, check: bool) -> None:
    entry = wrap(encode(rows[:1] if codec == Codec.NONE else rows, magic), magic, codec, offset, attributes)
    try:
        expected: Any = read_entry(entry, check_crc=check)
    except CorruptRecordError:
        expected = None
    if expected is None or any(record.offset < 0 for record in expected):
        with pytest.raises(CorruptRecordError):
            _messages.read_entry(entry, check_crc=check)
    else:
        assert _messages.read_entry(entry, check_crc=check) == expected


@FUZZ
@given(ROWS, MAGICS, CODECS, st.data())
def test_readers_agree_on_damaged_entries(rows: list[Any], magic: int, codec: Codec, data: st.DataObject) -> None:
    inner = bytearray(encode(rows[:1] if codec == Codec.NONE else rows, magic))
    for _ in range(data.draw(st.integers(1, 3))):
        inner[data.draw(st.integers(0, len(inner) - 1))] = data.draw(st.integers(0, 255))
    entry = wrap(bytes(inner), magic, codec, 5, 0)
    for check in (False, True):
        try:
            expected: Any = read_entry(entry, check_crc=check, limit=LIMIT)
        except CorruptRecordError:
            with pytest.raises(CorruptRecordError):
                _messages.read_entry(entry, check_crc=check, limit=LIMIT)
        else:
            assert _messages.read_entry(entry, check_crc=check, limit=LIMIT) == expected


@EXAMPLES
@given(ROWS, MAGICS, CODECS, MAGICS, CODECS, st.integers(0, 2**40))
def test_what_is_stored_is_what_was_sent(
    rows: list[Any], sent: int, codec: Codec, magic: int, target: Codec, first: int
) -> None:
    data = wrap(encode(rows, sent), sent, codec, 0, 0)
    rules = ProduceRules(magic=magic, codec=target)
    result = validate_produce(bytearray(data), rules, now_ms=NOW, request_version=2, next_offset=first)
    assert result.run.stamp(first, 1) == first + len(rows) - 1
    stored = b"".join(result.run.buffers())
    entries = list(iter_messages(stored, check_crc=True))
    messages = unwrap(entries[0], check_crc=True) if target else entries
    assert {(entry.magic, entry.codec) for entry in entries} == {(magic, target)}
    assert copied(messages) == [(key, value) for _, _, key, value in rows]
    read = [record for entry in iter_batches(stored, check_crc=True) for record in entry]
    assert [record.offset for record in read] == list(range(first, first + len(rows)))
    times = [at if magic == sent == 1 else -1 for _, at, _, _ in rows]
    assert [record.timestamp for record in read] == times
    assert result.max_timestamp == max(times)


@EXAMPLES
@given(ROWS, MAGICS, CODECS)
def test_up_and_down_again(rows: list[Any], magic: int, codec: Codec) -> None:
    builder = BatchBuilder(magic, codec, base_offset=7)
    for _, at, key, value in rows:
        builder.append(at, key, value)
    data = builder.build()
    up = up_convert(data)
    assert {entry.magic for entry in iter_batches(up, check_crc=True)} == {2}
    assert [record for entry in iter_batches(up) for record in entry] == [r for e in iter_batches(data) for r in e]
    assert [r for e in iter_batches(down_convert(up, magic)) for r in e] == [r for e in iter_batches(data) for r in e]


def take(data: bytes) -> None:
    """Everything that reads message sets, of bytes that may be anything: a clean error or none."""
    uses: list[Any] = [
        lambda: _messages.read_entry(data, limit=LIMIT),
        lambda: _messages.read_entry(data, limit=LIMIT, check_crc=True),
        lambda: MessageSet(data, limit=LIMIT).records(),
        lambda: whole_end(data),
        lambda: down_convert(data, 0, limit=LIMIT),
        lambda: down_convert(data, 1, limit=LIMIT),
        lambda: up_convert(data, limit=LIMIT),
        lambda: up_convert(data, 1, limit=LIMIT),
    ]
    for magic in (0, 1, 2):
        uses.append(lambda magic=magic: convert(data, magic, 2 - magic, count=2**31 - 1))
        for codec in (None, Codec.LZ4):
            rules = ProduceRules(magic=magic, codec=codec, max_unpacked_bytes=LIMIT)
            uses.append(lambda rules=rules: validate_produce(bytearray(data), rules, now_ms=NOW, request_version=2))
    for use in uses:
        try:
            use()
        except KafkaError:
            continue
    run = BatchRun(bytearray(data))
    try:
        run.scan()
        run.check(client=False, limit=LIMIT)
        run.stamp(100, 1)
    except (KafkaError, ValueError):
        return


@FUZZ
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    take(data)
    take(b"\x00" * 8 + max(len(data) - 12, 0).to_bytes(4, "big") + data[12:])


@FUZZ
@given(ROWS, MAGICS, CODECS, st.booleans(), st.data())
def test_damaged_sets(rows: list[Any], magic: int, codec: Codec, sealed: bool, data: st.DataObject) -> None:
    inner = bytearray(encode(rows, magic))
    inside = data.draw(st.booleans())
    if inside:
        inner[data.draw(st.integers(0, len(inner) - 1))] ^= data.draw(st.integers(1, 255))
    whole = bytearray(wrap(bytes(inner), magic, codec, 5, 0))
    if not inside:
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    if sealed:  # the checksum of the first entry fits, whatever is in it
        end = min(12 + max(int.from_bytes(whole[8:12], "big", signed=True), 4), len(whole))
        whole[12:16] = zlib.crc32(whole[16:end]).to_bytes(4, "big")
    take(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    take(bytes(whole))


def test_lying_sizes_and_counts_take_no_memory() -> None:
    plain = encode_message(1, 0, 0, NOW, b"k", b"v")
    cases = []
    for lie in (2**31 - 1, 2**30, 10**6):
        data = bytearray(plain)
        data[8:12] = lie.to_bytes(4, "big")
        cases.append(bytes(data))
        for at in (26, 31):
            data = bytearray(plain)
            data[at : at + 4] = lie.to_bytes(4, "big")
            data[12:16] = zlib.crc32(data[16:]).to_bytes(4, "big")
            cases.append(bytes(data))
    builder = BatchBuilder()
    builder.append(NOW, b"k", b"v")
    payload = builder.build()[61:]
    tracemalloc.start()
    try:
        for data in cases:
            take(data)
        with pytest.raises(CorruptRecordError):
            convert(payload, 2, 1, count=2**31 - 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20
