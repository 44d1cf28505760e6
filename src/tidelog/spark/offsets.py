"""Offsets as Spark's Kafka source writes them, and the arithmetic of a trigger (pure).

The JSON form is `{"topic": {"0": 23, "1": -2}}`, where -2 is the earliest offset and -1 the latest. A stream's
checkpoint holds exactly this text, so that it stays readable by whoever knows Spark's Kafka source.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT64, TopicPartition

LATEST = -1
EARLIEST = -2

Offsets = dict[TopicPartition, int]
OffsetsJson = dict[str, dict[str, int]]


class OffsetRange(NamedTuple):
    """Offsets [start, end) of one partition.

    `end` is where the next range begins, as everywhere in Kafka: a position is the offset of the next record to come.
    """

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def to_json(offsets: Mapping[TopicPartition, int]) -> OffsetsJson:
    """The checkpoint's form, in a fixed order."""
    out: OffsetsJson = {}
    for tp in sorted(offsets):
        out.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    return out


def from_json(value: Mapping[str, Mapping[str, int]]) -> Offsets:
    """The offsets of a checkpoint; partitions are text there, as JSON has no other keys."""
    return {
        TopicPartition(topic, int(number)): int(offset)
        for topic, partitions in value.items()
        for number, offset in partitions.items()
    }


def parse_offsets(option: str, text: str) -> Offsets:
    """An option's JSON of offsets or timestamps per partition."""
    parsed = _parse(option, text, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}')
    try:
        return from_json(parsed)
    except (AttributeError, TypeError, ValueError) as error:
        raise _malformed(option, text, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}') from error


def parse_assignment(text: str) -> list[TopicPartition]:
    """The `assign` option's JSON of partitions."""
    parsed = _parse("assign", text, '{"topicA":[0,1],"topicB":[2,4]}')
    try:
        return [TopicPartition(topic, int(number)) for topic, numbers in parsed.items() for number in numbers]
    except (TypeError, ValueError) as error:
        raise _malformed("assign", text, '{"topicA":[0,1],"topicB":[2,4]}') from error


def _parse(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise _malformed(option, text, example) from error
    if not isinstance(parsed, dict):
        raise _malformed(option, text, example)
    return parsed


def _malformed(option: str, text: str, example: str) -> UsageError:
    return UsageError(f"Expected e.g. {example} in option {option}, got {text}")


# --- limits of a trigger ----------------------------------------------------------------------------------------------


def rate_limit(limit: int, start: Offsets, end: Offsets) -> Offsets:
    """At most about `limit` offsets, shared out in proportion to the backlogs; a small one is not starved.

    `maxOffsetsPerTrigger=1000` with backlogs of 9,000 and 1,000 takes 900 and 100. A share of less than one offset is
    rounded up, all others down: a partition with one waiting record beside one with a million still moves. Offsets are
    not records where compaction has been: a trigger may bring fewer.
    """
    sizes = {tp: end[tp] - start[tp] for tp in end if tp in start and end[tp] > start[tp]}
    total = sum(sizes.values())
    if total < 1:
        return dict(end)
    limited = dict(end)
    for tp, size in sizes.items():
        share = limit * (size / total)
        rows = math.ceil(share) if share < 1 else math.floor(share)
        limited[tp] = min(end[tp], min(start[tp] + rows, MAX_INT64))
    return limited


class TriggerDelay:
    """minOffsetsPerTrigger with maxTriggerDelay: wait for enough, but not for ever, and not at the start of a query."""

    def __init__(self, min_offsets: int, max_delay_ms: int) -> None:
        self._min_offsets = min_offsets
        self._max_delay_ms = max_delay_ms
        self._last_ms: int | None = None

    def holds_back(self, start: Offsets, end: Offsets, now_ms: int) -> bool:
        """Whether this trigger should take nothing yet.

        Fewer than `minOffsetsPerTrigger` wait, and the last batch is younger than `maxTriggerDelay`. The first trigger
        of a run is never held back: nobody knows how long the query was away.
        """
        waiting = sum(max(end[tp] - start.get(tp, 0), 0) for tp in end)
        due = self._last_ms is None or now_ms - self._last_ms >= self._max_delay_ms
        if not due and waiting < self._min_offsets:
            return True
        self._last_ms = now_ms
        return False


# --- tasks ------------------------------------------------------------------------------------------------------------


def split_ranges(
    ranges: Iterable[OffsetRange], *, min_partitions: int | None = None, max_records: int | None = None
) -> list[OffsetRange]:
    """One range per task: cut to `max_records`, then so that there are about `min_partitions`, the large ones first."""
    whole = [part for part in ranges if part.size > 0]
    if max_records is not None:
        whole = [piece for part in whole for piece in _cut(part, -(-part.size // max_records))]
    if min_partitions is None or len(whole) >= min_partitions or not whole:
        return whole
    total = sum(part.size for part in whole)
    small = {part for part in whole if _share(part.size, total, min_partitions) == 1}
    large_total = total - sum(part.size for part in small)
    large_parts = max(min_partitions - len(small), 1)
    pieces = []
    for part in whole:
        count = 1 if part in small else _share(part.size, large_total, large_parts)
        pieces += _cut(part, count)
    return pieces


def _share(size: int, total: int, parts: int) -> int:
    """How many of `parts` a range of this size deserves, rounded to the nearest, at least one."""
    return max(math.floor(size / total * parts + 0.5), 1)


def _cut(part: OffsetRange, count: int) -> list[OffsetRange]:
    """Into equal pieces; what does not divide evenly is spread over the last ones, and empty pieces are left out."""
    pieces = []
    start = part.start
    for index in range(count):
        end = start + (part.end - start) // (count - index)
        if end > start:
            pieces.append(part._replace(start=start, end=end))
        start = end
    return pieces
