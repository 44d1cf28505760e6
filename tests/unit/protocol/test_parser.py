"""The schema language: what it accepts, and that every mistake is named with file and line."""

from __future__ import annotations

import re

import pytest

from tidelog.protocol.parser import SchemaError, parse, parse_versions
from tidelog.protocol.schema import NO_VERSIONS, Versions

GOOD = """\
# A comment
api 99 Sample
versions 1-4  flexible 3+
listeners broker controller
unstable 4

request
  struct Shared
    a int8
  name string?2+ = null   # trailing
  items [Item]? 2-3
    id   uuid
    more [Shared]
  one Shared 3+ tag 2
  big int32 1 ignorable = 0x7f
response
"""


def test_a_file() -> None:
    file = parse(GOOD, "x.kmsg")
    assert file.api is not None
    assert (file.api.key, file.api.name, file.api.latest_stable) == (99, "Sample", 3)
    assert file.api.listeners == ("broker", "controller")
    request, response = file.messages
    assert (request.name, response.name) == ("SampleRequest", "SampleResponse")
    assert request.flexible == Versions(3, 4)
    name, items, one, big = request.root.fields
    assert (name.nullable, name.default) == (Versions(2, 4), None)
    assert (items.array, items.versions, items.nullable) == (True, Versions(2, 3), Versions(2, 3))
    assert items.struct is not None
    assert items.struct.fields[1].struct is one.struct
    assert (one.tag, one.versions, one.nullable) == (2, Versions(3, 4), NO_VERSIONS)
    assert (big.default, big.ignorable, big.versions) == (0x7F, True, Versions(1, 1))
    assert [struct.name for struct in request.structs] == ["Shared", "Item"]
    assert response.root.fields == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 0, "empty"),
        ("api x Foo", 1, "api <key> <Name>"),
        ("api 1 Foo\nversion 1", 2, "versions <range>"),
        ("api 1 Foo\nversions one", 2, "no version range"),
        ("api 1 Foo\nversions 1\nrequest", 3, "listeners"),
        ("api 1 Foo\nversions 1\nlisteners broker\nresponse", 4, "expected: request"),
        ("message Foo\nversions 0\n  9x int8", 3, "is no field"),
        ("message Foo\nversions 0\n  x int8 = null", 3, "never nullable"),
        ("message Foo\nversions 0\n  x bool = 1", 3, "true or false"),
        ("message Foo\nversions 0\n  x string = a", 3, "no default but null"),
        ("message Foo\nversions 0\n  x [int8] = 1", 3, "no default but null"),
        ("message Foo\nversions 0\n  x int8 tag 0", 3, "flexible"),
        ("message Foo\nversions 0\n  x Bar", 3, "not declared before"),
        ("message Foo\nversions 0\n  x int8\n    y int8", 4, "indented"),
        ("message Foo\nversions 0\n  x int8\n  x int8", 4, "twice"),
        ("message Foo\nversions 0\n  x A\n    b int8\n  y A\n    b int8", 5, "declared twice"),
        ("message Foo\nversions 0\n  struct A\n    b int8\n  struct A\n    b int8", 5, "already"),
        ("message Foo", 1, "ends too early"),
        ("records Foo\nversions 0", 1, "message <Name>"),
    ],
)
def test_mistakes_are_named(text: str, line: int, said: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(said)) as caught:
        parse(text, "x.kmsg")
    assert str(caught.value).startswith(f"x.kmsg:{line}:")


def test_version_ranges() -> None:
    assert parse_versions("3") == Versions(3, 3)
    assert parse_versions("3-5") == Versions(3, 5)
    assert 30000 in parse_versions("3+")
    assert [str(parse_versions(text)) for text in ("3", "3-5")] == ["3", "3-5"]
    assert str(NO_VERSIONS) == "none"
