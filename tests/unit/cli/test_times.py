"""Moments as people type them."""

from __future__ import annotations

import pytest

from tidelog.cli.times import parse_moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("0", 0),
        ("1700000000123", 1_700_000_000_123),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T00:00:01.5", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:59:59Z", -1000),
        ("yesterday", None),
        ("-5", None),
    ],
)
def test_a_date_a_time_or_milliseconds(text: str, moment: int | None) -> None:
    assert parse_moment(text) == moment
