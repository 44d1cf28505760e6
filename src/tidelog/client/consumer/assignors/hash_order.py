"""The order in which Java's HashMap and HashSet list their entries.

Kafka's sticky assignors ask maps for their entries in a few places where the order decides who keeps a partition. Such
a map lists its buckets from first to last; an entry's bucket follows from its hash and from the size of the table,
which doubles whenever three quarters of it are in use, and never shrinks. Inside a bucket, older entries come first.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.common.hashing import java_hash
from tidelog.common.types import TopicPartition

_FIRST_CAPACITY = 16


def capacity_for(count: int) -> int:
    """The table's size after so many entries."""
    capacity = _FIRST_CAPACITY
    while count > capacity * 3 // 4:
        capacity *= 2
    return capacity


def hash_order(keys: Iterable[str]) -> list[str]:
    """The keys as a HashMap lists them that they were put into in this order."""
    distinct = list(dict.fromkeys(keys))
    mask = capacity_for(len(distinct)) - 1
    return sorted(distinct, key=lambda key: _spread(java_hash(key)) & mask)


class HashSetOfPartitions:
    """A HashSet that is asked for its first entry."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, None] = {}
        self._capacity = _FIRST_CAPACITY

    def add(self, tp: TopicPartition) -> None:
        self._partitions.setdefault(tp)
        self._capacity = max(self._capacity, capacity_for(len(self._partitions)))

    def discard(self, tp: TopicPartition) -> None:
        self._partitions.pop(tp, None)

    def __bool__(self) -> bool:
        return bool(self._partitions)

    def first(self) -> TopicPartition:
        mask = self._capacity - 1
        return min(self._partitions, key=lambda tp: _spread(_partition_hash(tp)) & mask)


def _partition_hash(tp: TopicPartition) -> int:
    """TopicPartition.hashCode."""
    return 31 * (31 + tp.partition) + java_hash(tp.topic)


def _spread(value: int) -> int:
    """HashMap mixes the upper half of a hash into the lower, which alone picks the bucket."""
    value &= 0xFFFFFFFF
    return value ^ (value >> 16)
