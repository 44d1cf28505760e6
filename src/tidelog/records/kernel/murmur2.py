"""murmur2 as the Java clients place keys, from the kernel; `common.hashing` has it in plain Python."""

from __future__ import annotations

from tidelog.records.kernel._encode import murmur2

__all__ = ["murmur2", "partition_for_key"]


def partition_for_key(key: bytes, partitions: int) -> int:
    """The Java clients' default placement of a keyed record: toPositive(murmur2) % n."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
