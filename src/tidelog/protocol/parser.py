"""Reads the schema language; `schemas/README.md` is its manual.

Line by line, nested by indentation. A file is small (under 100 lines), so clarity and good error messages win: every
`SchemaError` names file and line. Nothing here runs on a hot path; a file is read once, when the first of its
messages is asked for. Words are told apart by hand: a regular expression of this size takes longer to compile than
the file takes to read, and the first answer of a broker waits for both.

Kafka declares the same in JSON files, one per half of an API and many times as long. Here a line holds a field with all
that is unusual about it, and nothing is said twice: versions and flexibility stand once for request and response, a
field without versions has those of its struct, `flexible 9+` is clipped to what there is.
"""

from __future__ import annotations

from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol.schema import (
    FIXED,
    NO_UUID,
    NO_VERSIONS,
    VARIABLE,
    Api,
    Field,
    MessageSchema,
    SchemaFile,
    Struct,
    Versions,
)

_ANY_LAST = 0x7FFF


class SchemaError(ValueError):
    """A schema file breaks the language's rules."""


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


class _FieldWords(NamedTuple):
    """A field's line, taken apart and not yet understood. `nullable` is empty for a mere `?`."""

    name: str
    type: str
    array: bool
    nullable: str | None
    versions: str | None
    tag: int | None
    ignorable: bool
    default: str | None


def _field_words(words: list[str]) -> _FieldWords | None:
    """None for what does not have the form of a field."""
    if len(words) < 2:
        return None
    name, type_text, *rest = words
    type_name, question, nullable = type_text.partition("?")
    array = type_name[:1] == "[" and type_name[-1:] == "]"
    if array:
        type_name = type_name[1:-1]
    if not (name.isidentifier() and name[0].isalpha() and name == name.lower()):
        return None
    if not (type_name.isalnum() and type_name[0].isalpha()) or not (name + type_name).isascii():
        return None
    versions = rest.pop(0) if rest and rest[0][0].isdecimal() else None
    tag = None
    if len(rest) > 1 and rest[0] == "tag" and rest[1].isdecimal():
        tag, rest = int(rest[1]), rest[2:]
    ignorable = rest[:1] == ["ignorable"]
    rest = rest[ignorable:]
    default = rest[1] if len(rest) == 2 and rest[0] == "=" else None
    if rest and default is None:
        return None
    return _FieldWords(name, type_name, array, nullable if question else None, versions, tag, ignorable, default)


def parse(text: str, path: str) -> SchemaFile:
    """All that a file says. SchemaError names the first line that breaks a rule."""
    return _Parser(text, path).file()


def parse_versions(text: str) -> Versions:
    """`3` is one version, `3-5` a range, `3+` all from 3 on: the end is clipped to the message's by whoever asks."""
    first, dash, last = text.removesuffix("+").partition("-")
    if not first.isdecimal() or (dash and (not last.isdecimal() or text[-1] == "+")):
        raise ValueError(f"{text!r} is no version range (write 3, 3-5 or 3+)")
    return Versions(int(first), _ANY_LAST if text[-1] == "+" else int(last or first))


class _Parser:
    """Recursive descent over the significant lines. `valid` and `flexible` are those of the message at hand, `structs`
    the structs that it has declared so far, inner ones before those that hold them, which is the order in which classes
    are made.
    """

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.lines = _significant(text)
        self.at = 0
        self.structs: dict[str, Struct] = {}
        self.valid = self.flexible = NO_VERSIONS

    def fail(self, message: str, line: _Line | None = None) -> SchemaError:
        """The error for the line at hand, ready to be raised."""
        number = line.number if line else self.lines[min(self.at, len(self.lines) - 1)].number if self.lines else 0
        return SchemaError(f"{self.path}:{number}: {message}")

    def peek(self) -> _Line | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def next(self) -> _Line:
        line = self.peek()
        if line is None:
            raise self.fail("the file ends too early")
        self.at += 1
        return line

    def file(self) -> SchemaFile:
        """A file begins with `api`, and has two halves then, or consists of `message`s."""
        line = self.peek()
        if line is None:
            raise self.fail("the file is empty")
        if line.text.startswith("api "):
            api = self.api()
            return SchemaFile(self.path, api, [self.half(api, "request"), self.half(api, "response")])
        messages = []
        while self.peek():
            messages.append(self.data())
        return SchemaFile(self.path, None, messages)

    def api(self) -> Api:
        """The head of an API: key and name, versions, where Kafka serves it, and from which version on it may still
        change (an unstable version is spoken only if the broker is told so).
        """
        words = self.next().text.split()
        if len(words) != 3 or not words[1].isdigit():
            raise self.fail("expected: api <key> <Name>")
        self.version_line()
        line = self.next()
        if not line.text.startswith("listeners "):
            raise self.fail("expected: listeners <name>...", line)
        listeners = tuple(line.text.split()[1:])
        unstable = self.peek()
        latest_stable = self.valid.last
        if unstable and unstable.text.startswith("unstable "):
            latest_stable = int(self.next().text.split()[1]) - 1
        return Api(int(words[1]), words[2], self.valid, self.flexible, listeners, latest_stable)

    def version_line(self) -> None:
        """`versions 0-12 flexible 9+`. Most data messages have no flexible versions, and say nothing of them."""
        line = self.next()
        words = line.text.split()
        if words[::2] not in (["versions"], ["versions", "flexible"]) or len(words) % 2:
            raise self.fail("expected: versions <range> [flexible <range>]", line)
        self.valid = self.versions(words[1], line)
        self.flexible = self.versions(words[3], line).clip(self.valid) if len(words) == 4 else NO_VERSIONS

    def versions(self, text: str, line: _Line) -> Versions:
        try:
            return parse_versions(text)
        except ValueError as error:
            raise self.fail(str(error), line) from None

    def half(self, api: Api, kind: str) -> MessageSchema:
        """`request` or `response`: their versions are the same, so that one number in the header chooses both."""
        line = self.next()
        if line.text != kind or line.indent:
            raise self.fail(f"expected: {kind}", line)
        return self.message(api.name + kind.capitalize(), kind)

    def data(self) -> MessageSchema:
        """A message that is no half of an API: a record on disk, or bytes inside another message."""
        line = self.next()
        words = line.text.split()
        if len(words) != 2 or words[0] != "message" or line.indent:
            raise self.fail("expected: message <Name>", line)
        self.version_line()
        return self.message(words[1], "data")

    def message(self, name: str, kind: str) -> MessageSchema:
        """The fields of one message. Names of structs are its own: each message has a namespace for them."""
        self.structs = {}
        root = Struct(name)
        self.body(root, 0, self.valid)
        return MessageSchema(name, self.valid, self.flexible, root, list(self.structs.values()), kind)

    def body(self, struct: Struct, outer_indent: int, versions: Versions) -> None:
        """The fields below a line: all that is indented more deeply, and evenly. `versions` are those of the struct
        that they belong to; a field can have no others.
        """
        first = self.peek()
        if first is None or first.indent <= outer_indent:
            return
        while (line := self.peek()) and line.indent == first.indent:
            if line.text.startswith("struct "):
                self.shared_struct(line)
            else:
                struct.fields.append(self.field(versions))
        if line and line.indent > outer_indent:
            raise self.fail("this line is indented unlike its neighbours", line)
        names = [field.name for field in struct.fields]
        if len(set(names)) != len(names):
            raise self.fail(f"{struct.name} names a field twice")

    def shared_struct(self, line: _Line) -> None:
        """`struct Name` comes before its first use; the fields of the message refer to it by name."""
        self.next()
        name = line.text.split()[1]
        if name in self.structs:
            raise self.fail(f"struct {name} is there already", line)
        struct = Struct(name)
        self.body(struct, line.indent, self.valid)
        self.structs[name] = struct

    def field(self, outer: Versions) -> Field:
        """One line, understood; with it the lines of its struct, if these follow here.

        The rules that the generators rely on are checked here: a tag needs flexible versions, a default of null needs
        versions in which null is allowed.
        """
        line = self.next()
        said = _field_words(line.text.split())
        if said is None:
            raise self.fail(f"{line.text!r} is no field: name type[?] [versions] [tag N] [ignorable] [= default]", line)
        versions = (self.versions(said.versions, line) if said.versions else outer).clip(outer)
        nullable = NO_VERSIONS
        if said.nullable is not None:
            nullable = (self.versions(said.nullable, line) if said.nullable else versions).clip(versions)
        if said.tag is not None and versions.first not in self.flexible:
            raise self.fail("a tagged field needs flexible versions", line)
        struct = None
        if said.type not in FIXED and said.type not in VARIABLE:
            struct = self.nested(said.type, line, versions)
        default = self.default(said.default, said.type, said.array, line)
        if default is None and not nullable:
            raise self.fail("the default is null, but the field is never nullable", line)
        return Field(said.name, said.type, said.array, versions, nullable, default, said.tag, said.ignorable, struct)

    def nested(self, name: str, line: _Line, versions: Versions) -> Struct:
        """The struct of a field: declared by the lines below, or earlier by `struct Name`."""
        following = self.peek()
        if following is None or following.indent <= line.indent:
            if name not in self.structs:
                raise self.fail(f"struct {name} has no fields here and is not declared before", line)
            return self.structs[name]
        if name in self.structs:
            raise self.fail(f"struct {name} is declared twice", line)
        struct = Struct(name)
        self.body(struct, line.indent, versions)
        self.structs[name] = struct
        return struct

    def default(self, text: str | None, type_name: str, array: bool, line: _Line) -> object:
        """The Python value of a default. An array's is `()` and a struct's its name, both of which stand for "make a
        new one": the value itself must not be shared.
        """
        if text == "null":
            return None
        if array or (type_name not in FIXED and type_name not in VARIABLE):
            if text is not None:
                raise self.fail("arrays and structs have no default but null", line)
            return () if array else type_name
        if type_name == "bool":
            if text not in (None, "true", "false"):
                raise self.fail("a bool's default is true or false", line)
            return text == "true"
        if type_name == "float64":
            return float(text or 0)
        if type_name in FIXED and type_name != "uuid":
            return int(text or "0", 0)
        if text is not None:
            raise self.fail(f"a {type_name} has no default but null", line)
        return {"string": "", "uuid": NO_UUID}.get(type_name, b"")


def _significant(text: str) -> list[_Line]:
    """Lines without comments and empty ones; several blanks between words count as one."""
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        body = raw.partition("#")[0].rstrip()
        if body:
            lines.append(_Line(number, len(body) - len(body.lstrip()), " ".join(body.split())))
    return lines
