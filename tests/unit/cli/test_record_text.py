"""Records as lines: what plain text can say, what JSON can, and what is refused with its line's number."""

from __future__ import annotations

import pytest

from tidelog.cli.record_text import LineFormat, NewRecord, parse_json
from tidelog.common.errors import UsageError


def test_headers_then_key_then_all_the_rest() -> None:
    lines = LineFormat(key_separator=":", parse_headers=True, null_marker="NULL")
    assert lines.parse("a:1,b:x:y\tk:v:w", 1) == NewRecord(b"k", b"v:w", (("a", b"1"), ("b", b"x:y")))
    assert lines.parse("\tNULL:NULL", 1) == NewRecord(None, None)
    assert LineFormat().parse("", 1) == NewRecord(None, b"")


def test_bytes_that_are_no_text_go_through_unharmed() -> None:
    assert LineFormat().parse(b"\xff\xfe".decode("utf-8", "surrogateescape"), 1).value == b"\xff\xfe"


def test_json_says_everything() -> None:
    line = '{"key": {"base64": "/w=="}, "value": null, "headers": [["a", "1"], ["a", null]], "partition": 2'
    assert parse_json(line + ', "timestamp": 3}', 1) == NewRecord(b"\xff", None, (("a", b"1"), ("a", None)), 2, 3)
    assert parse_json('{"value": {"n": 1}, "offset": 9}', 1).value == b'{"n": 1}'


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[]", "no JSON object"),
        ("{", "no JSON:"),
        ('{"valu": 1}', "did you mean 'value'"),
        ('{"key": "k"}', "has no value"),
        ('{"value": 1, "partition": true}', "not a whole number"),
        ('{"value": {"base64": "?"}}', "no base64"),
        ('{"value": 1, "headers": 5}', "neither an object nor a list"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as told:
        parse_json(line, 17)
    assert "line 17" in str(told.value)
