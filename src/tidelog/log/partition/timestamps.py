"""Finding records by their time.

The segment is chosen by its largest timestamp, the time index gives an offset below which everything is older, the
offset index its position, and from there batches are read until one has a timestamp that is not below the target; its
records are unpacked and the first such one is the answer.

"First" is by offset, not by time: timestamps come from producers and need not rise. The answer to ListOffsets is the
first record at or above the target, and older ones may follow it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.log.append import TimestampOffset
from tidelog.log.segment.segment import Segment
from tidelog.records.format.batch import RecordBatch
from tidelog.records.kernel._batches import BatchRun


def find_by_timestamp(segment: Segment, timestamp: int, start_offset: int) -> TimestampOffset | None:
    """The first record at or behind `start_offset` whose timestamp is not below `timestamp`."""
    offset = segment.time_index.lookup(timestamp)[1]
    position = segment.offset_index.lookup(max(offset, start_offset))[1]
    for _, run in segment.batches(position, chunk=1 << 16):
        for index, header in enumerate(run.headers()):
            if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
                found = _first_record(run, index, timestamp, start_offset)
                if found is not None:
                    return found
    return None


def _first_record(run: BatchRun, index: int, timestamp: int, start_offset: int) -> TimestampOffset | None:
    batch = RecordBatch(run, index)
    try:
        for record in batch.records():
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampOffset(record.timestamp, record.offset, batch.leader_epoch)
        return None
    finally:
        batch.raw.release()


def find_max_timestamp(segments: Iterable[Segment]) -> TimestampOffset | None:
    """The record with the largest timestamp of all; the first of several."""
    newest = max(segments, key=lambda segment: segment.max_timestamp)
    timestamp = newest.max_timestamp
    if timestamp < 0:
        return None
    position = newest.offset_index.lookup(newest.offset_of_max_timestamp)[1]
    for _, run in newest.batches(position, chunk=1 << 16):
        for index, header in enumerate(run.headers()):
            if header.max_timestamp == timestamp:
                return _first_record(run, index, timestamp, 0)
    return None
