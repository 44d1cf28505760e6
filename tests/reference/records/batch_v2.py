"""Magic 2 batches in plain Python, written from the format's grammar and not from the kernel."""

from __future__ import annotations

import struct
from typing import NamedTuple

from tidelog.common.varint import VarintError, decode_varint, decode_varlong, encode_varint

HEADER = struct.Struct(">qiibIhiqqqhii")
OVERHEAD = 61

Headers = tuple[tuple[bytes, bytes | None], ...]


class Malformed(ValueError):
    """The bytes break the grammar."""


class PlainRecord(NamedTuple):
    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class PlainBatch(NamedTuple):
    base_offset: int
    leader_epoch: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    payload: bytes


def crc32c(data: bytes) -> int:
    """Bit by bit."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def parse_batch(data: bytes) -> PlainBatch:
    if len(data) < OVERHEAD:
        raise Malformed("shorter than a header")
    base, length, epoch, magic, crc, *rest = HEADER.unpack_from(data)
    if magic != 2 or length != len(data) - 12:
        raise Malformed("not one magic 2 batch")
    return PlainBatch(base, epoch, crc, *rest, data[OVERHEAD:])


def parse_records(payload: bytes, count: int) -> list[PlainRecord]:
    records = []
    position = 0
    for _ in range(count):
        try:
            length, position = decode_varint(payload, position)
        except VarintError as error:
            raise Malformed(str(error)) from error
        if length < 0 or position + length > len(payload):
            raise Malformed("record runs past the batch")
        records.append(parse_record(payload[position : position + length]))
        position += length
    if position != len(payload):
        raise Malformed("bytes after the last record")
    return records


def parse_record(body: bytes) -> PlainRecord:
    try:
        if not body:
            raise Malformed("no attributes")
        timestamp, position = decode_varlong(body, 1)
        offset, position = decode_varint(body, position)
        key, position = _nullable(body, position)
        value, position = _nullable(body, position)
        count, position = decode_varint(body, position)
        if count < 0 or count > len(body) - position:
            raise Malformed("number of headers")
        headers = []
        for _ in range(count):
            name, position = _nullable(body, position)
            content, position = _nullable(body, position)
            if name is None:
                raise Malformed("header without a name")
            headers.append((name, content))
    except VarintError as error:
        raise Malformed(str(error)) from error
    if position != len(body):
        raise Malformed("bytes after the record's last field")
    return PlainRecord(offset, timestamp, key, value, tuple(headers))


def _nullable(body: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = decode_varint(body, position)
    if length < 0:
        return None, position
    if position + length > len(body):
        raise Malformed("field runs past its record")
    return body[position : position + length], position + length


def encode_record(record: PlainRecord) -> bytes:
    body = b"\x00" + encode_varint(record.timestamp_delta) + encode_varint(record.offset_delta)
    body += _encode_nullable(record.key) + _encode_nullable(record.value) + encode_varint(len(record.headers))
    for name, value in record.headers:
        body += _encode_nullable(name) + _encode_nullable(value)
    return encode_varint(len(body)) + body


def _encode_nullable(data: bytes | None) -> bytes:
    return encode_varint(-1) if data is None else encode_varint(len(data)) + data


def encode_batch(
    records: list[PlainRecord],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = 0,
    max_timestamp: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    count: int | None = None,
    payload: bytes | None = None,
) -> bytes:
    body = b"".join(map(encode_record, records)) if payload is None else payload
    tail = struct.pack(
        ">hiqqqhii",
        attributes,
        len(records) - 1 if last_offset_delta is None else last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records) if count is None else count,
    )
    tail += body
    return struct.pack(">qiibI", base_offset, len(tail) + 9, leader_epoch, 2, crc32c(tail)) + tail
