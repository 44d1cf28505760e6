"""Java's `.properties` text: what `server.properties` and `meta.properties` are written in.

Understood: `=`, `:` or blank as separator, `#` and `!` comments, backslash escapes (\\t \\n \\r \\f \\uXXXX) and
lines continued by a trailing backslash. Later keys win, as in Java.

It matters to the letter: Kafka writes `meta.properties` with Java's class and reads it with that, so a value that is
escaped otherwise (a path with a backslash, a comment with an umlaut) would be another value after a change of brokers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_LINE_END = re.compile(r"\r\n|\n|\r")  # and no other: Java knows no vertical tab or form feed here
_HEX = re.compile("[0-9a-fA-F]{4}")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """The keys and their values; ValueError where Java would not read on."""
    result: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        result[_unescape(key)] = _unescape(value)
    return result


def render_properties(values: Mapping[str, str], comment: str | None = None) -> str:
    """The text of a file that Java reads back as the same keys and values; ASCII only, whatever they hold."""
    lines = [f"#{comment}"] if comment else []
    lines += [f"{_escape(key, key=True)}={_escape(value, key=False)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _logical_lines(text: str) -> Iterator[str]:
    """Lines as Java counts them: comments and empty lines are left out, and a line that ends with an odd number of
    backslashes goes on in the next one, whose leading blanks do not count. A comment is never continued.
    """
    pending = ""
    for raw in _LINE_END.split(text):
        line = raw.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        line = pending + line
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            pending = line[:-1]
            continue
        pending = ""
        yield line
    if pending:
        yield pending


def _split(line: str) -> tuple[str, str]:
    """The key ends at the first separator that is not escaped; blanks around the separator belong to neither side."""
    index = 0
    while index < len(line):
        char = line[index]
        if char == "\\":
            index += 2
            continue
        if char in "=: \t\f":
            break
        index += 1
    key, rest = line[:index], line[index:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return key, rest


def _unescape(text: str) -> str:
    """Undo the escapes; a backslash before any other character is dropped, as Java does."""
    if "\\" not in text:
        return text
    out: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char != "\\" or index + 1 == len(text):
            out.append(char)
            index += 1
            continue
        following = text[index + 1]
        if following == "u":
            digits = text[index + 2 : index + 6]
            if not _HEX.fullmatch(digits):
                raise ValueError(f"\\u{digits} is no character; a backslash itself is written twice")
            out.append(chr(int(digits, 16)))
            index += 6
        else:
            out.append(_ESCAPES.get(following, following))
            index += 2
    # Characters beyond the first plane were written as two UTF-16 halves: join them.
    return "".join(out).encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")


def _escape(text: str, *, key: bool) -> str:
    """Escape what would be read otherwise. In a key every separator counts, in a value only a blank at its front; what
    is not printable ASCII becomes \\uXXXX, in two halves beyond the first plane.
    """
    out: list[str] = []
    for index, char in enumerate(text):
        if (
            char == "\\"
            or (char in "=:#!" and (key or index == 0 or char in "=:"))
            or (char == " " and (key or index == 0))
        ):
            out.append("\\" + char)
        elif char in "\t\n\r\f":
            out.append("\\" + "tnrf"["\t\n\r\f".index(char)])
        elif not " " <= char <= "~":
            out += [f"\\u{unit:04x}" for unit in _utf16_units(char)]
        else:
            out.append(char)
    return "".join(out)


def _utf16_units(char: str) -> list[int]:
    raw = char.encode("utf-16-be")
    return [raw[i] << 8 | raw[i + 1] for i in range(0, len(raw), 2)]
