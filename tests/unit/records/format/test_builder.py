"""BatchBuilder and control markers."""

from __future__ import annotations

import pytest

from reference.records.batch_v2 import PlainRecord, encode_batch, parse_batch, parse_records
from tidelog.common.errors import CorruptRecordError
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import Record, iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import ControlType, control_type, end_txn_marker, end_txn_of, parse_end_txn_marker
from tidelog.records.kernel._batches import BatchRun


def test_bytes_are_those_of_the_reference() -> None:
    builder = BatchBuilder(
        base_offset=9, producer_id=1, producer_epoch=2, base_sequence=3, transactional=True, leader_epoch=4
    )
    assert builder.append(500, b"k", None, [("a", b"b"), ("c", None)]) == 9
    assert builder.append(400, None, b"v" * 300) == 10
    assert builder.append(600, b"x", b"y", offset=20) == 20
    records = [
        PlainRecord(0, 0, b"k", None, ((b"a", b"b"), (b"c", None))),
        PlainRecord(1, -100, None, b"v" * 300, ()),
        PlainRecord(11, 100, b"x", b"y", ()),
    ]
    expected = encode_batch(
        records,
        base_offset=9,
        leader_epoch=4,
        attributes=0x10,
        last_offset_delta=11,
        base_timestamp=500,
        max_timestamp=600,
        producer_id=1,
        producer_epoch=2,
        base_sequence=3,
    )
    assert builder.size_estimate == len(expected)
    assert (builder.record_count, builder.next_offset, builder.max_timestamp) == (3, 21, 600)
    assert builder.build() == expected


@pytest.mark.parametrize("size", [0, 62, 63, 64, 8190, 8191, 8192, 1_048_570, 1_048_580, 3_000_000])
def test_every_length_of_varint(size: int) -> None:
    builder = BatchBuilder()
    builder.append(2**62, b"k" * size, b"v" * size)
    builder.append(-(2**62), b"", b"", offset=2**31 - 1)
    batch = parse_batch(builder.build())
    first, second = parse_records(batch.payload, batch.count)
    assert (first.key, first.value) == (b"k" * size, b"v" * size)
    assert second.timestamp_delta == -(2**63)
    assert (second.offset_delta, batch.last_offset_delta) == (2**31 - 1, 2**31 - 1)
    run = BatchRun(builder.build())
    run.scan()
    run.check(client=False)


def test_offsets_only_rise() -> None:
    for magic in (0, 1, 2):
        builder = BatchBuilder(magic, base_offset=10)
        builder.append(0, b"a", b"b", offset=12)
        with pytest.raises(ValueError, match="after 12"):
            builder.append(0, b"a", b"b", offset=12)
    with pytest.raises(ValueError, match="does not fit"):
        BatchBuilder().append(0, None, None, offset=2**31)


def test_the_last_offset_can_be_kept() -> None:
    builder = BatchBuilder(base_offset=10)
    builder.append(0, b"a", b"b")
    assert next(iter_batches(builder.build(last_offset=30))).last_offset == 30
    with pytest.raises(ValueError, match="cannot end at 9"):
        builder.build(last_offset=9)


def test_a_batch_without_records() -> None:
    builder = BatchBuilder(
        base_offset=10, codec=Codec.ZSTD, producer_id=5, producer_epoch=1, base_sequence=7, leader_epoch=3
    )
    with pytest.raises(ValueError, match="0 records"):
        builder.build()
    empty = builder.build_empty(last_offset=14, timestamp=99)
    assert len(empty) == 61
    (batch,) = iter_batches(empty, check_crc=True)
    assert batch.records() == []
    assert (batch.header.last_sequence, batch.last_offset, batch.max_timestamp) == (11, 14, 99)
    assert batch.codec is Codec.NONE


def test_delete_horizon() -> None:
    builder = BatchBuilder(delete_horizon=5000)
    builder.append(100, b"k", None)
    builder.append(200, b"k2", None)
    (batch,) = iter_batches(builder.build())
    assert batch.header.delete_horizon == 5000
    assert [record.timestamp for record in batch] == [100, 200]
    assert batch.max_timestamp == 200


@pytest.mark.parametrize("codec", list(Codec))
def test_levels_reach_the_codec(codec: Codec) -> None:
    builder = BatchBuilder(codec=codec, level=5)
    builder.append(0, None, b"text " * 1000)
    assert next(iter_batches(builder.build())).records()[0].value == b"text " * 1000


def test_misuse_is_named() -> None:
    with pytest.raises(ValueError, match="log_append_time"):
        BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME)
    with pytest.raises(ValueError, match="no producers"):
        BatchBuilder(1, producer_id=4)
    with pytest.raises(ValueError, match="magic -1"):
        BatchBuilder(-1)
    with pytest.raises(ValueError, match="no record headers"):
        BatchBuilder(1).append(0, None, None, [("a", b"b")])
    with pytest.raises(ValueError, match="at least one"):
        BatchBuilder(0).build()
    with pytest.raises(ValueError, match="only magic 2"):
        BatchBuilder(0).build_empty(last_offset=0, timestamp=0)
    with pytest.raises(TypeError):
        BatchBuilder().append(0, "text", b"")  # type: ignore[arg-type]  # that is what is tested


def test_a_failed_append_leaves_the_batch_as_it_was() -> None:
    builder = BatchBuilder()
    builder.append(0, b"a", b"b")
    with pytest.raises(TypeError):
        builder.append(0, b"a", b"b", [("name", "text")])  # type: ignore[list-item]  # that is what is tested
    with pytest.raises(TypeError):
        builder.append(0, b"a", b"b", [(None, b"v")])  # type: ignore[list-item]  # that is what is tested
    assert len(next(iter_batches(builder.build())).records()) == 1


@pytest.mark.parametrize("committed", [True, False])
def test_end_of_transaction_markers(committed: bool) -> None:
    data = end_txn_marker(7, 2, committed=committed, coordinator_epoch=5, timestamp=9, base_offset=3, leader_epoch=1)
    (batch,) = iter_batches(data, check_crc=True)
    assert batch.is_control
    assert batch.is_transactional
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 2, -1)
    marker = parse_end_txn_marker(batch)
    assert marker is not None
    assert (marker.committed, marker.coordinator_epoch) == (committed, 5)
    (record,) = batch
    assert record.key == (b"\0\0\0\1" if committed else b"\0\0\0\0")
    assert record.value == b"\0\0\0\0\0\5"
    BatchRun(data).scan()


def test_other_control_records() -> None:
    assert control_type(b"\0\0\0\2") is ControlType.LEADER_CHANGE
    assert control_type(b"\0\1\0\x63") is ControlType.UNKNOWN
    assert end_txn_of(Record(0, 0, b"\0\0\0\2", b"anything")) is None
    plain = BatchBuilder()
    plain.append(0, b"\0\0\0\1", b"\0\0\0\0\0\5")
    assert parse_end_txn_marker(next(iter_batches(plain.build()))) is None
    for key, value in [
        (None, b""),
        (b"\0\0", b""),
        (b"\xff\xff\0\0", b""),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0\0"),
    ]:
        with pytest.raises(CorruptRecordError):
            end_txn_of(Record(0, 0, key, value))
    with pytest.raises(CorruptRecordError, match="version"):
        end_txn_of(Record(0, 0, b"\0\0\0\1", b"\xff\xff\0\0\0\0"))
