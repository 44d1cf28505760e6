"""The compiled record code against the plain references, over generated records and arbitrary bytes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.records import batch_v2
from reference.records.batch_v2 import Malformed, PlainRecord, encode_batch, encode_record, parse_records
from reference.records.message_set import iter_messages
from tidelog.common import hashing
from tidelog.common.errors import CorruptRecordError, InvalidRecordError, KafkaError
from tidelog.records.arrow import arrow_to_batches, batches_to_arrow
from tidelog.records.codec.compression import compress, decompress
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.convert import down_convert, up_convert
from tidelog.records.format.validate import ProduceRules, validate_produce
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel._messages import read_entry
from tidelog.records.kernel._record import read_records
from tidelog.records.kernel.crc32c import crc32c, crc32c_portable
from tidelog.records.kernel.murmur2 import murmur2

EXAMPLES = settings(max_examples=100, deadline=None)
FUZZ = settings(max_examples=250, deadline=None)
LIMIT = 1 << 20  # of unpacked bytes, so that a bomb that hypothesis finds stays small

INT64 = st.integers(-(2**63), 2**63 - 1)
NULLABLE = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=20)), max_size=4)
ROW = st.tuples(st.integers(0, 2**45), NULLABLE, NULLABLE, HEADERS)
ROWS = st.lists(ROW, min_size=1, max_size=10)
CODECS = st.sampled_from(list(Codec))


def build(rows: list[Any], magic: int = 2, codec: Codec = Codec.NONE, base_offset: int = 0) -> bytes:
    builder = BatchBuilder(magic, codec, base_offset=base_offset)
    for timestamp, key, value, headers in rows:
        builder.append(timestamp, key, value, headers if magic == 2 else ())
    return builder.build()


def fields(data: bytes) -> list[tuple[Any, ...]]:
    return [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for b in iter_batches(data) for r in b]


@EXAMPLES
@given(ROWS, st.integers(0, 2**40))
def test_builder_writes_the_reference_s_bytes(rows: list[Any], base_offset: int) -> None:
    base = rows[0][0]
    plain = [
        PlainRecord(i, timestamp - base, key, value, tuple((name.encode(), content) for name, content in headers))
        for i, (timestamp, key, value, headers) in enumerate(rows)
    ]
    expected = encode_batch(
        plain, base_offset=base_offset, base_timestamp=base, max_timestamp=max(row[0] for row in rows)
    )
    assert build(rows, base_offset=base_offset) == expected


@EXAMPLES
@given(ROWS, CODECS, st.integers(0, 2**40))
def test_all_readers_agree(rows: list[Any], codec: Codec, base_offset: int) -> None:
    data = build(rows, codec=codec, base_offset=base_offset)
    expected = [(base_offset + i, *row) for i, row in enumerate(rows)]
    assert fields(data) == expected
    for view in (False, True):
        table = batches_to_arrow(data, view=view, columns=("offset", "key", "value", "headers"))
        assert [
            (r["offset"], r["key"], r["value"], [(h["key"], h["value"]) for h in r["headers"]])
            for r in table.to_pylist()
        ] == [(offset, key, value, headers) for offset, _, key, value, headers in expected]
    run = BatchRun(data)
    run.scan()
    run.check()
    smallest, largest, index, null_key = run.found(0)
    assert (smallest, largest) == (min(row[0] for row in rows), max(row[0] for row in rows))
    assert rows[index][0] == largest
    assert null_key == next((i for i, row in enumerate(rows) if row[1] is None), -1)


@EXAMPLES
@given(ROWS, CODECS, st.integers(70, 3000))
def test_columns_written_are_the_records_read(rows: list[Any], codec: Codec, limit: int) -> None:
    table = batches_to_arrow(build(rows))
    again = arrow_to_batches(
        table["key"],
        table["value"],
        table["timestamp"],
        table["headers"],
        codec=codec,
        max_batch_bytes=limit,
        base_offset=0,
    )
    assert fields(b"".join(again)) == [(i, *row) for i, row in enumerate(rows)]


@EXAMPLES
@given(ROWS, st.sampled_from([0, 1]), st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]))
def test_conversion_down_and_up_keeps_what_the_format_has(rows: list[Any], magic: int, codec: Codec) -> None:
    data = build(rows, codec=codec, base_offset=7)
    down = down_convert(data, magic)
    expected = [(7 + i, row[0] if magic else -1, row[1], row[2], []) for i, row in enumerate(rows)]
    assert fields(down) == expected
    assert fields(up_convert(down)) == expected
    assert fields(build(rows, magic, codec, base_offset=7)) == expected


@EXAMPLES
@given(st.lists(st.binary(min_size=0, max_size=20), max_size=6), st.integers(-1, 8), INT64)
def test_kernel_and_reference_accept_the_same_payloads(parts: list[bytes], count: int, base: int) -> None:
    compare_payload(b"".join(parts), count, base)


@EXAMPLES
@given(ROWS, st.data())
def test_kernel_and_reference_accept_the_same_damaged_records(rows: list[Any], data: st.DataObject) -> None:
    payload = bytearray(build(rows)[61:])
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(payload) - 1))
        payload[position] = data.draw(st.integers(0, 255))
    compare_payload(bytes(payload), len(rows), 0)
    compare_payload(bytes(payload[: data.draw(st.integers(0, len(payload)))]), len(rows), 0)


def compare_payload(payload: bytes, count: int, base: int) -> None:
    try:
        expected = parse_records(payload, count) if count >= 0 else None
    except Malformed:
        expected = None
    batch = encode_batch([], payload=payload, count=count, last_offset_delta=2**31 - 1, base_timestamp=base)
    if expected is None:
        with pytest.raises(CorruptRecordError):
            read_records(payload, count, 0, base)
        with pytest.raises(CorruptRecordError):
            batches_to_arrow(batch)
        with pytest.raises(InvalidRecordError):
            check(batch)
        return
    records = read_records(payload, count, 0, base)
    assert [(r.offset, r.key, r.value) for r in records] == [(p.offset_delta, p.key, p.value) for p in expected]
    assert [r.timestamp for r in records] == [(base + p.timestamp_delta + 2**63) % 2**64 - 2**63 for p in expected]
    assert [[name for name, _ in r.headers] for r in records] == [
        [name.decode("utf-8", "replace") for name, _ in p.headers] for p in expected
    ]
    table = batches_to_arrow(batch, columns=("key", "value"), view=True)
    assert list(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)) == [
        (p.key, p.value) for p in expected
    ]


def check(batch: bytes) -> None:
    run = BatchRun(batch)
    run.scan()
    run.check(client=False)


@EXAMPLES
@given(st.binary(max_size=2000), st.integers(0, 2**32 - 1))
def test_checksums_and_hashes(data: bytes, start: int) -> None:
    assert crc32c(data) == crc32c_portable(data)
    assert crc32c(data, start) == crc32c_portable(data, start)
    assert crc32c(data[:40]) == batch_v2.crc32c(data[:40])
    assert murmur2(data) == hashing.murmur2(data)


def read_everything(data: bytes) -> None:
    """All ways into the package; each must answer or raise KafkaError, whatever the bytes are."""

    def scan() -> None:
        run = BatchRun(bytearray(data))
        run.scan()
        run.headers()
        run.check(client=False, limit=LIMIT)
        run.buffers()

    def messages() -> None:
        for message in iter_messages(data, check_crc=False):
            read_entry(data[message.position :], limit=LIMIT)

    attempts = [
        scan,
        messages,
        lambda: [batch.records(limit=LIMIT) for batch in iter_batches(data)],
        lambda: batches_to_arrow(data, limit=LIMIT),
        lambda: batches_to_arrow(data, limit=LIMIT, view=True, first_offset=3, aborted=[(0, 0), (1, 0)]),
        lambda: down_convert(data, 0, limit=LIMIT),
        lambda: up_convert(data, limit=LIMIT),
        lambda: validate_produce(data, ProduceRules(max_unpacked_bytes=LIMIT), now_ms=10**12),
        lambda: validate_produce(data, ProduceRules(max_unpacked_bytes=LIMIT), now_ms=10**12, request_version=1),
    ]
    for attempt in attempts:
        try:
            attempt()
        except KafkaError:
            continue


@FUZZ
@given(st.binary(max_size=400))
def test_any_bytes_at_all(data: bytes) -> None:
    read_everything(data)


@FUZZ
@given(ROWS, st.sampled_from([0, 1, 2]), CODECS, st.booleans(), st.data())
def test_damaged_batches(rows: list[Any], magic: int, codec: Codec, sealed: bool, data: st.DataObject) -> None:
    if codec == Codec.ZSTD and magic < 2:
        codec = Codec.LZ4
    batch = bytearray(build(rows, magic, codec))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    if sealed and len(batch) > 61:  # a right checksum over wrong contents gets further
        batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    read_everything(bytes(batch))
    read_everything(bytes(batch[: data.draw(st.integers(0, len(batch)))]))


@FUZZ
@given(st.binary(max_size=300), st.binary(max_size=200), CODECS, st.sampled_from([0, 1, 2]), st.data())
def test_codecs_take_any_bytes(noise: bytes, plain: bytes, codec: Codec, magic: int, data: st.DataObject) -> None:
    if codec == Codec.ZSTD:
        magic = 2
    packed = bytearray(compress(codec, plain, magic=magic))
    if packed:
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    for attempt in (noise, bytes(packed)):
        try:
            assert len(decompress(codec, attempt, limit=LIMIT, magic=magic)) <= LIMIT
        except CorruptRecordError:
            continue


@pytest.mark.soak
def test_damaged_batches_for_long() -> None:
    rng = random.Random(20_26)
    rows = [(i, b"k" * (i % 9) or None, b"v" * i, [("h", b"x"), ("n", None)][: i % 3]) for i in range(30)]
    seeds = [build(rows, 2, codec) for codec in Codec]
    seeds += [build(rows, magic, codec) for magic in (0, 1) for codec in Codec if codec != Codec.ZSTD]
    for _ in range(100_000):
        batch = bytearray(rng.choice(seeds))
        for _ in range(rng.randrange(1, 5)):
            batch[rng.randrange(len(batch))] = rng.randrange(256)
        if rng.random() < 0.5:
            batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
        read_everything(bytes(batch[: rng.randrange(len(batch))] if rng.random() < 0.2 else batch))


@EXAMPLES
@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))
def test_numbers_of_every_width(delta: int, timestamp: int) -> None:
    payload = encode_record(PlainRecord(delta, timestamp, None, None, ()))
    (record,) = read_records(payload, 1, 0, 0)
    assert (record.offset, record.timestamp) == (delta, timestamp)
    (padded,) = read_records(payload[:1] + payload[1:], 1, 2**31, -1)
    assert padded.offset == 2**31 + delta
