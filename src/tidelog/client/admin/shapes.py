"""Shapes that requests and answers share: partitions grouped by topic, sets of operations as bits, ids as text.

Kafka's messages name a topic once and its partitions below it; our values are flat, a `TopicPartition` each. Both ways
are here, once, for all messages; only the names of the fields differ between them.

A request of ListOffsets, say, for three partitions:

    {t-0: -1, t-1: -1, u-0: -2}  ──values_by_topic──►  {t: [(0, -1), (1, -1)], u: [(0, -2)]}
    answer.topics  ──entries──►  (t-0, entry), (t-1, entry), (u-0, entry)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from tidelog.client.admin.acl_types import AclOperation
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID, uuid_from_text, uuid_to_text

T = TypeVar("T")

#: The broker was not asked for operations, or does not know of them.
_NO_OPERATIONS = -(2**31)


def items(given: Iterable[T]) -> list[T]:
    """What a call for many was given. A text can be gone through, too, letter by letter, and a `TopicPartition` field
    by field: `delete_topics("ab")` would delete a and b. Who writes that means one item, and is told how to say so.
    """
    if isinstance(given, str | bytes) or hasattr(given, "_fields") or not isinstance(given, Iterable):
        raise UsageError(f"this call takes a list of items, here of one: [{given!r}]")
    return list(given)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Topic → partition numbers."""
    topics: dict[str, list[int]] = {}
    for topic, number in items(partitions):
        topics.setdefault(topic, []).append(number)
    return topics


def values_by_topic(values: Mapping[TopicPartition, T]) -> dict[str, list[tuple[int, T]]]:
    """Topic → (partition number, value)."""
    topics: dict[str, list[tuple[int, T]]] = {}
    for (topic, number), value in values.items():
        topics.setdefault(topic, []).append((number, value))
    return topics


def entries(
    topics: Iterable[Any], *, name: str = "name", partitions: str = "partitions", index: str = "partition_index"
) -> Iterator[tuple[TopicPartition, Any]]:
    """Each partition of an answer, with what is said of it."""
    for topic in topics:
        for entry in getattr(topic, partitions):
            yield TopicPartition(getattr(topic, name), getattr(entry, index)), entry


def operations(bits: int) -> frozenset[AclOperation] | None:
    """What the asker may do, from one bit per operation; None where the broker does not say."""
    if bits == _NO_OPERATIONS:
        return None
    return frozenset(operation for operation in AclOperation if bits >> operation & 1)


def id_text(topic_id: bytes) -> str:
    """A topic's id as tools show it; empty where the broker is too old to have any."""
    return "" if topic_id == ZERO_UUID else uuid_to_text(topic_id)


def id_bytes(text: str) -> bytes:
    return uuid_from_text(text) if text else ZERO_UUID


def or_none(value: T, missing: T) -> T | None:
    """Kafka writes -1 for "not known"; Python has None."""
    return None if value == missing else value
