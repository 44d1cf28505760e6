"""Generates the encode function of one message in one version.

The function appends to a bytearray `w`. Nested structs are written in line, as loops within loops, because a Python
call per struct would cost more than the packing itself. For a version that does not know a field, the field must hold
its default, unless the schema calls it ignorable: dropping what the caller said would be a silent lie.

The rules of the wire, as both generators know them:

    type             up to the first flexible version          flexible
    string           int16 length, -1 null                     unsigned varint of length + 1, 0 null
    bytes, records   int32 length, -1 null                     the same
    array            int32 count, -1 null                      the same, of count + 1
    struct           its fields                                its fields, then the tagged section
    numbers, uuid    big-endian, fixed size                    the same

Everything inside a flexible version is flexible, nested structs too. The one exception is the client id in the
request's header (`headers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.protocol._source import Source
from tidelog.protocol.schema import FIXED, NO_UUID, Field, MessageSchema, Struct

MAX_STRING = 0x7FFF
Encoder = Callable[[Any, bytearray], None]


class Spliced(bytearray):
    """Output with holes: what is no buffer (a slice of a file, say) is kept aside with the place where it belongs."""

    splices: list[tuple[int, Any]] | None = None

    def splice(self, piece: Any) -> None:
        """Note that the piece belongs here. The length in front of it was taken from its `len` and is written
        already.
        """
        if self.splices is None:
            self.splices = []
        self.splices.append((len(self), piece))

    def parts(self) -> list[Any]:
        """The bytes and the spliced objects, in order."""
        if self.splices is None:
            return [self]
        parts: list[Any] = []
        start = 0
        for position, piece in self.splices:
            if position > start:
                parts.append(bytes(memoryview(self)[start:position]))
            parts.append(piece)
            start = position
        if start < len(self):
            parts.append(bytes(memoryview(self)[start:]))
        return parts


def put_uvarint(w: bytearray, value: int) -> None:
    """Seven bits a byte, the lowest first; the high bit says that more follow."""
    while value > 0x7F:
        w.append(value & 0x7F | 0x80)
        value >>= 7
    w.append(value)


def put_records(w: bytearray, records: Any) -> None:
    """Records are bytes, or something that will be sent from where it lies (a slice of a file): only whoever sends the
    parts one by one (`encode_parts`) can do that.
    """
    if isinstance(records, bytes | bytearray | memoryview):
        w += records
    elif isinstance(w, Spliced):
        w.splice(records)
    else:
        raise ProtocolError(f"{type(records).__name__} can only be encoded in parts (encode_parts)")


def put_tags(w: bytearray, known: dict[int, bytearray], unknown: dict[int, bytes] | None) -> None:
    """The tagged section: count, then tag, size and bytes of each, by ascending tag."""
    tags: dict[int, bytes | bytearray] = {**known}
    for tag, data in (unknown or {}).items():
        if tag in tags:
            raise ProtocolError(f"tag {tag} is known in this version and cannot be given as an unknown one")
        tags[tag] = data
    put_uvarint(w, len(tags))
    for tag in sorted(tags):
        put_uvarint(w, tag)
        put_uvarint(w, len(tags[tag]))
        w += tags[tag]


def bad_uuid(value: Any) -> NoReturn:
    """`struct` would cut or pad sixteen bytes without a word."""
    raise ProtocolError(f"a uuid is 16 bytes, not {value!r}")


def too_long(name: str, size: int) -> NoReturn:
    """The limit is the protocol's, for flexible versions as well: Kafka refuses longer strings in both directions."""
    raise ProtocolError(f"{name} is too long: {size} bytes, {MAX_STRING} at most")


def unsupported(message: str, version: int, struct: str, names: tuple[str, ...], holder: Any) -> NoReturn:
    """The caller said something that this version cannot carry: an error for it to handle, for instance by not asking a
    broker of that age.
    """
    shown = ", ".join(f"{name}={getattr(holder, name)!r}" for name in names)
    raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"version {version} of {message} has no room for {struct}: {shown}")


NAMESPACE: dict[str, Any] = {
    "put_uvarint": put_uvarint,
    "put_records": put_records,
    "put_tags": put_tags,
    "bad_uuid": bad_uuid,
    "too_long": too_long,
    "unsupported": unsupported,
    "NO_UUID": NO_UUID,
    "bytearray": bytearray,
    "len": len,
}


def encoder(schema: MessageSchema, version: int, classes: dict[str, Any]) -> Encoder:
    """The encode function of one version; `classes` are those of the message and its structs, by name."""
    return _EncoderSource(schema, version).compile(classes)


def differs(field: Field, value: str) -> str:
    """Source of the test whether `value` is not the field's default."""
    if field.default is None:
        return f"{value} is not None"
    if field.array:
        return f"({value} is None or len({value}))" if field.nullable else value
    if field.struct:  # field by field: to make one of the defaults for each answer would cost more than the answer
        parts = [differs(one, f"{value}.{one.name}") for one in field.struct.fields]
        null = [f"{value} is None"] if field.nullable else []
        return f"({' or '.join([*null, *parts, f'{value}.unknown_tags'])})"
    if field.type == "uuid":
        return f"{value} != NO_UUID"
    return f"{value} != {field.default!r}"


class _EncoderSource:
    """The mirror of the decoder's: one walk, runs of fixed-size values packed by one call.

    `out` is the name of the bytearray that is being appended to. It is `w`, except inside a tagged field: its size goes
    in front of it and is not known before, so it is written to a bytearray of its own.
    """

    def __init__(self, schema: MessageSchema, version: int) -> None:
        self.schema = schema
        self.version = version
        self.flexible = version in schema.flexible
        self.src = Source("def encode(m, w):")
        self.run: list[tuple[str, str]] = []
        self.out = "w"

    def compile(self, classes: dict[str, Any]) -> Encoder:
        self.struct(self.schema.root, "m")
        self.flush()
        self.src.emit("return None")
        made: Encoder = self.src.function(
            "encode", {**NAMESPACE, **classes}, f"<encode {self.schema.name} v{self.version}>"
        )
        return made

    def flush(self) -> None:
        """End the run: what was collected is packed by one `struct` call and appended."""
        if not self.run:
            return
        name, _ = self.src.layout("".join(format_ for format_, _ in self.run), "pack")
        self.src.emit(f"{self.out} += {name}({', '.join(value for _, value in self.run)})")
        self.run = []

    def struct(self, struct: Struct, var: str) -> None:
        """Write one struct: first refuse what the version cannot say, then the fields in order, last the tagged
        ones.
        """
        present = [field for field in struct.fields if self.version in field.versions]
        self.refuse_absent(struct, var)
        for field in present:
            if field.tag is None:
                self.field(field, f"{var}.{field.name}")
        self.tags([field for field in present if field.tag is not None], var)

    def refuse_absent(self, struct: Struct, var: str) -> None:
        """One test for all fields of the struct that this version lacks, as nearly all messages pass it: only then it
        is found out which of them it was. Unknown tags need a flexible version to go to.
        """
        absent = [f for f in struct.fields if self.version not in f.versions and not f.ignorable]
        tests = [(differs(field, f"{var}.{field.name}"), field.name) for field in absent]
        if not self.flexible:
            tests.append((f"{var}.unknown_tags", "unknown_tags"))
        if tests:
            names = tuple(name for _, name in tests)
            self.src.emit(f"if {' or '.join(test for test, _ in tests)}:")
            self.src.emit(f"    unsupported({self.schema.name!r}, {self.version}, {struct.name!r}, {names!r}, {var})")

    def tags(self, fields: list[Field], var: str) -> None:
        """The tagged section; a single 0 byte where there is nothing to say, which is nearly always.

        Tags go out in ascending order, known and unknown ones mixed, as KIP-482 asks for.
        """
        if not self.flexible:
            return
        self.flush()
        emit = self.src.emit
        if not fields:
            emit(f"if {var}.unknown_tags: put_tags({self.out}, {{}}, {var}.unknown_tags)")
            emit(f"else: {self.out}.append(0)")
            return
        tags = self.src.fresh("tags")
        emit(f"{tags} = {{}}")
        for field in fields:
            self.tag(field, f"{var}.{field.name}", tags)
        emit(f"put_tags({self.out}, {tags}, {var}.unknown_tags)")

    def tag(self, field: Field, value: str, tags: str) -> None:
        """One tagged field, if it differs from its default: then, and only then, it is on the wire."""
        outer, self.out = self.out, self.src.fresh("t")
        self.src.emit(f"if {differs(field, value)}:")
        self.src.depth += 1
        self.src.emit(f"{self.out} = {tags}[{field.tag}] = bytearray()")
        self.field(field, value)
        self.flush()
        self.src.depth -= 1
        self.out = outer

    def field(self, field: Field, value: str) -> None:
        nullable = self.version in field.nullable
        if field.array:
            self.array(field, value, nullable)
        elif field.struct:
            self.nested(field, value, nullable)
        elif field.type in FIXED:
            self.fixed(field.type, value)
        else:
            self.variable(field.type, field.name, value, nullable)

    def fixed(self, type_name: str, value: str) -> None:
        """A value of fixed size joins the run; `struct` itself refuses numbers that do not fit."""
        if type_name == "uuid":
            value = f"({value} if len({value}) == 16 else bad_uuid({value}))"
        self.run.append((FIXED[type_name][0], value))

    def nested(self, field: Field, value: str, nullable: bool) -> None:
        """A struct that is no array's element; with the byte that says whether it is there, where it may be null."""
        assert field.struct is not None
        var = self.src.fresh("s")
        if not nullable:
            self.src.emit(f"{var} = {value}")
            self.struct(field.struct, var)
            return
        self.flush()
        null = 255 if field.tag is None else 0  # int8 -1; but an unsigned varint within a tag
        self.src.emit(f"{var} = {value}", f"if {var} is None: {self.out}.append({null})", "else:")
        self.src.depth += 1
        self.src.emit(f"{self.out}.append(1)")
        self.struct(field.struct, var)
        self.flush()
        self.src.depth -= 1

    def length(self, count: str, null_test: str | None, format_: str) -> None:
        """Write a length or a count: compact (n + 1, 0 for null), or fixed (n, -1 for null)."""
        if not self.flexible:
            self.run.append((format_, count if null_test is None else f"(-1 if {null_test} else {count})"))
            return
        self.flush()
        size = self.src.fresh("n")
        value = f"{count} + 1" if null_test is None else f"0 if {null_test} else {count} + 1"
        self.src.emit(f"{size} = {value}", f"if {size} < 128: {self.out}.append({size})")
        self.src.emit(f"else: put_uvarint({self.out}, {size})")

    def variable(self, type_name: str, name: str, value: str, nullable: bool) -> None:
        """A string, bytes or records with its length. A string is encoded before its length is written, which counts
        bytes, not characters.
        """
        data = self.src.fresh("d")
        null_test = f"{data} is None" if nullable else None
        emit = self.src.emit
        if type_name == "string":
            emit(f"{data} = {value}")
            emit(f"if {data} is not None: {data} = {data}.encode()" if nullable else f"{data} = {data}.encode()")
            guard = f"{data} is not None and " if nullable else ""
            emit(f"if {guard}len({data}) > {MAX_STRING}: too_long({name!r}, len({data}))")
        else:
            emit(f"{data} = {value}")
        self.length(f"len({data})", null_test, "h" if type_name == "string" else "i")
        self.flush()
        put = f"put_records({self.out}, {data})" if type_name == "records" else f"{self.out} += {data}"
        emit(f"if {data} is not None: {put}" if nullable else put)

    def array(self, field: Field, value: str, nullable: bool) -> None:
        """An array: numbers by one `struct` call for all of them, anything else by a loop in the generated code."""
        items = self.src.fresh("a")
        self.src.emit(f"{items} = {value}")
        self.length(f"len({items})", f"{items} is None" if nullable else None, "i")
        self.flush()
        guard = f"if {items} is not None: " if nullable else ""
        if field.type in FIXED and field.type != "uuid":
            pack = self.src.array_layout(FIXED[field.type][0], "pack")
            self.src.emit(f"{guard}{self.out} += {pack}[len({items})](*{items})")
            return
        item = self.src.fresh("e")
        self.src.emit(f"for {item} in {items}{' or ()' if nullable else ''}:")
        self.src.depth += 1
        if field.struct:
            self.struct(field.struct, item)
        elif field.type == "uuid":
            self.fixed("uuid", item)
        else:
            self.variable(field.type, field.name, item, nullable=False)
        self.flush()
        self.src.depth -= 1
