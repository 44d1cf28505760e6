"""Records as lines of text: what `tidelog produce` reads and `tidelog consume` writes.

Plain: `[headers TAB] [key SEPARATOR] value`, with headers as `name:value,name:value`. JSON: one object per line with
`key`, `value`, `headers`, `partition` and `timestamp`; bytes that are no UTF-8 are `{"base64": "…"}`.

The two forms are for two uses. Plain lines are what other programs print, and cannot say everything: a value with a
newline, the difference between no value and an empty one (unless a text stands for it). JSON can, so that `consume
--json | produce --json` copies records as they are. Bytes that are no UTF-8 go through plain lines unharmed, as
Python's surrogate escapes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple

#: What a JSON object may say of a record, and what `tidelog consume --json` says besides, which a writer passes over.
FIELDS = ("key", "value", "headers", "partition", "timestamp")
CONSUMED = ("topic", "offset")


class NewRecord(NamedTuple):
    """What a line asks for. None as partition or timestamp: the producer's choice."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp: int | None = None


class LineFormat(NamedTuple):
    """How a plain line is read."""

    key_separator: str | None = None
    parse_headers: bool = False
    header_separator: str = "\t"
    null_marker: str | None = None

    def parse(self, line: str, number: int) -> NewRecord:
        """Headers first, then the key, then all the rest is the value, separators included."""
        headers: tuple[tuple[str, bytes | None], ...] = ()
        if self.parse_headers:
            text, found, line = line.partition(self.header_separator)
            if not found:
                raise UsageError(f"line {number} has no headers: expected name:value,… then {self.header_separator!r}")
            headers = parse_headers(text, number)
        key: bytes | None = None
        if self.key_separator is not None:
            text, found, line = line.partition(self.key_separator)
            if not found:
                raise UsageError(f"line {number} has no key: expected KEY{self.key_separator}VALUE")
            key = self._bytes(text)
        return NewRecord(key, self._bytes(line), headers)

    def _bytes(self, text: str) -> bytes | None:
        """The marker stands for null; without one, an empty text is an empty value."""
        return None if text == self.null_marker else text.encode("utf-8", "surrogateescape")


def parse_headers(text: str, number: int) -> tuple[tuple[str, bytes | None], ...]:
    """`name:value,name:value`; a value may hold colons, but no comma."""
    headers = []
    for part in filter(None, text.split(",")):
        name, colon, value = part.partition(":")
        if not colon:
            raise UsageError(f"line {number}: header {part!r} is not name:value")
        headers.append((name, value.encode()))
    return tuple(headers)


def parse_json(line: str, number: int) -> NewRecord:
    """A record of one JSON object. Whatever is wrong with it is told with its line's number, before anything of it is
    written.
    """
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"line {number} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"line {number} is no JSON object with {', '.join(FIELDS)}")
    _check_fields(value, number)
    return NewRecord(
        from_json(value.get("key"), number),
        from_json(value["value"], number),
        tuple((str(name), from_json(item, number)) for name, item in _header_pairs(value, number)),
        value.get("partition"),
        value.get("timestamp"),
    )


def _check_fields(value: dict[str, Any], number: int) -> None:
    """A field that is not understood would be lost, and its record written without it: refuse it."""
    for name in value.keys() - {*FIELDS, *CONSUMED}:
        from difflib import get_close_matches

        close = get_close_matches(name, FIELDS, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"a record has {', '.join(FIELDS)}"
        raise UsageError(f"line {number}: unknown field {name!r}; {hint}")
    if "value" not in value:
        raise UsageError(f'line {number} has no value; "value": null is written as none')
    for name in ("partition", "timestamp"):
        if not isinstance(value.get(name), (int, type(None))) or isinstance(value.get(name), bool):
            raise UsageError(f"line {number}: {name} is {value[name]!r}, not a whole number")


def _header_pairs(value: dict[str, Any], number: int) -> Iterable[tuple[str, Any]]:
    """Headers are an object, or a list of pairs (a name may come twice)."""
    given = value.get("headers") or {}
    if isinstance(given, dict):
        return given.items()
    if isinstance(given, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        return [(name, item) for name, item in given]
    raise UsageError(f"line {number}: headers are neither an object nor a list of [name, value] pairs")


def from_json(value: Any, number: int) -> bytes | None:
    """A JSON value as bytes: text as it is, `{"base64": …}` decoded, anything else as its JSON."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and set(value) == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (ValueError, TypeError) as error:
            raise UsageError(f"line {number}: {value['base64']!r} is no base64") from error
    return json.dumps(value, ensure_ascii=False).encode()
