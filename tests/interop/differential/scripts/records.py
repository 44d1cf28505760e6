"""Batches, sound and not: what a Produce request can carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.records.format.attributes import Codec
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel.crc32c import crc32c

START = 1_600_000_000_000


def batch(values: list[bytes | None], *, timestamp: int = START, key: bytes | None = b"k", **fields: Any) -> bytes:
    builder = BatchBuilder(**fields)
    for index, value in enumerate(values):
        builder.append(timestamp + index, key, value)
    return builder.build()


def for_version(version: int) -> bytes:
    """What clients of that version sent."""
    return batch([b"one", b"two"], magic=0 if version < 2 else 1 if version < 3 else 2)


def patched(data: bytes, position: int, replacement: bytes, *, crc: bool = True) -> bytes:
    """A v2 batch with some bytes replaced, its checksum made right again unless told otherwise."""
    out = bytearray(data)
    out[position : position + len(replacement)] = replacement
    if crc:
        out[17:21] = crc32c(memoryview(out)[21:]).to_bytes(4, "big")
    return bytes(out)


def _two(**fields: Any) -> bytes:
    return batch([b"one", b"two"], **fields)


#: What can be wrong with records; offsets are those of the v2 header.
ODD_RECORDS: dict[str, Callable[[], bytes | None]] = {
    "none": lambda: b"",
    "two records": _two,
    "two batches": lambda: _two() + _two(),
    "null value": lambda: batch([None]),
    "null key": lambda: batch([b"v"], key=None),
    "keyed": lambda: batch([b"v"]),
    "a big record": lambda: batch([b"v" * 2000]),
    "a huge record": lambda: batch([b"v" * 1_100_000]),
    "from the far future": lambda: _two(timestamp=4_000_000_000_000),
    "no timestamp": lambda: _two(timestamp=-1),
    "negative timestamp": lambda: _two(timestamp=-1000),
    "base offset 7": lambda: _two(base_offset=7),
    "magic 0": lambda: _two(magic=0),
    "magic 1": lambda: _two(magic=1),
    "magic 1, gzip": lambda: _two(magic=1, codec=Codec.GZIP),
    "magic 0, snappy": lambda: _two(magic=0, codec=Codec.SNAPPY),
    "magic 3": lambda: patched(_two(), 16, b"\x03"),
    "magic -1": lambda: patched(_two(), 16, b"\xff"),
    "gzip": lambda: _two(codec=Codec.GZIP),
    "snappy": lambda: _two(codec=Codec.SNAPPY),
    "lz4": lambda: _two(codec=Codec.LZ4),
    "zstd": lambda: _two(codec=Codec.ZSTD),
    "codec 5": lambda: patched(_two(), 21, b"\x00\x05"),
    "codec 7": lambda: patched(_two(), 21, b"\x00\x07"),
    "gzip that is none": lambda: patched(_two(), 21, b"\x00\x01"),
    "zstd that is none": lambda: patched(_two(), 21, b"\x00\x04"),
    "log append time bit": lambda: patched(_two(), 21, b"\x00\x08"),
    "control bit": lambda: patched(_two(), 21, b"\x00\x20"),
    "unknown attribute": lambda: patched(_two(), 21, b"\x00\x80"),
    "transactional, no producer": lambda: patched(_two(), 21, b"\x00\x10"),
    "wrong checksum": lambda: patched(_two(), 17, b"\x00\x00\x00\x01", crc=False),
    "count too high": lambda: patched(_two(), 57, b"\x00\x00\x00\x03"),
    "count too low": lambda: patched(_two(), 57, b"\x00\x00\x00\x01"),
    "count zero": lambda: patched(_two(), 57, b"\x00\x00\x00\x00"),
    "count negative": lambda: patched(_two(), 57, b"\xff\xff\xff\xff"),
    "last delta too high": lambda: patched(_two(), 23, b"\x00\x00\x00\x05"),
    "last delta negative": lambda: patched(_two(), 23, b"\xff\xff\xff\xff"),
    "max timestamp wrong": lambda: patched(_two(), 35, b"\x00" * 8),
    "leader epoch 9": lambda: patched(_two(), 12, b"\x00\x00\x00\x09", crc=False),
    "length too short": lambda: patched(_two(), 8, b"\x00\x00\x00\x10", crc=False),
    "length negative": lambda: patched(_two(), 8, b"\xff\xff\xff\xf0", crc=False),
    "length too long": lambda: patched(_two(), 8, b"\x00\x00\x10\x00", crc=False),
    "cut off": lambda: _two()[:-3],
    "only a header": lambda: _two()[:61],
    "twelve bytes": lambda: _two()[:12],
    "trailing bytes": lambda: _two() + b"abc",
    "broken record": lambda: patched(_two(), 61, b"\x7e"),
    "record attributes": lambda: patched(_two(), 62, b"\x01"),
    "record offset delta": lambda: patched(_two(), 64, b"\x04"),
}
