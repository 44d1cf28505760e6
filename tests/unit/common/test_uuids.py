"""Uuids as Kafka writes them: 22 characters, and never one that looks like an option."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
