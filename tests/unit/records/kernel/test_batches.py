"""BatchRun: parse, check, screen and stamp batches in place."""

from __future__ import annotations

import struct

import pytest

from reference.records.batch_v2 import PlainRecord, encode_batch, parse_batch
from tidelog.common.errors import CorruptRecordError, ErrorCode, InvalidRecordError
from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import CONTROL_BIT, TIMESTAMP_TYPE_BIT, Codec, TimestampType
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.legacy import encode_message
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel.crc32c import crc32c


def plain(count: int) -> list[PlainRecord]:
    return [PlainRecord(i, i, b"key-%d" % i, b"value-%d" % i, ()) for i in range(count)]


def built(count: int = 3, codec: Codec = Codec.NONE, **options: object) -> bytearray:
    builder = BatchBuilder(codec=codec, **options)  # type: ignore[arg-type]  # options of any type, for the builder
    for i in range(count):
        builder.append(1000 + i, b"k%d" % i, b"v%d" % i)
    return bytearray(builder.build())


def run_of(data: bytes | bytearray) -> BatchRun:
    run = BatchRun(data)
    run.add(0, len(data))
    return run


def reseal(batch: bytearray) -> bytearray:
    """Make the checksum right again after a change."""
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return batch


def test_header_fields() -> None:
    batch = encode_batch(
        plain(3),
        base_offset=77,
        leader_epoch=5,
        attributes=0x10,
        base_timestamp=100,
        max_timestamp=102,
        producer_id=9,
        producer_epoch=2,
        base_sequence=11,
    )
    header = run_of(batch).header(0)
    assert (header.position, header.size, header.base_offset, header.last_offset_delta) == (0, len(batch), 77, 2)
    assert (header.leader_epoch, header.magic, header.attributes) == (5, 2, 0x10)
    assert (header.base_timestamp, header.max_timestamp, header.record_count) == (100, 102, 3)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 11)
    assert header.crc == crc32c(batch[21:])
    assert (header.last_offset, header.next_offset, header.last_sequence) == (79, 80, 13)
    assert header.is_transactional
    assert not header.is_control
    assert header.codec is Codec.NONE
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert header.delete_horizon is None


def test_sequences_wrap_to_zero() -> None:
    header = run_of(encode_batch(plain(3), producer_id=1, base_sequence=2**31 - 2)).header(0)
    assert header.last_sequence == 0


def test_batches_of_one_receive_buffer_need_not_touch() -> None:
    first, second, third = built(2), built(1), built(4)
    buffer = bytearray(b"frame" + first + second + b"another frame" + third)
    run = BatchRun(buffer)
    run.add(5, len(first))
    run.add(5 + len(first), len(second))
    run.add(len(buffer) - len(third), len(third))
    run.check()
    assert (len(run), run.record_total, run.size) == (3, 7, len(first) + len(second) + len(third))
    assert run.stamp(40, 8) == 46
    pieces = run.buffers()
    assert [len(piece) for piece in pieces] == [len(first) + len(second), len(third)]
    assert [header.base_offset for header in run.headers()] == [40, 42, 43]
    assert [parse_batch(bytes(run.view(i))).base_offset for i in range(3)] == [40, 42, 43]
    assert buffer.startswith(b"frame")
    assert b"another frame" in buffer
    run.check()


def test_more_batches_than_fit_inline() -> None:
    one = bytes(built(1))
    run = BatchRun(bytearray(one * 1000))
    assert run.scan() == len(one) * 1000
    run.check()
    assert run.stamp(0, 1) == 999
    assert [header.base_offset for header in run.headers()] == list(range(1000))
    part = run.take(500, 502)
    assert [header.base_offset for header in part.headers()] == [500, 501]
    assert part.found(0) == (1000, 1000, 0, -1)
    assert len(part.buffers()) == 1


def test_scan_stops_at_a_batch_that_is_cut_off() -> None:
    one = built(3)
    for cut in (0, 1, 11, 16, 17, 60, len(one) - 1):
        run = BatchRun(one + one[:cut])
        assert run.scan() == len(one)
        assert len(run) == 1


@pytest.mark.parametrize(
    ("position", "value", "what"),
    [
        (16, b"\x03", "magic 3"),
        (16, b"\xff", "magic -1"),
        (8, b"\x00\x00\x00\x30", "too few"),
        (8, b"\xff" * 4, "too few"),
    ],
)
def test_scan_names_where_the_bytes_go_bad(position: int, value: bytes, what: str) -> None:
    one = built(3)
    bad = bytearray(one)
    bad[position : position + len(value)] = value
    run = BatchRun(one + bad)
    with pytest.raises(CorruptRecordError, match=what) as caught:
        run.scan()
    assert caught.value.position == len(one)
    assert len(run) == 1


def test_add_takes_exactly_one_magic_2_batch() -> None:
    one = bytes(built(1))
    for data, kind, text in [
        (one + b"\0", InvalidRecordError, "exactly one batch"),
        (one[:-1], CorruptRecordError, "cut off"),
        (one[:16], CorruptRecordError, "16 bytes"),
        (one[:16] + b"\x01" + one[17:], InvalidRecordError, "magic 1"),
        (one[:16] + b"\x07" + one[17:], CorruptRecordError, "magic 7"),
        (one[:8] + b"\0\0\0\0" + one[12:], CorruptRecordError, "at least 49"),
    ]:
        with pytest.raises(kind, match=text):
            run_of(data)
    run = BatchRun(one)
    for position, size in [(0, len(one) + 1), (-1, len(one)), (10, len(one)), (0, -1)]:
        with pytest.raises(CorruptRecordError, match="does not lie in"):
            run.add(position, size)


@pytest.mark.parametrize("codec", list(Codec))
def test_one_flipped_bit_breaks_the_checksum(codec: Codec) -> None:
    batch = built(5, codec)
    run_of(batch).check()
    for position in (21, 30, 57, 61, len(batch) - 1):
        bad = bytearray(batch)
        bad[position] ^= 0x40
        with pytest.raises(CorruptRecordError, match="checksum"):
            run_of(bad).check()
    for position in (0, 7, 12, 15):  # offset and epoch lie in front of the checksummed part
        moved = bytearray(batch)
        moved[position] ^= 0x40
        run_of(moved).check()


MALFORMED = {
    "length": b"\x7f" + bytes(6),
    "length too long": b"\xff\xff\xff\xff\xff\xff",
    "length negative": b"\x01",
    "too short": b"\x0a" + bytes(5),
    "offset delta": bytes([12, 0, 0, 2, 1, 1, 0]),
    "key": bytes([12, 0, 0, 0, 40, 1, 0]),
    "value": bytes([12, 0, 0, 0, 1, 40, 0]),
    "number of headers": bytes([12, 0, 0, 0, 1, 1, 1]),
    "a record header has": bytes([16, 0, 0, 0, 1, 1, 2, 1, 1]),
    "do not add up": bytes([14, 0, 0, 0, 1, 1, 0, 0]),
    "goes on": bytes([12, 0, 0, 0, 1, 1, 0, 12]),
    "ends before": b"",
}


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("what", MALFORMED)
def test_a_sound_checksum_over_malformed_records_is_invalid(what: str, codec: Codec) -> None:
    payload = compress(codec, MALFORMED[what])
    batch = encode_batch([], payload=payload, attributes=codec, count=1, last_offset_delta=0)
    run = run_of(batch)
    run.check(records=False)
    with pytest.raises(InvalidRecordError) as caught:
        run.check()
    assert caught.value.code is ErrorCode.INVALID_RECORD
    if what not in ("length too long", "length negative", "too short"):
        assert what in str(caught.value)
    assert caught.value.record_errors == []
    assert "batch at byte 0" in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"count": 0}, "0 records"),
        ({"count": -1}, "-1 records"),
        ({"last_offset_delta": 5}, "expected 2 for 3 records"),
        ({"last_offset_delta": -1}, "last offset delta is -1"),
        ({"attributes": CONTROL_BIT}, "control"),
        ({"producer_id": 4}, "sequence of producer 4"),
    ],
)
def test_what_clients_may_not_send(fields: dict[str, int], text: str) -> None:
    run = run_of(encode_batch(plain(3), **fields))  # type: ignore[arg-type]  # all of them are integers
    with pytest.raises(InvalidRecordError, match=text):
        run.check()


def test_what_compaction_leaves_is_fine_on_disk() -> None:
    holes = [PlainRecord(2, 0, b"a", b"b", ()), PlainRecord(7, 0, b"c", None, ())]
    for batch in (
        encode_batch(holes, last_offset_delta=9),
        encode_batch([], last_offset_delta=4),
        encode_batch(plain(1), attributes=CONTROL_BIT, producer_id=3),
    ):
        run_of(batch).check(client=False)
        with pytest.raises(InvalidRecordError):
            run_of(batch).check()
    falling = [PlainRecord(2, 0, b"a", b"b", ()), PlainRecord(1, 0, b"c", None, ())]
    for batch in (
        encode_batch(falling, last_offset_delta=9),
        encode_batch(holes, last_offset_delta=6),
        encode_batch(holes, last_offset_delta=0),
        encode_batch([], last_offset_delta=-1),
    ):
        with pytest.raises(InvalidRecordError):
            run_of(batch).check(client=False)


def test_check_finds_timestamps_and_missing_keys() -> None:
    records = [
        PlainRecord(0, 5, b"a", b"", ()),
        PlainRecord(1, 9, b"b", b"", ()),
        PlainRecord(2, 9, None, b"", ()),
        PlainRecord(3, -3, None, b"", ()),
    ]
    run = run_of(encode_batch(records, base_timestamp=100))
    with pytest.raises(ValueError, match="not been checked"):
        run.found(0)
    run.check()
    assert run.found(0) == (97, 109, 1, 2)
    assert run.largest_timestamp() == (109, 1)


def test_records_without_timestamps() -> None:
    run = run_of(encode_batch([PlainRecord(0, 0, b"a", b"", ())], base_timestamp=-1, max_timestamp=-1))
    run.check()
    assert run.found(0) == (None, -1, -1, -1)
    assert run.largest_timestamp() == (-1, -1)


def test_screen() -> None:
    batch = encode_batch([PlainRecord(0, 0, None, b"", ()), PlainRecord(1, 50, b"k", b"", ())], base_timestamp=1000)
    run = run_of(batch)
    assert run.screen(-1, False, 0, 9999) == 0  # not checked yet
    run.check()
    assert run.screen(-1, False, 1000, 1050) == -1
    assert run.screen(-1, False, 1001, 1050) == 0
    assert run.screen(-1, False, 1000, 1049) == 0
    assert run.screen(-1, True, 0, 9999) == 0
    assert run.screen(Codec.NONE, False, 0, 9999) == -1
    assert run.screen(Codec.ZSTD, False, 0, 9999) == 0
    append_time = run_of(encode_batch(plain(1), attributes=TIMESTAMP_TYPE_BIT))
    append_time.check()
    assert append_time.screen(-1, False, 0, 9999) == 0


def test_stamp_keeps_the_checksum_unless_the_timestamp_changes() -> None:
    batch = built(3)
    crc = run_of(batch).header(0).crc
    run = run_of(batch)
    run.check()
    run.stamp(5, 6)
    assert run.header(0).crc == crc
    assert run_of(batch).header(0).leader_epoch == 6


def test_stamp_sets_a_wrong_largest_timestamp_right() -> None:
    batch = bytearray(encode_batch(plain(3), base_timestamp=100, max_timestamp=999))
    run = run_of(batch)
    run.check()
    run.stamp(0, 0)
    again = run_of(batch)
    again.check()
    assert again.header(0).max_timestamp == 102


def test_stamp_with_log_append_time() -> None:
    batch = built(3, Codec.LZ4)
    run = run_of(batch)
    run.check()
    assert run.stamp(10, 1, log_append_time=5555) == 12
    again = run_of(batch)
    again.check()
    header = again.header(0)
    assert header.max_timestamp == 5555
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.base_timestamp == 1000


def test_stamp_a_part_of_the_run() -> None:
    data = bytearray(bytes(built(2)) * 3)
    run = BatchRun(data)
    run.scan()
    assert run.stamp(100, 0, first=1, stop=2) == 101
    assert [header.base_offset for header in run.headers()] == [0, 100, 0]
    with pytest.raises(IndexError):
        run.stamp(0, 0, stop=4)
    with pytest.raises(IndexError):
        run.check(first=-1)


def test_read_only_buffers_are_not_stamped() -> None:
    run = run_of(bytes(built(1)))
    assert run.readonly
    with pytest.raises(BufferError):
        run.stamp(0, 0)


def test_an_unknown_codec_is_invalid() -> None:
    run = run_of(encode_batch(plain(1), attributes=6))
    with pytest.raises(InvalidRecordError, match="codec 6"):
        run.check()


def test_compressed_batches_are_counted_and_bounded() -> None:
    builder = BatchBuilder(codec=Codec.GZIP)
    builder.append(0, None, bytes(1_000_000))
    run = run_of(builder.build())
    assert run.compressed == 1
    run.check(limit=2_000_000)
    with pytest.raises(InvalidRecordError, match="more than 1000 bytes"):
        run.check(limit=1000)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_sound_checksum_over_bytes_that_do_not_unpack_is_invalid(codec: Codec) -> None:
    run = run_of(encode_batch([], payload=b"no such data", attributes=codec, count=1, last_offset_delta=0))
    with pytest.raises(InvalidRecordError, match=f"no {codec.label} data") as caught:
        run.check()
    assert not caught.value.retriable


def test_release_lets_the_buffer_grow_again() -> None:
    buffer = built(1)
    run = run_of(buffer)
    with pytest.raises(BufferError):
        buffer.extend(b"more")
    run.release()
    buffer.extend(b"more")
    assert len(run) == 0
    assert run.buffer is None
    assert run.buffers() == []


def test_clear_keeps_the_buffer() -> None:
    batch = built(1, Codec.GZIP)
    run = run_of(batch)
    run.clear()
    assert (len(run), run.size, run.record_total, run.compressed) == (0, 0, 0, 0)
    run.add(0, len(batch))
    assert len(run) == 1
    with pytest.raises(IndexError):
        run.header(1)
    with pytest.raises(IndexError):
        run.take(0, 2)


def test_legacy_entries_are_scanned_too() -> None:
    old = BatchBuilder(0, base_offset=5)
    old.append(-1, b"k", b"v")
    wrapped = BatchBuilder(1, Codec.GZIP, base_offset=6)
    wrapped.append(70, b"k", b"v")
    wrapped.append(60, b"k", b"v")
    run = BatchRun(bytearray(old.build() + wrapped.build()) + built(1, base_offset=8))
    run.scan()
    first, second, third = run.headers()
    assert (first.magic, first.base_offset, first.record_count, first.max_timestamp) == (0, 5, 1, -1)
    assert (second.magic, second.last_offset, second.record_count, second.max_timestamp) == (1, 7, -1, 70)
    assert (second.codec, first.timestamp_type) == (Codec.GZIP, TimestampType.NO_TIMESTAMP)
    assert (third.magic, third.base_offset) == (2, 8)
    with pytest.raises(ValueError, match="was not packed for"):
        run.stamp(0, 0)  # nobody has counted yet what the wrapper holds
    run.check(client=False)
    assert run.header(1).record_count == 2
    assert run.stamp(20, 3) == 23
    assert [header.last_offset for header in run.headers()] == [20, 22, 23]
    run.check(client=False)  # the checksums are still right


def test_legacy_entries_are_checked_down_to_the_inner_messages() -> None:
    inner = encode_message(1, 0, 0, 5, b"k", b"v")
    good = encode_message(1, 0, Codec.GZIP, 5, None, compress(Codec.GZIP, inner, magic=1))
    bad = encode_message(1, 0, Codec.GZIP, 5, None, compress(Codec.GZIP, inner[:-1] + b"w", magic=1))
    run = BatchRun(good + bad)
    run.scan()
    run.check(records=False)
    run.check(stop=1)
    with pytest.raises(CorruptRecordError, match="checksum") as caught:
        run.check()
    assert caught.value.position == len(good)


def test_reseal_is_what_stamp_does() -> None:
    batch = built(2)
    copy = bytearray(batch)
    copy[22] |= TIMESTAMP_TYPE_BIT
    struct.pack_into(">q", copy, 35, 42)
    run = run_of(batch)
    run.stamp(0, -1, log_append_time=42)
    assert batch == reseal(copy)
