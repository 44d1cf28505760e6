"""Variable-length integers, as Kafka borrowed them from Protocol Buffers.

Seven bits a byte, lowest group first, high bit set on every byte but the last. Signed numbers are first
zig-zagged (0, -1, 1, -2 → 0, 1, 2, 3) so that small negative numbers stay short. Records use the signed forms,
the wire's flexible versions the unsigned one. A 32-bit number takes at most 5 bytes and a 64-bit one 10;
a longer encoding is an error, never a silent wrap.

These are the readable forms for cold paths; record loops use the compiled kernel.
"""

from __future__ import annotations

MAX_VARINT_BYTES = 5
MAX_VARLONG_BYTES = 10

Buffer = bytes | bytearray | memoryview


class VarintError(ValueError):
    """The bytes at that position are no variable-length integer of the asked width."""


def encode_unsigned(value: int) -> bytes:
    if value < 0:
        raise ValueError(f"an unsigned varint cannot hold {value}")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_unsigned(data: Buffer, position: int = 0, max_bytes: int = MAX_VARINT_BYTES) -> tuple[int, int]:
    """Return (value, position after it).

    Whoever has the bytes of a stranger compares the number with what is left, before anything is made for it.
    """
    value = shift = 0
    for index in range(position, position + max_bytes):
        if index >= len(data):
            raise VarintError(f"varint at byte {position} is cut off at byte {index}")
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> (32 if max_bytes == MAX_VARINT_BYTES else 64):
                raise VarintError(f"varint at byte {position} overflows {32 if max_bytes == 5 else 64} bits")
            return value, index + 1
        shift += 7
    raise VarintError(f"varint at byte {position} is longer than {max_bytes} bytes")


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def encode_varint(value: int) -> bytes:
    """A signed (zig-zag) number of any width up to 64 bits."""
    return encode_unsigned(zigzag(value))


def decode_varint(data: Buffer, position: int = 0) -> tuple[int, int]:
    value, end = decode_unsigned(data, position, MAX_VARINT_BYTES)
    return unzigzag(value), end


def decode_varlong(data: Buffer, position: int = 0) -> tuple[int, int]:
    value, end = decode_unsigned(data, position, MAX_VARLONG_BYTES)
    return unzigzag(value), end
