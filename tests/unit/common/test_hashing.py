"""Hashes that all of Kafka's programs must agree on."""

from __future__ import annotations

import pytest

from tidelog.common.hashing import java_hash, murmur2, partition_for_id, partition_for_key


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
