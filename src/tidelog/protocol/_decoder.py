"""Generates the decode function of one message in one version.

The function reads a buffer `b` from position `p` and returns (message, position after it). What it trusts is nothing:

- a read past the end fails by itself (`struct` and indexing check it) or by an explicit test (slices do not);
- a count is compared with the bytes that are left, at the least size of an element, before anything is made for it,
  so that memory stays in proportion to the input;
- bytes that are no UTF-8 become U+FFFD, as in Kafka: a client with a Latin-1 name is odd, but not broken;
- whatever goes wrong surfaces as one of `FAILURES`, which `Message.decode` turns into a `ProtocolError`.

Fields that the version does not know get their defaults. Unknown tags are kept, so that a message can be passed on.
"""

from __future__ import annotations

import struct as struct_module
from collections.abc import Callable
from typing import Any, NoReturn

from tidelog.common.errors import ProtocolError
from tidelog.common.varint import VarintError, decode_unsigned
from tidelog.protocol._encoder import MAX_STRING
from tidelog.protocol._source import Source
from tidelog.protocol.schema import FIXED, NO_UUID, VARIABLE, Field, MessageSchema, Struct

FAILURES = (struct_module.error, IndexError, VarintError)
Decoder = Callable[[Any, int, int], tuple[Any, int]]


def cut_off(name: str, position: int) -> NoReturn:
    """The slice of a buffer never fails, it is only shorter: whoever slices must have looked at the end before."""
    raise ProtocolError(f"{name} at byte {position} reaches past the end")


def bad_null(name: str, position: int) -> NoReturn:
    """Null where the version has none. Kafka's own reader refuses it, too: code above relies on the field."""
    raise ProtocolError(f"{name} before byte {position} is null, which this version does not allow")


def bad_length(name: str, size: int, position: int) -> NoReturn:
    """A compact length has 32 bits, but a string is never longer than 32,767 bytes, in any version."""
    raise ProtocolError(f"{name} before byte {position} has the invalid length {size}")


def bad_tag(name: str, tag: int, position: int) -> NoReturn:
    """A known tag must end exactly where its size says. Otherwise two readers, one that knows the tag and one that
    skips it by its size, would read different messages from the same bytes.
    """
    raise ProtocolError(f"tag {tag} ({name}) before byte {position} is not as long as it says, or there twice")


# What generated code refers to beside its own locals and classes. The builtins among them are found in the function's
# globals at once.
NAMESPACE: dict[str, Any] = {
    "new": object.__new__,
    "uvarint": decode_unsigned,
    "cut_off": cut_off,
    "bad_null": bad_null,
    "bad_length": bad_length,
    "bad_tag": bad_tag,
    "NO_UUID": NO_UUID,
    "str": str,
    "bytes": bytes,
    "list": list,
    "memoryview": memoryview,
    "range": range,
}


def decoder(schema: MessageSchema, version: int, classes: dict[str, Any]) -> Decoder:
    """The decode function of one version; `classes` are those of the message and its structs, by name."""
    return _DecoderSource(schema, version).compile(classes)


def least_size(struct: Struct, version: int, flexible: bool) -> int:
    """The fewest bytes that a struct can take; at least 1, so that a count is always bounded by the bytes left."""
    total = 1 if flexible else 0
    for field in struct.fields:
        if version in field.versions and field.tag is None:
            total += _least_field_size(field, version, flexible)
    return max(total, 1)


def _least_field_size(field: Field, version: int, flexible: bool) -> int:
    """A varint or a null marker takes one byte at least; fixed lengths take 2 (strings) or 4 (everything else)."""
    if field.array or field.type in VARIABLE:
        return 1 if flexible else 2 if field.type == "string" and not field.array else 4
    if field.struct:
        return 1 if version in field.nullable else least_size(field.struct, version, flexible)
    return FIXED[field.type][1]


class _DecoderSource:
    """One walk over the schema, which emits the text of the function as it goes.

    `run` collects neighbouring fields of fixed size as (format, where the value goes). For Produce v9's head, `acks
    int16, timeout_ms int32` and the compact length of the topics become `m.acks, m.timeout_ms, n1, = _unpack_from0(b,
    p)`, one call instead of three. Objects are made by `object.__new__`, without their `__init__`: every attribute is
    set by the decoder anyway, and the keyword arguments would be most of the time that a small message takes.
    """

    def __init__(self, schema: MessageSchema, version: int) -> None:
        self.schema = schema
        self.version = version
        self.flexible = version in schema.flexible
        self.src = Source("def decode(b, p, end):")
        self.run: list[tuple[str, str]] = []

    def compile(self, classes: dict[str, Any]) -> Decoder:
        """Emit the whole message and compile it. The file name in the code object is what a traceback or a profile
        shows: `<decode FetchRequest v12>`.
        """
        self.struct(self.schema.root, "m")
        self.flush()
        self.src.emit("return m, p")
        made: Decoder = self.src.function(
            "decode", {**NAMESPACE, **classes}, f"<decode {self.schema.name} v{self.version}>"
        )
        return made

    def flush(self) -> None:
        """End the run: one `struct` call for all that was collected, and the position moves on by its size."""
        if not self.run:
            return
        name, size = self.src.layout("".join(format_ for format_, _ in self.run), "unpack_from")
        self.src.emit(f"{', '.join(target for _, target in self.run)}, = {name}(b, p)", f"p += {size}")
        self.run = []

    def struct(self, struct: Struct, var: str) -> None:
        """Read one struct into a new local.

        What the version lacks gets its default first; then the fields come in the order of the schema, and last, in a
        flexible version, the tagged ones: they always stand behind all others, wherever the schema declares them.
        """
        self.src.emit(f"{var} = new({struct.name})")
        self.defaults([field for field in struct.fields if self.version not in field.versions], var)
        present = [field for field in struct.fields if self.version in field.versions]
        for field in present:
            if field.tag is None:
                self.field(field, f"{var}.{field.name}")
        if self.flexible:
            self.tags([field for field in present if field.tag is not None], var)
        else:
            self.src.emit(f"{var}.unknown_tags = None")

    def defaults(self, fields: list[Field], var: str) -> None:
        """Set what is not on the wire. Lists and structs are made anew each time: a message is mutable, and two of them
        must not share a default.
        """
        for field in fields:
            target = f"{var}.{field.name}"
            if field.struct and not field.array and field.default is not None:
                inner = self.src.fresh("s")
                self.src.emit(f"{inner} = {target} = new({field.struct.name})", f"{inner}.unknown_tags = None")
                self.defaults(field.struct.fields, inner)
            else:
                value = "[]" if field.array else "NO_UUID" if field.type == "uuid" else repr(field.default)
                self.src.emit(f"{target} = {'None' if field.default is None else value}")

    def uvarint(self, target: str) -> None:
        """Read an unsigned varint, nearly always of one byte; that byte joins the run before it."""
        if self.run:
            self.run.append(("B", target))
            self.flush()
        else:
            self.src.emit(f"{target} = b[p]", "p += 1")
        self.src.emit(f"if {target} > 127: {target}, p = uvarint(b, p - 1)")

    def tags(self, fields: list[Field], var: str) -> None:
        """Read the tagged section: a count, then (tag, size, that many bytes) for each.

        A known tag is decoded in place and must end at its size. An unknown one is kept as bytes: a broker that passes
        a message on, or a newer peer that gets it back, finds it unchanged. Each takes two bytes at least, which bounds
        the count; the same tag twice is refused, since it would depend on the reader which of them counts.
        """
        emit, src = self.src.emit, self.src
        count, tag, stop = src.fresh("n"), src.fresh("tag"), src.fresh("q")
        emit(f"{var}.unknown_tags = None")
        self.defaults(fields, var)
        self.uvarint(count)
        seen = src.fresh("seen")
        emit(f"if {count}:")
        src.depth += 1
        emit(f"if {count} * 2 > end - p: cut_off('tags', p)", f"{seen} = set()", f"for _ in range({count}):")
        src.depth += 1
        self.uvarint(tag)
        self.uvarint(stop)
        emit(f"{stop} += p", f"if {stop} > end: cut_off('tag', p)")
        emit(f"if {tag} in {seen}: bad_tag('again', {tag}, p)", f"{seen}.add({tag})")
        word = "if"
        for field in fields:
            emit(f"{word} {tag} == {field.tag}:")
            src.depth += 1
            self.field(field, f"{var}.{field.name}")
            self.flush()
            emit(f"if p != {stop}: bad_tag({field.name!r}, {tag}, p)")
            src.depth -= 1
            word = "elif"
        if fields:
            emit("else:")
            src.depth += 1
        emit(f"if {var}.unknown_tags is None: {var}.unknown_tags = {{}}")
        emit(f"{var}.unknown_tags[{tag}] = bytes(b[p:{stop}])", f"p = {stop}")
        src.depth -= 3 if fields else 2

    def field(self, field: Field, target: str) -> None:
        """Dispatch on the kind of a field: array, struct, fixed size, or with a length of its own."""
        nullable = self.version in field.nullable
        if field.array:
            self.array(field, target, nullable)
        elif field.struct:
            self.nested(field, target, nullable)
        elif field.type in FIXED:
            self.run.append((FIXED[field.type][0], target))
        else:
            self.variable(field.type, field.name, target, nullable)

    def nested(self, field: Field, target: str, nullable: bool) -> None:
        """A struct that is no array's element.

        Where it may be null, a byte says whether it is there: int8 -1 for null and 1 otherwise in the body
        (DescribeTopicPartitions' cursor), but an unsigned varint, 0 or 1, within a tagged field, where Kafka's
        generator writes it so. Both forms are one byte long.
        """
        assert field.struct is not None
        self.flush()
        var = self.src.fresh("s")
        emit = self.src.emit
        if nullable:
            null = "b[p - 1] > 127" if field.tag is None else "not b[p - 1]"
            emit("p += 1", f"if {null}:", f"    {target} = None", "else:")
            self.src.depth += 1
        self.struct(field.struct, var)
        self.flush()
        emit(f"{target} = {var}")
        if nullable:
            self.src.depth -= 1

    def length(self, format_: str) -> str:
        """Read a length or a count into a new local; any negative number stands for null, as Kafka reads it."""
        size = self.src.fresh("n")
        if self.flexible:
            self.uvarint(size)
            self.src.emit(f"{size} -= 1")
        else:
            self.run.append((format_, size))
            self.flush()
        return size

    def null(self, name: str, size: str, target: str, nullable: bool) -> None:
        """Begin `if null: … else:`; the caller writes the other branch one level deeper."""
        self.src.emit(f"if {size} < 0:")
        if nullable:
            self.src.emit(f"    {target} = None")
        else:
            self.src.emit(f"    bad_null({name!r}, p)")
        self.src.emit("else:")

    def variable(self, type_name: str, name: str, target: str, nullable: bool) -> None:
        """A string, bytes or records: a length, then that many bytes.

        `records` stays a view of the input, without a copy: batches are passed on, or looked at by the kernel. `bytes`
        are copied, since whoever gets them (a group's metadata, say) keeps them longer than the receive buffer lives.
        """
        size = self.length("h" if type_name == "string" else "i")
        self.null(name, size, target, nullable)
        self.src.depth += 1
        stop = self.src.fresh("q")
        self.src.emit(f"{stop} = p + {size}", f"if {stop} > end: cut_off({name!r}, p)")
        if type_name == "string":
            if self.flexible:
                self.src.emit(f"if {size} > {MAX_STRING}: bad_length({name!r}, {size}, p)")
            self.src.emit(f"{target} = str(b[p:{stop}], 'utf-8', 'replace')")
        else:
            made = "bytes(b[p:{0}])" if type_name == "bytes" else "memoryview(b)[p:{0}]"
            self.src.emit(f"{target} = {made.format(stop)}")
        self.src.emit(f"p = {stop}")
        self.src.depth -= 1

    def array(self, field: Field, target: str, nullable: bool) -> None:
        """An array. Its count times the least size of an element must fit into what is left, before anything is made.

        An array of numbers is one `struct` call. Without the check, 4 bytes that say "2^31 elements" would make Python
        ask for gigabytes; with it, memory stays in proportion to the frame.
        """
        size = self.length("i")
        self.null(field.name, size, target, nullable)
        self.src.depth += 1
        least = _least_item_size(field, self.version, self.flexible)
        self.src.emit(f"if {size} * {least} > end - p: cut_off({field.name!r}, p)")
        if field.type in FIXED and field.type != "uuid":
            unpack = self.src.array_layout(FIXED[field.type][0], "unpack_from")
            self.src.emit(f"{target} = list({unpack}[{size}](b, p))", f"p += {size} * {least}")
        else:
            self.items(field, target, size)
        self.src.depth -= 1

    def items(self, field: Field, target: str, size: str) -> None:
        """A loop that reads one element after the other; the run never crosses the border between two of them."""
        items, item = self.src.fresh("a"), self.src.fresh("e")
        self.src.emit(f"{items} = {target} = []", f"for _ in range({size}):")
        self.src.depth += 1
        if field.struct:
            self.struct(field.struct, item)
        elif field.type == "uuid":
            self.run.append(("16s", item))
        else:
            self.variable(field.type, field.name, item, nullable=False)
        self.flush()
        self.src.emit(f"{items}.append({item})")
        self.src.depth -= 1


def _least_item_size(field: Field, version: int, flexible: bool) -> int:
    if field.struct:
        return least_size(field.struct, version, flexible)
    if field.type in FIXED:
        return FIXED[field.type][1]
    return 1 if flexible else 2 if field.type == "string" else 4
