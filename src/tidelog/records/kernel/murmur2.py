"""murmur2 as the Java clients place keys, from the kernel; `common.hashing` has it in plain Python.

The result is Java's: an int, whose sign bit a partitioner clears. A client that hashed otherwise would put a key's
records in two partitions, and their order would be lost.
"""

from __future__ import annotations

from tidelog.records.kernel._encode import murmur2

__all__ = ["murmur2", "partition_for_key"]


def partition_for_key(key: bytes, partitions: int) -> int:
    """The Java clients' default placement of a keyed record: toPositive(murmur2) % n."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
