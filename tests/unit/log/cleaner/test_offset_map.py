"""The offset map against hashlib, a dictionary and a plain model of Kafka's probing."""

from __future__ import annotations

import hashlib
import random

import pytest

from tidelog.log.cleaner._offset_map import BYTES_PER_ENTRY, OffsetMap, md5_digests


def test_digests_of_every_length_are_md5() -> None:
    keys = [bytes(range(256))[:n] * 1 for n in range(200)] + [b"x" * 10_000]
    random.Random(7).shuffle(keys)
    assert md5_digests(keys) == [hashlib.md5(key).digest() for key in keys]


def test_it_is_a_dictionary_of_latest_offsets() -> None:
    rng = random.Random(1)
    offsets = OffsetMap(BYTES_PER_ENTRY * 1000)
    model: dict[bytes, int] = {}
    for offset in range(5000):
        key = b"key-%d" % rng.randrange(900)
        offsets.put(key, offset)
        model[key] = offset
    assert len(offsets) == len(model)
    assert offsets.latest_offset == 4999
    assert {key: offsets.get(key) for key in model} == model
    assert offsets.get(b"never seen") == -1
    offsets.clear()
    assert (len(offsets), offsets.latest_offset, offsets.get(b"key-1")) == (0, -1, -1)


def test_it_works_to_the_last_slot_and_then_says_so() -> None:
    offsets = OffsetMap(BYTES_PER_ENTRY * 64 + 5)
    assert offsets.slots == 64
    offsets.clear()
    for offset in range(64):
        offsets.put(b"%d" % offset, offset)
    assert [offsets.get(b"%d" % n) for n in range(64)] == list(range(64))
    assert offsets.get(b"absent from a full table") == -1
    assert offsets.utilization == 1.0
    with pytest.raises(ValueError, match="full"):
        offsets.put(b"one more", 64)
    with pytest.raises(ValueError, match="at least 24"):
        OffsetMap(23)


def test_offset_zero_of_a_key_is_found() -> None:
    offsets = OffsetMap(BYTES_PER_ENTRY * 10)
    offsets.put(b"", 0)
    assert offsets.get(b"") == 0


def test_a_pass_over_few_records_uses_few_slots() -> None:
    offsets = OffsetMap(BYTES_PER_ENTRY * 1_000_000)
    for keys in (10, 5000, 200_000, 10):
        offsets.clear(keys)
        for n in range(keys):
            offsets.put(b"%d" % n, n)
        assert len(offsets) == keys
        assert [offsets.get(b"%d" % n) for n in range(0, keys, 97)] == list(range(0, keys, 97))
        assert offsets.get(b"absent") == -1
    assert offsets.slots == 1_000_000
