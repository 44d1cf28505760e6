"""Serializers and deserializers: what a program's values are as bytes, the same bytes that Java's built-in ones make.

    name       class here                    Java's class            bytes
    bytes      BytesSerializer               ByteArraySerializer     as they are (anything with the buffer protocol)
    str        StringSerializer              StringSerializer        UTF-8, or `key.serializer.encoding` and its kin
    short      ShortSerializer               ShortSerializer         2, big-endian, signed
    int        IntegerSerializer             IntegerSerializer       4
    long       LongSerializer                LongSerializer          8
    float      FloatSerializer               FloatSerializer         4, IEEE 754
    double     DoubleSerializer              DoubleSerializer        8
    bool       BooleanSerializer             BooleanSerializer       1
    uuid       UUIDSerializer                UUIDSerializer          its 36 characters, as text
    json       JsonSerializer                (none)                  compact JSON in UTF-8
    none       VoidSerializer                VoidSerializer          nothing: only None is taken

None is null on the wire, for all of them: it is never handed to code that would have to look for it. Python's `int` has
no width, so the name says it, and a number that does not fit is an error rather than a shorter number.

`key.serializer`, `value.serializer` and the deserializers' keys take one of these names, a class, an instance, Java's
class name (so that a Java program's settings can be used as they are), or a plain function of one value. A class of
one's own inherits from `Serializer` and overrides what it needs; a serde for a schema registry is one that asks the
registry in `serialize`, with the topic and the headers in hand.
"""

from __future__ import annotations

import codecs
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tidelog.common.errors import UsageError

if TYPE_CHECKING:
    from uuid import UUID

#: With these a text in UTF-16 or UTF-32 says in which order its bytes are.
_MARKS = frozenset({codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE})

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


class SerializationError(UsageError):
    """A value that its serializer does not take, or bytes that its deserializer cannot read."""


class Serializer:
    """Turns values into bytes. Made once per client, for keys or for values; used by whichever thread sends."""

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        """Gets all of the client's settings, those that the client does not know included."""

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> bytes | None:
        """The bytes of a value, or None for null."""
        raise NotImplementedError

    def close(self) -> None:
        """The client is closed."""


class Deserializer:
    """Turns bytes into values. `data` is never None: a null key or value stays None without a call."""

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        """Gets all of the client's settings, those that the client does not know included."""

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """The client is closed."""


# --- bytes and text -------------------------------------------------------------------------------------------------


class BytesSerializer(Serializer):
    """Bytes as they are."""

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> bytes | None:
        if data is None or isinstance(data, bytes):
            return data
        try:
            return bytes(memoryview(data))
        except TypeError:
            raise SerializationError(f"{_shown(data)} is not bytes: set key.serializer or value.serializer") from None


class BytesDeserializer(Deserializer):
    """Bytes as they are."""

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> bytes:
        return data


class DefaultSerializer(BytesSerializer):
    """What a producer has whose settings name none: bytes as they are, text as UTF-8, anything else is refused."""

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> bytes | None:
        return data.encode() if isinstance(data, str) else super().serialize(topic, data, headers)


class _Encoding:
    """The encoding of text: `key.serializer.encoding`, else `serializer.encoding`, else UTF-8, as in Java.

    UTF-16 and UTF-32 are Java's: big-endian where no mark says otherwise. Its UTF-16 writes such a mark, its UTF-32
    does not; Python would take this machine's order for both.
    """

    _kind = "serializer"
    encoding = "utf-8"

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        own = f"{'key' if is_key else 'value'}.{self._kind}.encoding"
        encoding = configs.get(own) or configs.get(f"{self._kind}.encoding") or "utf-8"
        try:
            self.encoding = codecs.lookup(str(encoding)).name
        except LookupError:
            raise UsageError(f"{own}: there is no encoding {encoding!r}") from None

    def _encoded(self, text: str) -> bytes:
        try:
            if self.encoding == "utf-16":
                return f"\ufeff{text}".encode("utf-16-be") if text else b""
            return text.encode("utf-32-be" if self.encoding == "utf-32" else self.encoding)
        except UnicodeEncodeError as error:
            raise SerializationError(f"{_shown(text)} cannot be {self.encoding}: {error.reason}") from None

    def _decoded(self, data: bytes) -> str:
        if self.encoding in ("utf-16", "utf-32"):
            marked = data[: 4 if self.encoding == "utf-32" else 2] in _MARKS
            return data.decode(self.encoding if marked else f"{self.encoding}-be")
        return data.decode(self.encoding)


class StringSerializer(_Encoding, Serializer):
    """Text in the configured encoding; characters that it does not have are an error, not a question mark."""

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> bytes | None:
        if data is None:
            return None
        if not isinstance(data, str):
            raise SerializationError(f"{_shown(data)} is not a str")
        return self._encoded(data)


class StringDeserializer(_Encoding, Deserializer):
    """Text; bytes that are not in the encoding are an error."""

    _kind = "deserializer"

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> str:
        try:
            return self._decoded(data)
        except UnicodeDecodeError as error:
            raise SerializationError(f"{len(data)} bytes are not {self.encoding}: {error.reason}") from None


class UUIDSerializer(_Encoding, Serializer):
    """As text, not as 16 bytes: that is what Java's does."""

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> bytes | None:
        from uuid import UUID

        if data is None:
            return None
        if not isinstance(data, UUID):
            raise SerializationError(f"{_shown(data)} is not a UUID")
        return self._encoded(str(data))


class UUIDDeserializer(_Encoding, Deserializer):
    """A `uuid.UUID` of its text."""

    _kind = "deserializer"

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> UUID:
        from uuid import UUID

        try:
            return UUID(self._decoded(data))
        except ValueError:
            raise SerializationError(f"{data[:40]!r} is no UUID") from None


class JsonSerializer(Serializer):
    """Compact, and not escaped beyond need: `{"name":"Zoë"}`."""

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> bytes | None:
        if data is None:
            return None
        try:
            return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            raise SerializationError(f"{_shown(data)} cannot be JSON: {error}") from None


class JsonDeserializer(Deserializer):
    """What JSON says: dict, list, str, int, float, bool."""

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> Any:
        try:
            return json.loads(data)
        except ValueError as error:
            raise SerializationError(f"{len(data)} bytes are no JSON: {error}") from None


# --- numbers --------------------------------------------------------------------------------------------------------


class _Packed(Serializer):
    """Numbers of a fixed width, big-endian."""

    _format: struct.Struct
    _takes: tuple[type, ...] = (int,)

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> bytes | None:
        if data is None:
            return None
        if not isinstance(data, self._takes) or (isinstance(data, bool) and bool not in self._takes):
            raise SerializationError(f"{type(self).__name__} takes no {_shown(data)}")
        try:
            return self._format.pack(data)
        except (struct.error, OverflowError):
            raise SerializationError(f"{data} does not fit {8 * self._format.size} bits") from None


class _Unpacked(Deserializer):
    """The inverse: any other number of bytes is an error, as in Java."""

    _format: struct.Struct

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> Any:
        if len(data) != self._format.size:
            text = f"{type(self).__name__} reads {self._format.size} bytes, not {len(data)}"
            raise SerializationError(text)
        return self._format.unpack(data)[0]


class ShortSerializer(_Packed):
    _format = struct.Struct(">h")


class ShortDeserializer(_Unpacked):
    _format = struct.Struct(">h")


class IntegerSerializer(_Packed):
    _format = struct.Struct(">i")


class IntegerDeserializer(_Unpacked):
    _format = struct.Struct(">i")


class LongSerializer(_Packed):
    _format = struct.Struct(">q")


class LongDeserializer(_Unpacked):
    _format = struct.Struct(">q")


class FloatSerializer(_Packed):
    _format = struct.Struct(">f")
    _takes = (int, float)


class FloatDeserializer(_Unpacked):
    _format = struct.Struct(">f")


class DoubleSerializer(_Packed):
    _format = struct.Struct(">d")
    _takes = (int, float)


class DoubleDeserializer(_Unpacked):
    _format = struct.Struct(">d")


class BooleanSerializer(_Packed):
    _format = struct.Struct(">?")
    _takes = (bool,)


class BooleanDeserializer(_Unpacked):
    """0 or 1. Any other byte is no truth value, as in Java, and not a truth."""

    _format = struct.Struct(">?")

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> Any:
        if len(data) == 1 and data[0] > 1:
            raise SerializationError(f"{type(self).__name__} reads a byte of 0 or 1, not {data[0]}")
        return super().deserialize(topic, data, headers)


class VoidSerializer(Serializer):
    """For topics without keys: a key that slips in is an error."""

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> None:
        if data is not None:
            raise SerializationError(f"{_shown(data)}: the serializer is `none`, which takes only None")


class VoidDeserializer(Deserializer):
    """The other side of it."""

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> None:
        raise SerializationError(f"{len(data)} bytes where the deserializer is `none`")


# --- by name --------------------------------------------------------------------------------------------------------

SERIALIZERS: Mapping[str, type[Serializer]] = {
    "bytes": BytesSerializer,
    "str": StringSerializer,
    "short": ShortSerializer,
    "int": IntegerSerializer,
    "long": LongSerializer,
    "float": FloatSerializer,
    "double": DoubleSerializer,
    "bool": BooleanSerializer,
    "uuid": UUIDSerializer,
    "json": JsonSerializer,
    "none": VoidSerializer,
}
DESERIALIZERS: Mapping[str, type[Deserializer]] = {
    "bytes": BytesDeserializer,
    "str": StringDeserializer,
    "short": ShortDeserializer,
    "int": IntegerDeserializer,
    "long": LongDeserializer,
    "float": FloatDeserializer,
    "double": DoubleDeserializer,
    "bool": BooleanDeserializer,
    "uuid": UUIDDeserializer,
    "json": JsonDeserializer,
    "none": VoidDeserializer,
}
#: Java's names that are not simply ours.
_JAVA = {"ByteArray": "bytes", "Bytes": "bytes", "ByteBuffer": "bytes", "String": "str", "Short": "short"}
_JAVA |= {"Integer": "int", "Long": "long", "Float": "float", "Double": "double", "Boolean": "bool"}
_JAVA |= {"UUID": "uuid", "Void": "none"}
_JAVA_PACKAGE = "org.apache.kafka.common.serialization."


class _FunctionSerializer(Serializer):
    """A plain function of one value: `value_serializer=lambda order: order.to_bytes()`."""

    def __init__(self, function: Callable[[Any], bytes | None]) -> None:
        self._function = function

    def serialize(self, topic: str, data: Any, headers: Headers | None = None) -> bytes | None:
        return None if data is None else self._function(data)


class _FunctionDeserializer(Deserializer):
    def __init__(self, function: Callable[[bytes], Any]) -> None:
        self._function = function

    def deserialize(self, topic: str, data: bytes, headers: Headers | None = None) -> Any:
        return self._function(data)


def serializer_of(wanted: object, configs: Mapping[str, Any], *, is_key: bool) -> Serializer:
    """The configured serializer that a setting names; None: bytes and text as they are."""
    made = DefaultSerializer() if wanted is None else _made(wanted, SERIALIZERS, "serialize", _FunctionSerializer)
    made.configure(configs, is_key)
    return cast("Serializer", made)


def deserializer_of(wanted: object, configs: Mapping[str, Any], *, is_key: bool) -> Deserializer:
    """The configured deserializer that a setting names; None: bytes as they are."""
    made = BytesDeserializer() if wanted is None else _made(wanted, DESERIALIZERS, "deserialize", _FunctionDeserializer)
    made.configure(configs, is_key)
    return cast("Deserializer", made)


def _made(wanted: Any, table: Mapping[str, type], method: str, wrapper: Callable[[Any], Any]) -> Any:
    """An instance of what was asked for, in any of the forms that a setting may have."""
    if isinstance(wanted, str):
        return _by_name(wanted, table, method)()
    if isinstance(wanted, type):
        wanted = wanted()
    if hasattr(wanted, method):
        return wanted
    if callable(wanted):
        return wrapper(wanted)
    raise UsageError(f"{wanted!r} has no method {method}: expected a name, a class, an instance or a function")


def _by_name(name: str, table: Mapping[str, type], method: str) -> type:
    """Ours, Java's, or a class of the user's by its import path (`package.module.Class`)."""
    short = name.removeprefix(_JAVA_PACKAGE).removesuffix("Serializer").removesuffix("Deserializer")
    found = table.get(name) or (table.get(_JAVA.get(short, "")) if name.startswith(_JAVA_PACKAGE) else None)
    if found is not None:
        return found
    module, dot, attribute = name.rpartition(".")
    if not dot:
        raise UsageError(f"there is no {method}r {name!r}: expected one of {', '.join(table)}, or module.Class")
    from importlib import import_module

    try:
        return cast("type", getattr(import_module(module), attribute))
    except (ImportError, AttributeError) as error:
        raise UsageError(f"the {method}r {name} cannot be imported: {error}") from error


def _shown(data: object) -> str:
    return f"a value of type {type(data).__name__}"
