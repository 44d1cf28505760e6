"""The parts of an LZ4 frame that the library leaves to us: Kafka's two quirks, and a bound on the output.

    magic 04 22 4D 18 | FLG | BD | [content size 8] [dictionary id 4] | header checksum 1
    blocks: size int32 LE (top bit: stored plain) | bytes | [block checksum 4]
    end mark 00 00 00 00 | [content checksum 4]

FLG: bits 7-6 version 1, 5 independent blocks, 4 block checksums, 3 content size, 2 content checksum, 0 dictionary id.
BD: bits 6-4 the largest block (4: 64 KiB ... 7: 4 MiB).

Quirk one: Kafka refuses linked blocks, so do we (a Java consumer could not read what we took in). Quirk two: the header
checksum is the second byte of xxHash32 over FLG..dictionary id, but Kafka 0.8 and 0.9 hashed the frame's magic, too.
Magic 0 messages are written with that checksum and read with any; the checks of magic 1 and 2 are the library's.

The bound on the output matters because the library allocates what it is told to expect. A frame does not have to say
how long its content is; but its blocks have sizes, and a byte of a block cannot become more than 255.
"""

from __future__ import annotations

Buffer = bytes | bytearray | memoryview

FRAME_MAGIC = b"\x04\x22\x4d\x18"
MIN_HEADER = 7
INDEPENDENT, BLOCK_CHECKSUM, CONTENT_SIZE, DICTIONARY = 0x20, 0x10, 0x08, 0x01
STORED_PLAIN = 0x80000000
#: A byte of an LZ4 block stands for at most 255 of output; the rest is room for short blocks.
RATIO, SLACK = 255, 64

_MASK = 0xFFFFFFFF
_PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_PRIME_1 = 0x9E3779B1


class MalformedError(ValueError):
    """The bytes are not of their codec.

    Turned into CorruptRecordError, with the codec's name, by `decompress`.
    """


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK


def xxhash32_short(data: bytes) -> int:
    """xxHash32 with seed 0 of fewer than 16 bytes, which is all that a frame's header has."""
    if len(data) >= 16:
        raise ValueError("only the short form is needed here")
    value = (_PRIME_5 + len(data)) & _MASK
    position = 0
    while position + 4 <= len(data):
        word = int.from_bytes(data[position : position + 4], "little")
        value = _rotate((value + word * _PRIME_3) & _MASK, 17) * _PRIME_4 & _MASK
        position += 4
    for byte in data[position:]:
        value = _rotate((value + byte * _PRIME_5) & _MASK, 11) * _PRIME_1 & _MASK
    value = (value ^ value >> 15) * _PRIME_2 & _MASK
    value = (value ^ value >> 13) * _PRIME_3 & _MASK
    return value ^ value >> 16


def _header_size(frame: Buffer) -> int:
    """Bytes up to and with the header checksum.

    It depends on the flags; a content size is allowed, though Kafka's writer leaves it out.
    """
    if len(frame) < MIN_HEADER or frame[:4] != FRAME_MAGIC:
        raise MalformedError("no lz4 frame starts here")
    flags = frame[4]
    size = MIN_HEADER + (8 if flags & CONTENT_SIZE else 0) + (4 if flags & DICTIONARY else 0)
    if len(frame) < size:
        raise MalformedError("the lz4 frame's header is cut off")
    return size


def with_header_checksum(frame: Buffer, *, broken: bool) -> bytes:
    """A copy of the frame with its header checksum set, by the rule of Kafka 0.8 and 0.9 if `broken`."""
    size = _header_size(frame)
    start = 0 if broken else 4
    checksum = xxhash32_short(bytes(frame[start : size - 1])) >> 8 & 0xFF
    return b"".join((frame[: size - 1], bytes((checksum,)), frame[size:]))


def output_bound(frame: Buffer, most_blocks: int) -> int:
    """The most bytes that the frame can unpack to, from the sizes of its blocks; refuses linked and too many blocks."""
    position = _header_size(frame)
    flags = frame[4]
    if not flags & INDEPENDENT:
        raise MalformedError("the lz4 frame has linked blocks, which Kafka does not support")
    largest = 1 << (8 + 2 * (frame[5] >> 4 & 7))
    trailer = 4 if flags & BLOCK_CHECKSUM else 0
    bound = 0
    for _ in range(most_blocks):
        size = int.from_bytes(frame[position : position + 4], "little")
        position += 4
        if size == 0 or position > len(frame):
            return bound
        plain = size & STORED_PLAIN
        size &= STORED_PLAIN - 1
        bound += size if plain else min(largest, size * RATIO + SLACK)
        position += size + trailer
    raise MalformedError(f"more than {most_blocks} lz4 blocks")
