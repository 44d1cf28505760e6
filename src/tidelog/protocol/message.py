"""The base of every message class, and the making of such classes from schemas.

A class is made when its schema file is read; the functions that encode and decode one version of it are generated on
first use and kept in the class. Both are pure functions of the schema, so that keeping them is no hidden state.

Instances are plain mutable records: keyword arguments with the schema's defaults, `==`, `repr` of what differs from
the defaults. `unknown_tags` holds tagged fields that the schema does not know (tag → bytes), or None.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Self

from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.protocol._decoder import FAILURES, Decoder, decoder
from tidelog.protocol._encoder import Encoder, Spliced, encoder
from tidelog.protocol._source import Source
from tidelog.protocol.schema import NO_UUID, MessageSchema, Struct, Versions

Buffer = bytes | bytearray | memoryview

_ENCODE_FAILURES = (struct.error, AttributeError, TypeError, UnicodeEncodeError)


class _Unset:
    """Stands for "not given" where the default is a new list or struct."""

    def __repr__(self) -> str:
        return "..."


UNSET = _Unset()


class Structure:
    """A struct within a message; `Message` adds the encoding."""

    __slots__ = ("unknown_tags",)
    __hash__ = None  # type: ignore[assignment]  # mutable values have no hash
    _schema_: ClassVar[Struct]
    unknown_tags: dict[int, bytes] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, for display and comparison; unknown tags only where there are some."""
        out = {field.name: _plain(getattr(self, field.name)) for field in self._schema_.fields}
        if self.unknown_tags:
            out["unknown_tags"] = dict(self.unknown_tags)
        return out

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in self._schema_.fields]
        return all(getattr(self, name) == getattr(other, name) for name in names) and (
            (self.unknown_tags or None) == (other.unknown_tags or None)
        )

    def __repr__(self) -> str:
        default = type(self)()
        shown = [name for name in [field.name for field in self._schema_.fields] if not _same(self, default, name)]
        if self.unknown_tags:
            shown.append("unknown_tags")
        return f"{type(self).__qualname__}({', '.join(f'{name}={_show(getattr(self, name))}' for name in shown)})"


class Message(Structure):
    """A message: a struct that can be encoded and decoded in its versions.

    The tables of functions are filled on first use and belong to the class. Two threads may fill the same entry at the
    same time; they make equal functions, and either may stay.
    """

    __slots__ = ()
    schema: ClassVar[MessageSchema]
    _encoders_: ClassVar[dict[int, Encoder]]
    _decoders_: ClassVar[dict[int, Decoder]]
    _structs_: ClassVar[dict[str, type[Structure]]]

    @classmethod
    def versions(cls) -> Versions:
        """All versions that the schema has; what a broker serves of them is less."""
        return cls.schema.versions

    def encode(self, version: int) -> bytes:
        """The message's bytes in this version, without header and length."""
        out = bytearray()
        self.encode_into(out, version)
        return bytes(out)

    def encode_into(self, out: bytearray, version: int) -> None:
        """Append to `out`. KafkaError UNSUPPORTED_VERSION: the version has no room for what the message says."""
        encode = self._encoders_.get(version)
        if encode is None:
            encode = self._encoders_[version] = encoder(self.schema, self._known(version), self._structs_)
        try:
            encode(self, out)
        except _ENCODE_FAILURES as error:
            raise ProtocolError(f"{type(self).__name__} cannot be encoded in version {version}: {error}") from error

    def encode_parts(self, version: int, head: bytes = b"") -> list[Any]:
        """Like `encode`, but a `records` field may hold anything with a `len`: it becomes a part of its own."""
        out = Spliced()
        out += head
        self.encode_into(out, version)
        return out.parts()

    @classmethod
    def decode(cls, buffer: Buffer, version: int, position: int = 0) -> Self:
        """Decode one message; bytes after it are ignored, as Kafka does (see `decode_from` for where it ends)."""
        return cls.decode_from(buffer, version, position)[0]

    @classmethod
    def decode_from(cls, buffer: Buffer, version: int, position: int = 0) -> tuple[Self, int]:
        """Decode, and say where the message ends. Whatever is wrong with the bytes, one kind of error comes out:
        ProtocolError, with the message's name and version. Kafka answers it by closing the connection, since nobody
        knows where the next frame's meaning begins.
        """
        decode = cls._decoders_.get(version)
        if decode is None:
            decode = cls._decoders_[version] = decoder(cls.schema, cls._known(version), cls._structs_)
        try:
            return decode(buffer, position, len(buffer))
        except FAILURES as error:
            raise ProtocolError(f"{cls.__name__} v{version} is malformed or cut off: {error}") from None
        except ProtocolError as error:
            raise ProtocolError(f"{cls.__name__} v{version}: {error}") from None

    @classmethod
    def _known(cls, version: int) -> int:
        if version not in cls.schema.versions:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"{cls.__name__} has versions {cls.schema.versions}, not {version}"
            )
        return version


def message_class(schema: MessageSchema, module: str) -> type[Message]:
    """Make the class of a message, with its structs as attributes."""
    structs: dict[str, type[Structure]] = {}
    for nested in schema.structs:
        structs[nested.name] = _structure_class(nested, Structure, structs, f"{schema.name}.{nested.name}", module)
    made: type[Message] = _structure_class(schema.root, Message, structs, schema.name, module)
    for name, cls in structs.items():
        setattr(made, name, cls)
    made.schema = schema
    made._encoders_, made._decoders_ = {}, {}
    made._structs_ = {**structs, schema.name: made}
    return made


def _structure_class(struct: Struct, base: type, structs: dict[str, Any], qualname: str, module: str) -> Any:
    """A class with slots for the fields. Made by `type()` and not by text, as only `__init__` needs text: its
    parameters are the fields, so that a wrong name is an error like that of any function.
    """
    body = {
        "__slots__": tuple(field.name for field in struct.fields),
        "__init__": _init(struct, structs),
        "__qualname__": qualname,
        "__module__": module,
        "_schema_": struct,
    }
    return type(struct.name, (base,), body)


def _init(struct: Struct, structs: dict[str, Any]) -> Any:
    """The constructor: keyword arguments only, defaults from the schema. A mutable default is made in the body, when
    the argument was not given.
    """
    parameters, lines = ["self, *"], []
    for field in struct.fields:
        name, fresh = field.name, field.fresh_default
        default = "UNSET" if fresh else "NO_UUID" if field.type == "uuid" else repr(field.default)
        parameters.append(f"{name}={'None' if field.default is None else default}")
        lines.append(f"self.{name} = {fresh} if {name} is UNSET else {name}" if fresh else f"self.{name} = {name}")
    parameters.append("unknown_tags=None")
    source = Source(f"def __init__({', '.join(parameters)}):")
    source.emit(*lines, "self.unknown_tags = unknown_tags")
    return source.function("__init__", {**structs, "UNSET": UNSET, "NO_UUID": NO_UUID}, f"<init {struct.name}>")


def _plain(value: Any) -> Any:
    if isinstance(value, Structure):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return bytes(value) if isinstance(value, memoryview) else value


def _same(left: Structure, right: Structure, name: str) -> bool:
    return bool(getattr(left, name) == getattr(right, name))


def _show(value: Any) -> str:
    return f"<{len(value)} bytes>" if isinstance(value, memoryview) else repr(value)
