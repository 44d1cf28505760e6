"""Serializers: Java's bytes, errors that say what is wrong, and every form that a setting may have."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tidelog.client.serialization import (
    DESERIALIZERS,
    SERIALIZERS,
    Deserializer,
    SerializationError,
    Serializer,
    deserializer_of,
    serializer_of,
)
from tidelog.common.errors import UsageError

ID = UUID("12345678-9abc-def0-1234-56789abcdef0")
EXAMPLES: list[tuple[str, Any, bytes]] = [
    ("bytes", b"\x00\xff", b"\x00\xff"),
    ("str", "Zoë", b"Zo\xc3\xab"),
    ("short", -2, b"\xff\xfe"),
    ("int", 258, b"\x00\x00\x01\x02"),
    ("long", -1, b"\xff" * 8),
    ("float", 1.5, b"\x3f\xc0\x00\x00"),
    ("double", 1.5, b"\x3f\xf8\x00\x00\x00\x00\x00\x00"),
    ("bool", True, b"\x01"),
    ("uuid", ID, b"12345678-9abc-def0-1234-56789abcdef0"),
    ("json", {"name": "Zoë", "n": [1, 2]}, '{"name":"Zoë","n":[1,2]}'.encode()),
]


@pytest.mark.parametrize(("name", "value", "data"), EXAMPLES)
def test_bytes_and_back(name: str, value: Any, data: bytes) -> None:
    assert serializer_of(name, {}, is_key=False).serialize("t", value) == data
    assert deserializer_of(name, {}, is_key=False).deserialize("t", data) == value


@pytest.mark.parametrize("name", SERIALIZERS)
def test_none_is_null(name: str) -> None:
    assert serializer_of(name, {}, is_key=True).serialize("t", None) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("bytes", 5), ("str", b"x"), ("int", 1 << 31), ("int", "5"), ("int", True), ("long", 1 << 63)],
        *[("short", 40_000), ("float", "x"), ("float", 1e300), ("bool", 1), ("uuid", "x"), ("none", b"")],
        ("json", object()),
    ],
)
def test_what_a_serializer_refuses(name: str, value: Any) -> None:
    with pytest.raises(SerializationError):
        serializer_of(name, {}, is_key=False).serialize("t", value)


@pytest.mark.parametrize("name", [name for name in DESERIALIZERS if name != "bytes"])
def test_what_a_deserializer_refuses(name: str) -> None:
    with pytest.raises(SerializationError):
        deserializer_of(name, {}, is_key=False).deserialize("t", b"\xff\xfe\xfd")


def test_the_default_takes_bytes_and_text() -> None:
    default = serializer_of(None, {}, is_key=False)
    assert [default.serialize("t", data) for data in (b"a", "b", memoryview(b"c"), None)] == [b"a", b"b", b"c", None]
    with pytest.raises(SerializationError, match=r"value\.serializer"):
        default.serialize("t", 5)


def test_encodings_by_setting() -> None:
    settings = {"key.serializer.encoding": "utf-16-be", "serializer.encoding": "latin-1"}
    assert serializer_of("str", settings, is_key=True).serialize("t", "ë") == b"\x00\xeb"
    assert serializer_of("str", settings, is_key=False).serialize("t", "ë") == b"\xeb"
    assert deserializer_of("str", {"deserializer.encoding": "latin-1"}, is_key=False).deserialize("t", b"\xeb") == "ë"
    with pytest.raises(SerializationError, match="cannot be iso8859-1"):
        serializer_of("str", settings, is_key=False).serialize("t", "Ω")
    with pytest.raises(UsageError, match="no encoding"):
        serializer_of("str", {"serializer.encoding": "morse"}, is_key=True)


class Upper(Serializer, Deserializer):
    seen: tuple[dict[str, Any], bool] | None = None

    def configure(self, configs: Any, is_key: bool) -> None:
        self.seen = (dict(configs), is_key)

    def serialize(self, topic: str, data: Any, headers: Any = None) -> bytes:
        return f"{topic}:{data}".upper().encode()

    def deserialize(self, topic: str, data: bytes, headers: Any = None) -> str:
        return data.decode().lower()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [("UTF-16", b"\xfe\xff\x00a"), ("UTF-16BE", b"\x00a"), ("UTF-16LE", b"a\x00"), ("UTF-32", b"\x00\x00\x00a")],
)
def test_orders_of_bytes_are_javas(encoding: str, data: bytes) -> None:
    assert serializer_of("str", {"serializer.encoding": encoding}, is_key=False).serialize("t", "a") == data
    reader = deserializer_of("str", {"deserializer.encoding": encoding}, is_key=False)
    assert reader.deserialize("t", data) == "a"
    if encoding in ("UTF-16", "UTF-32"):
        assert reader.deserialize("t", "a".encode(encoding)) == "a", "a mark says that it is the other order"
        assert reader.deserialize("t", "a".encode(f"{encoding}-be")) == "a"
    assert serializer_of("str", {"serializer.encoding": encoding}, is_key=False).serialize("t", "") == b""


def test_every_form_of_a_setting() -> None:
    java = "org.apache.kafka.common.serialization.LongSerializer"
    assert serializer_of(java, {}, is_key=False).serialize("t", 1) == b"\x00" * 7 + b"\x01"
    assert serializer_of(Upper, {}, is_key=False).serialize("t", "x") == b"T:X"
    own = Upper()
    assert serializer_of(own, {"mine": 1}, is_key=True) is own
    assert own.seen == ({"mine": 1}, True)
    assert serializer_of(lambda value: value.to_bytes(2, "big"), {}, is_key=False).serialize("t", 5) == b"\x00\x05"
    assert deserializer_of(f"{__name__}.Upper", {}, is_key=False).deserialize("t", b"A") == "a"
    with pytest.raises(UsageError, match="expected one of"):
        serializer_of("text", {}, is_key=False)
    with pytest.raises(UsageError, match="cannot be imported"):
        serializer_of("no.such.Module", {}, is_key=False)


def test_a_byte_that_is_no_truth_value() -> None:
    reader = deserializer_of("bool", {}, is_key=False)
    assert reader.deserialize("t", b"\0") is False
    with pytest.raises(SerializationError, match="0 or 1, not 2"):
        reader.deserialize("t", b"\2")
