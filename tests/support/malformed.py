"""Batches whose checksum is right and whose records are not: what a broker that only checks the CRC would store."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import Codec
from tidelog.records.kernel.crc32c import crc32c

TIME_MS = 1_700_000_000_000
RECORDS = 3


def varint(value: int) -> bytes:
    """Zigzag, least significant group first."""
    bits = (value << 1) ^ (value >> 63)
    out = bytearray()
    while bits > 0x7F:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    out.append(bits)
    return bytes(out)


def record(delta: int, *, key: bytes = b"key", value: bytes = b"value", headers: bytes = b"\0") -> bytes:
    body = b"\0" + varint(0) + varint(delta) + varint(len(key)) + key + varint(len(value)) + value + headers
    return varint(len(body)) + body


def sealed(payload: bytes, codec: Codec = Codec.NONE, count: int = RECORDS, last_delta: int = RECORDS - 1) -> bytes:
    """A batch of format 2 around these bytes, with a valid checksum."""
    checked = struct.pack(">hiqqqhii", codec, last_delta, TIME_MS, TIME_MS, -1, -1, -1, count) + payload
    return struct.pack(">qiibI", 0, 9 + len(checked), -1, 2, crc32c(checked)) + checked


def sound(codec: Codec) -> bytes:
    return sealed(compress(codec, _payload()), codec)


def _payload() -> bytes:
    return b"".join(record(delta) for delta in range(RECORDS))


def malformed() -> Iterator[tuple[str, bytes]]:
    """(what is wrong, batch), for every codec."""
    good = _payload()
    first, last = record(0), record(RECORDS - 1)
    payloads = {
        "a record that is longer than the batch": first + record(1) + varint(1000) + last[1:],
        "a record that is shorter than its fields": first + record(1) + varint(5) + last[1:],
        "a negative record length": first + record(1) + varint(-4) + last[1:],
        "a record less": first + record(1),
        "bytes behind the last record": good + b"abc",
        "offsets out of order": record(0) + record(2) + record(1),
        "an endless varint": first + record(1) + b"\xff" * 12,
        "a key that is longer than its record": first + record(1) + _with_key_length(RECORDS - 1, 500),
        "a header count that cannot be": first + record(1) + record(RECORDS - 1, headers=varint(1 << 20)),
        "a negative header count": first + record(1) + record(RECORDS - 1, headers=varint(-1)),
        "a header without a key": first + record(1) + record(RECORDS - 1, headers=varint(1) + varint(-1) + varint(0)),
        "nothing at all": b"",
        "zeros": bytes(64),
    }
    for codec in Codec:
        for what, payload in payloads.items():
            yield f"{codec.name.lower()}: {what}", sealed(compress(codec, payload), codec)
        packed = compress(codec, good)
        yield f"{codec.name.lower()}: a count that is too high", sealed(packed, codec, count=RECORDS + 1)
        yield f"{codec.name.lower()}: a count that is too low", sealed(packed, codec, count=RECORDS - 1)
        yield f"{codec.name.lower()}: a last offset delta that is too high", sealed(packed, codec, last_delta=7)
        if codec is not Codec.NONE:
            yield f"{codec.name.lower()}: not packed", sealed(b"this is plain text, of some length", codec)
            yield f"{codec.name.lower()}: cut off", sealed(packed[: len(packed) // 2], codec)


def _with_key_length(delta: int, length: int) -> bytes:
    body = b"\0" + varint(0) + varint(delta) + varint(length) + b"key" + varint(5) + b"value" + b"\0"
    return varint(len(body)) + body
