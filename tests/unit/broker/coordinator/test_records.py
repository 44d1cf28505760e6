"""Bytes of the internal topics: exactly Kafka's, and no input breaks the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.coordinator.records import GROUP_CODEC, TRANSACTION_CODEC, CoordinatorRecord
from tidelog.broker.coordinator.transaction.metadata import Transaction
from tidelog.broker.coordinator.transaction.states import TransactionState
from tidelog.common.errors import CorruptRecordError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import GroupMetadataKey, OffsetCommitKey, OffsetCommitValue


def commit(**fields: object) -> CoordinatorRecord:
    value = OffsetCommitValue(offset=42, leader_epoch=5, metadata="", commit_timestamp=1_700_000_000_000)
    for name, field in fields.items():
        setattr(value, name, field)
    return CoordinatorRecord(OffsetCommitKey(group="g", topic="events", partition=2), value)


def test_an_offset_commit_is_written_as_version_3() -> None:
    key, value = GROUP_CODEC.encode(commit())
    assert key.hex() == "0001" + "000167" + "00066576656e7473" + "00000002"
    assert value is not None
    assert value.hex() == "0003" + "000000000000002a" + "00000005" + "0000" + "0000018bcfe56800"


def test_an_explicit_expiry_makes_it_version_1() -> None:
    _, value = GROUP_CODEC.encode(commit(expire_timestamp=1_700_000_000_001))
    assert value is not None
    assert value.hex() == "0001" + "000000000000002a" + "0000" + "0000018bcfe56800" + "0000018bcfe56801"


@given(
    group=st.text(max_size=30),
    topic=st.text(max_size=30),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(-1, 2**63 - 1),
    epoch=st.integers(-1, 2**31 - 1),
    metadata=st.text(max_size=40),
)
def test_the_quick_way_to_write_an_offset_is_the_schema(
    group: str, topic: str, partition: int, offset: int, epoch: int, metadata: str
) -> None:
    key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    value = OffsetCommitValue(offset=offset, leader_epoch=epoch, metadata=metadata, commit_timestamp=77)
    assert GROUP_CODEC.encode(CoordinatorRecord(key, value)) == (b"\0\1" + key.encode(0), b"\0\3" + value.encode(3))


def test_tombstones() -> None:
    key, value = GROUP_CODEC.encode(CoordinatorRecord(GroupMetadataKey(group="g")))
    assert (key.hex(), value) == ("0002000167", None)
    assert GROUP_CODEC.decode(key, None) == CoordinatorRecord(GroupMetadataKey(group="g"), None)


def ongoing(**fields: object) -> Transaction:
    return Transaction(
        "tx",
        4000,
        60_000,
        1_700_000_000_000,
        3,
        TransactionState.ONGOING,
        frozenset({TopicPartition("t", 0)}),
        1_700_000_000_000,
        **fields,  # type: ignore[arg-type]  # fields by name
    )


def test_a_transaction_of_the_old_protocol_is_written_as_version_0() -> None:
    key, value = TRANSACTION_CODEC.encode(ongoing().record())
    assert key.hex() == "0000" + "00027478"
    assert value is not None
    assert value.hex() == (
        "0000" + "0000000000000fa0" + "0003" + "0000ea60" + "01" + "00000001" + "000174" + "00000001" + "00000000"
        "0000018bcfe56800" + "0000018bcfe56800"
    )


def test_a_transaction_of_the_new_protocol_needs_the_tags_of_version_1() -> None:
    transaction = ongoing(previous_producer_id=4000, client_version=2)
    key, value = TRANSACTION_CODEC.encode(transaction.record())
    assert value is not None
    assert value[:2] == b"\0\1"
    decoded = TRANSACTION_CODEC.decode(key, value)
    assert decoded is not None
    assert Transaction.from_record(*decoded) == transaction


def test_an_empty_id_has_null_partitions() -> None:
    transaction = Transaction("tx", 1, 60_000, 0, 0)
    _, value = TRANSACTION_CODEC.encode(transaction.record())
    assert value is not None
    assert value[17:21] == b"\xff\xff\xff\xff"


def test_types_of_others_are_skipped() -> None:
    for number in (9, 10, 15, 17, 23):
        assert GROUP_CODEC.decode(number.to_bytes(2, "big") + b"whatever", b"\0\0") is None


@given(st.binary(max_size=60) | st.none(), st.binary(max_size=80) | st.none())
def test_garbage_is_a_clean_error(key: bytes | None, value: bytes | None) -> None:
    for codec in (GROUP_CODEC, TRANSACTION_CODEC):
        try:
            codec.decode(key, value)
        except CorruptRecordError:
            continue


@pytest.mark.parametrize("number", [0, 1, 2, 3, 5, 7, 8, 16])
@given(rest=st.binary(max_size=40), value=st.binary(max_size=60))
def test_garbage_of_known_types(number: int, rest: bytes, value: bytes) -> None:
    try:
        GROUP_CODEC.decode(number.to_bytes(2, "big") + rest, value)
    except CorruptRecordError:
        return
