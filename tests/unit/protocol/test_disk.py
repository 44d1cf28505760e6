"""Frames of the messages at rest, against bytes that Apache Kafka writes."""

from __future__ import annotations

import pytest

from tidelog.common.errors import ProtocolError
from tidelog.protocol.disk import (
    CONSUMER_OFFSETS,
    METADATA_RECORDS,
    TRANSACTION_STATE,
    UnknownTypeError,
    decode_metadata_record,
    decode_versioned,
    encode_metadata_record,
    encode_versioned,
)
from tidelog.protocol.messages import (
    AbortedTxn,
    ConsumerProtocolSubscription,
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    TopicRecord,
    TransactionLogKey,
    TransactionLogValue,
)


def test_offset_commit_key_and_value() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=3)
    assert CONSUMER_OFFSETS.encode_key(key) == b"\0\1\0\1g\0\1t\0\0\0\3"
    assert CONSUMER_OFFSETS.decode_key(b"\0\1\0\1g\0\1t\0\0\0\3") == key
    value = OffsetCommitValue(offset=42, leader_epoch=5, metadata="m", commit_timestamp=99)
    data = CONSUMER_OFFSETS.encode_value(value, 3)
    assert data == b"\0\3" + (42).to_bytes(8, "big") + b"\0\0\0\5" + b"\0\1m" + (99).to_bytes(8, "big")
    assert CONSUMER_OFFSETS.decode_value(key, data) == value


def test_tombstones_are_null() -> None:
    key = CONSUMER_OFFSETS.decode_key(b"\0\2\0\1g")
    assert key == GroupMetadataKey(group="g")
    assert CONSUMER_OFFSETS.decode_value(key, None) is None
    assert CONSUMER_OFFSETS.encode_value(None, 3) is None


def test_transaction_value_versions() -> None:
    key = TransactionLogKey(transactional_id="tx")
    value = TransactionLogValue(producer_id=1, producer_epoch=2, transaction_timeout_ms=3, transaction_partitions=None)
    for version in (0, 1):
        data = TRANSACTION_STATE.encode_value(value, version)
        assert TRANSACTION_STATE.decode_value(key, data) == value
    assert TRANSACTION_STATE.decode_key(TRANSACTION_STATE.encode_key(key)) == key


def test_unknown_types_can_be_skipped() -> None:
    with pytest.raises(UnknownTypeError) as caught:
        CONSUMER_OFFSETS.decode_key(b"\0\x63\0\1g")
    assert caught.value.type == 99
    with pytest.raises(UnknownTypeError):
        decode_metadata_record(b"\1\x7f\0")


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1", b"\0\1\0\1g\0\1t\0\0\0"])
def test_broken_keys(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        CONSUMER_OFFSETS.decode_key(data)


@pytest.mark.parametrize(
    "data", [b"", b"\1", b"\2\2\0", b"\1\2", b"\1\2\x09", b"\xff\xff\xff\xff\xff\xff", b"\1\2\0\5a"]
)
def test_broken_metadata_records(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_metadata_record(data)


def test_metadata_record_frame() -> None:
    record = TopicRecord(name="t", topic_id=bytes(range(16)))
    data = encode_metadata_record(record, 0)
    assert data == b"\1\2\0" + b"\2t" + bytes(range(16)) + b"\0"
    assert decode_metadata_record(data) == record


def test_every_metadata_record_has_a_schema() -> None:
    for name in METADATA_RECORDS.values():
        assert name.endswith("Record")
    with pytest.raises(TypeError):
        encode_metadata_record(AbortedTxn(), 0)
    with pytest.raises(TypeError):
        CONSUMER_OFFSETS.encode_key(AbortedTxn())


def test_aborted_txn_is_34_bytes() -> None:
    entry = AbortedTxn(producer_id=1, first_offset=2, last_offset=3, last_stable_offset=4)
    data = encode_versioned(entry, 0)
    assert len(data) == 34
    assert decode_versioned(AbortedTxn, data) == entry


def test_newer_consumer_protocol_is_read_as_our_latest() -> None:
    data = encode_versioned(ConsumerProtocolSubscription(topics=["a"], rack_id="r"), 3)
    newer = b"\0\x09" + data[2:] + b"what version 9 adds"
    assert decode_versioned(ConsumerProtocolSubscription, newer, newer_as_latest=True).topics == ["a"]
    with pytest.raises(ProtocolError, match="not 9"):
        decode_versioned(ConsumerProtocolSubscription, newer)
