"""Which of the oldest segments retention lets go.

Three rules, oldest segment first, each stopping at the first segment that it does not cover: the next segment begins
at or below the log start offset; the log is larger than `retention.bytes` even without the segment; the segment's
newest record is older than `retention.ms`. No rule reaches the high watermark: what is not replicated is not old.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.log.config import LogConfig
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.segments import Segments

if TYPE_CHECKING:
    from tidelog.log.partition.partition_log import PartitionLog

#: (segment, the one after it) -> whether the rule lets the segment go
Rule = Callable[[Segment, Segment | None], bool]


def delete_old_segments(log: PartitionLog) -> int:
    """Apply the rules; returns how many segments went."""
    config, segments = log.config, log.files.segments
    gone = _delete(log, before_log_start(log.log_start_offset))
    if config.delete:
        gone += _delete(log, beyond_size(segments, config))
        gone += _delete(log, beyond_age(config, log.home.clock.time_ms()))
    return gone


def _delete(log: PartitionLog, rule: Rule | None) -> int:
    if rule is None:
        return 0
    segments = log.files.segments
    gone = deletable(segments, rule, log.high_watermark, log.log_end_offset)
    if gone:
        if len(gone) == len(segments):
            log.writer.begin_segment(log.log_end_offset)  # there is always one segment
        _keep_names(log)
        log.writer.detach_snapshots(log.files.remove(gone))
        log.advance_log_start(segments.first.base_offset)
    return len(gone)


def _keep_names(log: PartitionLog) -> None:
    """Old segments are about to go. If a power loss kept that, and lost the name of a new one, nothing would tell
    where the log was: it would give out its offsets again."""
    if log.home.unsynced.names:
        log.home.fs.sync_dir(log.home.path)


def deletable(segments: Segments, rule: Rule, high_watermark: int, log_end_offset: int) -> list[Segment]:
    """The oldest segments that the rule covers and that lie wholly below the high watermark."""
    found: list[Segment] = []
    everything = segments.all
    for index, segment in enumerate(everything):
        following = everything[index + 1] if index + 1 < len(everything) else None
        end = following.base_offset if following is not None else log_end_offset
        empty_last = following is None and segment.size == 0
        if empty_last or high_watermark < end or not rule(segment, following):
            break
        found.append(segment)
    return found


def before_log_start(log_start_offset: int) -> Rule:
    """DeleteRecords moved the log start past the segment: nobody can read it any more. Applies to every log, compacted
    ones included, and never to the last segment."""
    return lambda segment, following: following is not None and following.base_offset <= log_start_offset


def beyond_size(segments: Segments, config: LogConfig) -> Rule | None:
    """`retention.bytes`: what is left is at least that large. With a limit of 100 and segments of 60, 30 and 30, the
    first stays: without it there would be 60."""
    if config.retention_bytes < 0 or segments.size < config.retention_bytes:
        return None
    excess = segments.size - config.retention_bytes

    def rule(segment: Segment, _: Segment | None) -> bool:
        nonlocal excess
        if excess - segment.size < 0:
            return False
        excess -= segment.size
        return True

    return rule


def beyond_age(config: LogConfig, now_ms: int) -> Rule | None:
    """`retention.ms`: counted from the segment's newest record, so that a record may outlive it by a segment's span. A
    producer that sends timestamps of next year keeps its segment for a year: see `message.timestamp.after.max.ms`."""
    if config.retention_ms < 0:
        return None
    return lambda segment, _: now_ms - segment.largest_timestamp > config.retention_ms
