"""Uuids, hashes, properties and the error table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.common.errors import CorruptRecordError, ErrorCode, KafkaError, error_name
from tidelog.common.hashing import java_hash, murmur2, partition_for_id, partition_for_key
from tidelog.common.properties import parse_properties, render_properties
from tidelog.common.rng import seeded_rng
from tidelog.common.uuids import RESERVED, random_uuid, uuid_from_text, uuid_to_text


@given(st.binary(min_size=16, max_size=16))
def test_uuid_text_round_trip(value: bytes) -> None:
    text = uuid_to_text(value)
    assert len(text) == 22
    assert uuid_from_text(text) == value


@pytest.mark.parametrize("text", ["", "short", "!" * 22, "A" * 23])
def test_uuid_refuses_other_text(text: str) -> None:
    with pytest.raises(ValueError, match="UUID"):
        uuid_from_text(text)


def test_random_uuid_is_usable_as_an_argument() -> None:
    rng = seeded_rng(1)
    for _ in range(200):
        value = random_uuid(rng)
        assert value not in RESERVED
        assert not uuid_to_text(value).startswith("-")


# Known values of the Java client's Utils.murmur2, as its own test lists them.
@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_equals_java(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF
    assert partition_for_key(key, 7) == (signed & 0x7FFFFFFF) % 7


@pytest.mark.parametrize(("text", "value"), [("", 0), ("a", 97), ("hello", 99162322), ("Kafka", 72255238)])
def test_java_hash(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_partition_for_id_survives_the_most_negative_hash() -> None:
    text = "polygenelubricants"  # its hash code is Integer.MIN_VALUE
    assert java_hash(text) == -(2**31)
    assert partition_for_id(text, 50) == 0


def test_java_hash_counts_utf16_units() -> None:
    assert java_hash("\U0001f600") == 31 * 0xD83D + 0xDE00


def test_properties_as_java_writes_them() -> None:
    text = "# comment\n! another\n a = b\nc:d\ne f\nlong=one,\\\n   two\nuni=\\u00e9\nempty=\nlast=x\nlast=y"
    assert parse_properties(text) == {
        "a": "b", "c": "d", "e": "f", "long": "one,two", "uni": "é", "empty": "", "last": "y",
    }  # fmt: skip


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
def test_properties_round_trip(values: dict[str, str]) -> None:
    assert parse_properties(render_properties(values, "comment")) == values


def test_error_table() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER == 6
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.refresh_metadata
    assert not ErrorCode.MESSAGE_TOO_LARGE.retriable
    assert sorted(ErrorCode) == list(range(-1, 134))
    assert error_name(9999) == "ERROR_9999"


def test_errors_carry_code_and_text() -> None:
    assert KafkaError(3).code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    corrupt = CorruptRecordError("bad length", 17)
    assert corrupt.code == ErrorCode.CORRUPT_MESSAGE
    assert "byte 17" in str(corrupt)
