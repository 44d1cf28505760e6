"""Request and response headers, and whole frames: length, header, body.

    request   int32 length · int16 key · int16 version · int32 correlation id · [client id] · [tags] · body
    response  int32 length · int32 correlation id · [tags] · body

The client id is never compact, not even in the flexible header: a broker must be able to read it before it knows what
it is reading. Tags of a header are skipped: nothing defines any.

Which of the optional parts there are depends on key and version, as everything does: version 0 of the request header
(ControlledShutdown v0 alone) has no client id, 1 has, 2 has tags as well and goes with flexible versions; the response
header has tags from its version 1 on. ApiVersions is the exception that lets strangers talk: its response always has
header version 0, because the client does not know yet what the broker can write, and a broker that does not know the
version asked for answers in version 0.
"""

from __future__ import annotations

import struct
from typing import Any

from tidelog.common.errors import ErrorCode, ProtocolError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.varint import VarintError, decode_unsigned
from tidelog.protocol.api import ApiKey, request_header_version, response_class, response_header_version
from tidelog.protocol.message import Buffer, Message

_REQUEST = struct.Struct(">hhi")
_CORRELATION = struct.Struct(">i")
_SHORT = struct.Struct(">h")
_RESPONSE_V0 = struct.Struct(">ii")
_RESPONSE_V1 = struct.Struct(">iib")


class RequestHeader(NamedTuple):
    """What stands in front of every request. `client_id` is for logs, quotas and metrics, and says nothing of
    who asks.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def decode_request_header(buffer: Buffer, position: int = 0) -> tuple[RequestHeader, int]:
    """Read the header of a frame (`position` is just after its length); return it and where the body begins.

    KafkaError UNSUPPORTED_VERSION for an unknown key, ProtocolError for anything that is no header.
    """
    try:
        key, version, correlation_id = _REQUEST.unpack_from(buffer, position)
        position += _REQUEST.size
        form = request_header_version(key, version)
        client_id = None
        if form > 0:
            (size,) = _SHORT.unpack_from(buffer, position)
            position += 2
            if size >= 0:
                if position + size > len(buffer):
                    raise ProtocolError(f"the client id at byte {position} reaches past the end")
                client_id = str(buffer[position : position + size], "utf-8", "replace")
                position += size
        if form > 1:
            position = skip_tags(buffer, position)
    except (struct.error, IndexError, VarintError) as error:
        raise ProtocolError(f"malformed request header: {error}") from None
    return RequestHeader(key, version, correlation_id, client_id), position


def skip_tags(buffer: Buffer, position: int) -> int:
    """Pass over a tagged section whose tags nobody here knows, believing no size that leads past the end."""
    count, position = decode_unsigned(buffer, position)
    if count * 2 > len(buffer) - position:
        raise ProtocolError(f"{count} tags at byte {position} reach past the end")
    for _ in range(count):
        _, position = decode_unsigned(buffer, position)
        size, position = decode_unsigned(buffer, position)
        position += size
        if position > len(buffer):
            raise ProtocolError(f"a header tag before byte {position} reaches past the end")
    return position


def encode_request(key: int, version: int, correlation_id: int, client_id: str | None, message: Message) -> bytes:
    """A whole request frame, length included."""
    out = _request_head(key, version, correlation_id, client_id)
    message.encode_into(out, version)
    _CORRELATION.pack_into(out, 0, len(out) - 4)
    return bytes(out)


class Apart:
    """Large `records` that are to be written from where they lie, not copied into the frame (a Produce).

    A frame of a megabyte would otherwise be copied twice: into the frame, and from there into the kernel.
    """

    __slots__ = ("data",)

    def __init__(self, data: memoryview) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)


def encode_request_parts(
    key: int, version: int, correlation_id: int, client_id: str | None, message: Message
) -> list[Buffer]:
    """Like `encode_request`, as buffers to be written one after the other; `Apart` records are not copied."""
    parts = _measured(message.encode_parts(version, bytes(_request_head(key, version, correlation_id, client_id))))
    return [part.data if isinstance(part, Apart) else part for part in parts]


def _request_head(key: int, version: int, correlation_id: int, client_id: str | None) -> bytearray:
    """Four bytes of room for the length, then the header."""
    form = request_header_version(key, version)
    out = bytearray(4)
    out += _REQUEST.pack(key, version, correlation_id)
    if form > 0:
        data = None if client_id is None else client_id.encode()
        out += _SHORT.pack(-1 if data is None else len(data))
        out += data or b""
    if form > 1:
        out.append(0)
    return out


def encode_response(key: int, version: int, correlation_id: int, message: Message) -> bytes:
    """A whole response frame, length included."""
    out = bytearray(_response_head(key, version, correlation_id))
    message.encode_into(out, version)
    _CORRELATION.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def encode_response_parts(key: int, version: int, correlation_id: int, message: Message) -> list[Any]:
    """Like `encode_response`, with `records` that are no buffers (slices of files) as parts of their own."""
    return _measured(message.encode_parts(version, _response_head(key, version, correlation_id)))


def _measured(parts: list[Any]) -> list[Any]:
    """The frame in parts, with its length in the first four bytes."""
    size, first = sum(map(len, parts)) - 4, parts[0]
    if isinstance(first, bytearray):
        _CORRELATION.pack_into(first, 0, size)
    else:
        parts[0] = _CORRELATION.pack(size) + first[4:]
    return parts


def _response_head(key: int, version: int, correlation_id: int) -> bytes:
    """The same of a response: five to nine bytes in all, so one `struct` call makes them."""
    if response_header_version(key, version):
        return _RESPONSE_V1.pack(0, correlation_id, 0)
    return _RESPONSE_V0.pack(0, correlation_id)


def decode_correlation_id(buffer: Buffer, position: int = 0) -> int:
    """The first field of a response frame (after its length): by it the request, and so the version, is found."""
    try:
        return int(_CORRELATION.unpack_from(buffer, position)[0])
    except struct.error:
        raise ProtocolError("a response frame shorter than its correlation id") from None


def decode_response(key: int, version: int, buffer: Buffer, position: int = 0) -> tuple[int, Message]:
    """Read a response frame (`position` is just after its length) of a request that was sent in `version`."""
    correlation_id = decode_correlation_id(buffer, position)
    position += 4
    if response_header_version(key, version):
        try:
            position = skip_tags(buffer, position)
        except (IndexError, VarintError) as error:
            raise ProtocolError(f"malformed response header: {error}") from None
    if key == ApiKey.API_VERSIONS and _is_unsupported(buffer, position):
        version = 0
    return correlation_id, response_class(key).decode(buffer, version, position)


def _is_unsupported(buffer: Buffer, position: int) -> bool:
    """A broker that does not know our ApiVersions version answers in version 0, whatever we asked for."""
    return bytes(buffer[position : position + 2]) == _SHORT.pack(ErrorCode.UNSUPPORTED_VERSION)
