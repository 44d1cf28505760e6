"""What is dirty, what of it may be cleaned, and which segments become one.

    |---- clean ----|---- cleanable ----|-- too young or not yet stable --|-- active segment --|
    log start       first dirty         first uncleanable

First dirty is where the last pass ended (the checkpoint). Nothing is cleaned beyond the last stable offset (the fate
of an open transaction is not known), in the active segment, or within `min.compaction.lag.ms`. A log is worth a pass
when the cleanable part is more than `min.cleanable.dirty.ratio` of what is clean or cleanable, or when a record in it
has waited longer than `max.compaction.lag.ms`.

Example: 600 MB clean, 500 MB cleanable, 200 MB young or active. The ratio is 500 / 1100 = 0.45: below the default of
0.5 nothing happens yet. The ratio bounds the work: a pass copies everything up to its end, so a log is copied about
once for every doubling.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT32, MAX_INT64
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.segment.segment import Segment

logger = logging.getLogger(__name__)


class CleanableRange(NamedTuple):
    """Offsets [first dirty, first uncleanable) are what a pass may put into its map."""

    first_dirty: int
    first_uncleanable: int
    #: The checkpoint was out of the log's range: write it anew.
    reset: bool


class LogToClean(NamedTuple):
    """A log and how dirty it is."""

    log: PartitionLog
    first_dirty: int
    first_uncleanable: int
    #: A record has waited longer than max.compaction.lag.ms.
    overdue: bool
    clean_bytes: int
    cleanable_bytes: int

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def worthwhile(self) -> bool:
        """Whether a pass is due: by how much there is to clean, or by how long it has waited (KIP-354)."""
        if self.overdue and self.cleanable_bytes > 0:
            return True
        return self.ratio > self.log.config.min_cleanable_dirty_ratio


def segments_between(segments: Sequence[Segment], start: int, end: int) -> list[Segment]:
    """The segments that may hold offsets of [start, end): from the last one based at or below `start`."""
    if start >= end:
        return []
    floor = 0
    for index, segment in enumerate(segments):
        if segment.base_offset <= start:
            floor = index
    return [segment for segment in segments[floor:] if segment.base_offset < end]


def measure(log: PartitionLog, last_clean: int | None, now_ms: int) -> tuple[LogToClean, bool]:
    """How dirty a log is, and whether its checkpoint must be reset."""
    found = cleanable_range(log, last_clean, now_ms)
    uncleanable = segments_between(log.segments, found.first_uncleanable, log.active_segment.base_offset)
    first_uncleanable = (uncleanable[0] if uncleanable else log.active_segment).base_offset
    start = min(found.first_dirty, first_uncleanable)
    result = LogToClean(
        log,
        found.first_dirty,
        first_uncleanable,
        compaction_delay_ms(log, found.first_dirty, now_ms) > 0,
        sum(segment.size for segment in segments_between(log.segments, -1, found.first_dirty)),
        sum(segment.size for segment in segments_between(log.segments, start, first_uncleanable)),
    )
    return result, found.reset


def cleanable_range(log: PartitionLog, last_clean: int | None, now_ms: int) -> CleanableRange:
    """What may be cleaned. A checkpoint outside the log (the log was cut, or retention passed it) is begun anew at the
    log's start: what is clean already is then read once more, which does no harm."""
    start = log.log_start_offset
    first_dirty = start if last_clean is None else last_clean
    reset = not start <= first_dirty <= log.log_end_offset
    if reset:
        if not log.config.delete:  # retention moves the log's start past the checkpoint all the time
            logger.warning("%s: the cleaner's checkpoint %d is outside the log; starting over", log.dir, first_dirty)
        first_dirty = start
    bounds = [log.last_stable_offset, log.active_segment.base_offset]
    lag = max(log.config.min_compaction_lag_ms, 0)
    if lag > 0:
        closed = segments_between(log.segments, first_dirty, log.active_segment.base_offset)
        young = (segment.base_offset for segment in closed if segment.largest_timestamp > now_ms - lag)
        bounds.append(next(young, MAX_INT64))
    return CleanableRange(first_dirty, max(first_dirty, min(bounds)), reset)


def compaction_delay_ms(log: PartitionLog, first_dirty: int, now_ms: int) -> int:
    """By how much the oldest dirty record has outlived max.compaction.lag.ms; 0 when none has."""
    latest = now_ms - max(log.config.max_compaction_lag_ms, 0)
    if latest <= 0:  # the lag reaches back before the epoch: no need to open a file
        return 0
    closed = segments_between(log.segments, first_dirty, log.active_segment.base_offset)
    times = (segment.first_batch_timestamp() or 0 for segment in closed)
    earliest = min((time for time in times if time > 0), default=MAX_INT64)
    return max(0, latest - earliest)


class SegmentSizes(NamedTuple):
    """A segment, and what counts when segments are put together."""

    segment: Segment
    size: int
    index_size: int
    time_index_size: int


def group_segments(
    segments: Sequence[SegmentSizes], max_size: int, max_index_size: int, first_uncleanable: int
) -> list[list[Segment]]:
    """Neighbours whose data and indexes fit into one segment, and whose offsets into 31 bits, go together.

    By the sizes from before: what compaction leaves may be much smaller, and then the next pass puts more together. So
    the small segments that compaction leaves do not stay small for ever.
    """
    groups: list[list[Segment]] = []
    sizes = (0, 0, 0)
    limits = (max_size, max_index_size, max_index_size)
    for number, (segment, *own) in enumerate(segments):
        # The last offset is not known without a scan: the next segment's base bounds it.
        following = segments[number + 1].segment.base_offset if number + 1 < len(segments) else first_uncleanable
        total = tuple(have + more for have, more in zip(sizes, own, strict=True))
        joins = (
            bool(groups)
            and all(size <= limit for size, limit in zip(total, limits, strict=True))
            and (segment.size == 0 or following - 1 - groups[-1][0].base_offset <= MAX_INT32)
        )
        if joins:
            groups[-1].append(segment)
            sizes = (total[0], total[1], total[2])
        else:
            groups.append([segment])
            sizes = (own[0], own[1], own[2])
    return groups
