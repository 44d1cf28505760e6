"""Varints: the worked numbers of the format, every boundary, and bytes that are no varint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.common import varint


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (300, "d804"), (2**31 - 1, "feffffff0f")],
)
def test_signed_examples(value: int, encoded: str) -> None:
    assert varint.encode_varint(value).hex() == encoded
    assert varint.decode_varint(bytes.fromhex(encoded)) == (value, len(encoded) // 2)


@given(st.integers(-(2**63), 2**63 - 1))
def test_round_trip_64_bits(value: int) -> None:
    encoded = varint.encode_varint(value)
    assert varint.decode_varlong(b"x" + encoded + b"tail", 1) == (value, 1 + len(encoded))


@given(st.integers(0, 2**32 - 1))
def test_round_trip_unsigned(value: int) -> None:
    encoded = varint.encode_unsigned(value)
    assert varint.decode_unsigned(encoded) == (value, len(encoded))


@pytest.mark.parametrize("data", ["", "80", "ffffffffff01", "8080808080", "ffffffff7f"])
def test_refuses_what_is_no_32_bit_varint(data: str) -> None:
    with pytest.raises(varint.VarintError):
        varint.decode_unsigned(bytes.fromhex(data))


def test_refuses_negative_unsigned() -> None:
    with pytest.raises(ValueError, match="unsigned"):
        varint.encode_unsigned(-1)
