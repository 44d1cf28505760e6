"""The two hashes by which Kafka spreads things over partitions.

`java_hash` places groups and transactional ids on their internal topic; `murmur2` places keyed records.
Both work on 32-bit integers that wrap around, as Java's do.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF


def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & _MASK
    return value - (1 << 32) if value & 0x80000000 else value


def partition_for_id(identity: str, partitions: int) -> int:
    """The internal-topic partition of a group or transactional id: Utils.abs(hashCode) % n."""
    value = java_hash(identity)
    return (0 if value == -(1 << 31) else abs(value)) % partitions


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 of a key (seed 0x9747b28c), as an unsigned number."""
    length = len(data)
    m = 0x5BD1E995
    h = (0x9747B28C ^ length) & _MASK
    tail = length & ~3
    for index in range(0, tail, 4):
        k = int.from_bytes(data[index : index + 4], "little") * m & _MASK
        k = (k ^ k >> 24) * m & _MASK
        h = h * m & _MASK ^ k
    if tail < length:
        h ^= int.from_bytes(data[tail:], "little")
        h = h * m & _MASK
    h = (h ^ h >> 13) * m & _MASK
    return h ^ h >> 15


def partition_for_key(key: bytes, partitions: int) -> int:
    """The Java clients' default placement of a keyed record: toPositive(murmur2) % n."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
