"""ConsumerRecords: what one `poll` returned, as a sequence and by partition.

Records of one partition lie together and in the order of their offsets. Nothing is copied for either view: the parts
are slices of the one list.

`next_offsets` is what to commit when all of them are done with. It may lie further on than one behind the last record:
markers of transactions and what compaction removed take offsets, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import overload

from tidelog.client.consumer._records import ConsumerRecord
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.types import TopicPartition


class ConsumerRecords(Sequence[ConsumerRecord]):
    """Immutable; false if it is empty."""

    __slots__ = ("_parts", "_records", "next_offsets")

    def __init__(
        self,
        records: list[ConsumerRecord],
        parts: Mapping[TopicPartition, Sequence[tuple[int, int]]] | None = None,
        next_offsets: Mapping[TopicPartition, OffsetAndMetadata] = MappingProxyType({}),
    ) -> None:
        """`parts`: where each partition's records lie in the list, as (start, stop); None finds out."""
        self._records = records
        self._parts = _parts_of(records) if parts is None else parts
        #: Where each partition goes on behind these records: what to commit when they are done with (KIP-1094).
        self.next_offsets = next_offsets

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return iter(self._records)

    @overload
    def __getitem__(self, index: int) -> ConsumerRecord: ...
    @overload
    def __getitem__(self, index: slice) -> list[ConsumerRecord]: ...
    def __getitem__(self, index: int | slice) -> ConsumerRecord | list[ConsumerRecord]:
        return self._records[index]

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Those that there are records of."""
        return frozenset(self._parts)

    def records(self, of: TopicPartition | str) -> list[ConsumerRecord]:
        """The records of one partition, or of all partitions of a topic."""
        if isinstance(of, str):
            return [record for tp in self._parts if tp.topic == of for record in self.records(tp)]
        return [record for start, stop in self._parts.get(of, ()) for record in self._records[start:stop]]

    def runs(self) -> list[tuple[int, int, TopicPartition]]:
        """(start, stop, partition) of neighbours in the list that are of one partition, in its order."""
        return sorted((start, stop, tp) for tp, spans in self._parts.items() for start, stop in spans)

    def by_partition(self) -> dict[TopicPartition, list[ConsumerRecord]]:
        return {tp: self.records(tp) for tp in self._parts}

    def __repr__(self) -> str:
        counts = ", ".join(f"{tp}: {sum(stop - start for start, stop in spans)}" for tp, spans in self._parts.items())
        return f"ConsumerRecords({counts})"


def _parts_of(records: list[ConsumerRecord]) -> dict[TopicPartition, list[tuple[int, int]]]:
    """Runs of records of the same partition: for lists that an interceptor made."""
    parts: dict[TopicPartition, list[tuple[int, int]]] = {}
    for index, record in enumerate(records):
        spans = parts.setdefault(record.topic_partition, [])
        if spans and spans[-1][1] == index:
            spans[-1] = (spans[-1][0], index + 1)
        else:
            spans.append((index, index + 1))
    return parts


EMPTY = ConsumerRecords([], {})
