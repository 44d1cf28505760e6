"""Filters that narrow what is read (pure but for the time index, which `Topics` asks).

Used are comparisons of topic, partition, offset and timestamp with constants. A lower bound of time is exact: every
record before the first one at or after it is earlier. One before 1970 bounds nothing, for no record is older (and
ListOffsets takes negative times for codes of its own). An upper bound of time is of no use, for later records may carry
earlier times.

Spark evaluates all filters again on the rows, whatever is said here. So a bound may be too wide, never too narrow: each
rule must be sure of what it leaves out. Filters on anything else (a part of the value, two columns compared) are passed
over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tidelog.common.types import TopicPartition
from tidelog.spark.boundaries import Topics
from tidelog.spark.offsets import LATEST, OffsetRange

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter


@dataclass(frozen=True)
class Narrowing:
    """Bounds on what can match. `offset_end` is exclusive.

    None: that column bounds nothing. An empty set of topics matches nothing, and no task is planned.
    """

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    offset_start: int | None = None
    offset_end: int | None = None
    timestamp_ms: int | None = None

    @staticmethod
    def of(filters: Iterable[Filter]) -> Narrowing:
        """The bounds that the filters put together. Several on one column narrow it further: `offset >= 10` and `offset
        > 20` start at 21; topics of two `in` lists are those in both.
        """
        from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

        topics: set[str] | None = None
        partitions: set[int] | None = None
        start, end, timestamp = None, None, None
        for one in filters:
            path: tuple[str, ...] = getattr(one, "attribute", ())
            if len(path) != 1:
                continue
            (column,) = path
            if isinstance(one, (EqualTo, In)):
                values = set(one.value) if isinstance(one, In) else {one.value}
                if column == "topic":
                    topics = values if topics is None else topics & values
                elif column == "partition":
                    partitions = values if partitions is None else partitions & values
                elif column == "offset" and isinstance(one, EqualTo):
                    start, end = _later(start, one.value), _earlier(end, one.value + 1)
            elif isinstance(one, (GreaterThan, GreaterThanOrEqual)):
                if column == "offset":
                    start = _later(start, one.value + isinstance(one, GreaterThan))
                elif column == "timestamp":
                    timestamp = _later(timestamp, _milliseconds(one.value))
            elif isinstance(one, (LessThan, LessThanOrEqual)) and column == "offset":
                end = _earlier(end, one.value + isinstance(one, LessThanOrEqual))
        return Narrowing(
            None if topics is None else frozenset(topics),
            None if partitions is None else frozenset(partitions),
            start,
            end,
            timestamp,
        )

    def apply(self, ranges: list[OffsetRange], topics: Topics) -> list[OffsetRange]:
        """The ranges, narrowed; empty ones are dropped, so that no task is started for them. The time index is asked
        last, about what is left.
        """
        kept = [
            part
            for part in ranges
            if (self.topics is None or part.topic in self.topics)
            and (self.partitions is None or part.partition in self.partitions)
        ]
        if self.offset_start is not None:
            kept = [part._replace(start=max(part.start, self.offset_start)) for part in kept]
        if self.offset_end is not None:
            kept = [part._replace(end=min(part.end, self.offset_end)) for part in kept]
        kept = [part for part in kept if part.size > 0]
        if self.timestamp_ms is None or self.timestamp_ms < 0:
            return kept
        firsts = topics.at_timestamp({TopicPartition(p.topic, p.partition): self.timestamp_ms for p in kept})
        narrowed = []
        for part in kept:
            first = firsts[TopicPartition(part.topic, part.partition)]
            narrowed.append(part._replace(start=part.end if first == LATEST else max(part.start, first)))
        return [part for part in narrowed if part.size > 0]


def _later(one: int | None, other: int) -> int:
    return other if one is None else max(one, other)


def _earlier(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _milliseconds(value: datetime) -> int:
    """Rounded down: a filter to the microsecond must not lose a record of the same millisecond."""
    return math.floor(value.timestamp() * 1000)
