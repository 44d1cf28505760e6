"""Segments mode: tasks that read log files straight from disk, some hundred MB each.

A task is a list of offset ranges, cut at batches that the offset index knows. The files are looked up when the task
runs, and again at each segment's end: compaction or retention may have replaced or removed those that the planner saw,
and a topic of the same name may have taken the place of the old one (which its id tells). Nothing is mapped into memory
(a file that is truncated meanwhile would kill the process), and nothing is locked.

Why offsets and not positions travel to the tasks: a position is only right for the file that was looked at, and the
cleaner replaces files. An offset is right as long as the partition lives. The index makes one from the other in
microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.datasource import InputPartition

from tidelog.common.types import TopicPartition
from tidelog.log.reading.reader import PartitionReader
from tidelog.log.reading.segment_reader import SegmentReader
from tidelog.log.reading.segment_walk import SegmentWalk
from tidelog.spark.boundaries import DataLossError
from tidelog.spark.offsets import OffsetRange
from tidelog.spark.options import SourceOptions
from tidelog.spark.schema import RowAssembler
from tidelog.spark.segment_index import OffsetIndexView
from tidelog.spark.segment_topics import SegmentTopics

if TYPE_CHECKING:
    import pyarrow as pa

#: A task reads no more than this, so that work can be spread and repeated; and without need no less than that, for a
#: task costs 10 ms by itself.
TASK_BYTES = 256 << 20
_SMALL_TASK_BYTES = 32 << 20
#: What is handed to Spark as one Arrow batch. Each costs some 0.3 ms by itself.
_CHUNK = 8 << 20


class SegmentRange(NamedTuple):
    """A range of one partition, where it lies, about how many bytes it has, and whose it is."""

    directory: str
    range: OffsetRange
    size: int
    topic_id: bytes | None


class SegmentPartition(InputPartition):
    """One task: ranges that together make up about TASK_BYTES."""

    def __init__(self, ranges: list[SegmentRange]) -> None:
        super().__init__(tuple(ranges))
        self.ranges = ranges


# --- planning ---------------------------------------------------------------------------------------------------------


def plan_segments(
    options: SourceOptions, topics: SegmentTopics, ranges: list[OffsetRange]
) -> Iterator[SegmentPartition]:
    """Cut the ranges at segments and at index entries, and pack the pieces into tasks."""
    whole = [part for part in ranges if part.size > 0]
    directories = {part: str(topics.directory(TopicPartition(part.topic, part.partition))) for part in whole}
    total = sum(_bytes_of(PartitionReader(directories[part]), part) for part in whole)
    wanted = options.min_partitions or min(os.cpu_count() or 1, total // _SMALL_TASK_BYTES)
    share = max(-(-total // max(wanted, 1)), 1)
    task_bytes = -(-share // -(-share // TASK_BYTES))  # equal parts of a share, so that nobody waits for the last task
    pieces = [piece for part in whole for piece in _cut(directories[part], part, task_bytes)]
    pending: list[SegmentRange] = []
    for piece in pieces:
        if pending and sum(other.size for other in pending) + piece.size > task_bytes:
            yield SegmentPartition(pending)
            pending = []
        pending.append(piece)
    if pending:
        yield SegmentPartition(pending)


def _segments_of(reader: PartitionReader, part: OffsetRange) -> Iterator[tuple[SegmentReader, OffsetRange]]:
    """(segment, the part of the range that it holds)."""
    segments = reader.segments
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else part.end
        inside = part._replace(start=max(part.start, segment.base_offset), end=min(part.end, following))
        if number == 0:
            inside = inside._replace(start=part.start)  # what is gone shows when it is read
        if inside.size > 0:
            yield segment, inside


def _bytes_of(reader: PartitionReader, part: OffsetRange) -> int:
    return sum(_span(segment, inside) for segment, inside in _segments_of(reader, part))


def _span(segment: SegmentReader, inside: OffsetRange) -> int:
    """Bytes of the file from the batch that holds the start to the one behind the end, as far as the index tells."""
    index = _index_of(segment)
    end = index.offset_after(index.position_of(inside.end))
    stop = _size_of(segment) if end is None else index.position_of(end)
    return max(stop - index.position_of(inside.start), 1)


def _size_of(segment: SegmentReader) -> int:
    try:
        return segment.size
    except FileNotFoundError:  # replaced meanwhile: its records are found when they are read
        return 0


def _index_of(segment: SegmentReader) -> OffsetIndexView:
    return OffsetIndexView(segment.offset_index_data, segment.base_offset)


def _cut(directory: str, part: OffsetRange, task_bytes: int) -> Iterator[SegmentRange]:
    """Pieces of about `task_bytes`, which begin where an index entry does. The last may be half as large again: a piece
    of a few bytes would be a task of its own.
    """
    reader = PartitionReader(directory)
    topic_id = reader.topic_id
    held = list(_segments_of(reader, part))
    if not held:  # that nothing is there shows when it is read
        yield SegmentRange(directory, part, 1, topic_id)
    for segment, inside in held:
        index = _index_of(segment)
        start, position, last = inside.start, index.position_of(inside.start), index.position_of(inside.end)
        while last - position > task_bytes * 3 // 2:
            following = index.offset_after(position + task_bytes)
            if following is None or not start < following < inside.end:
                break
            yield SegmentRange(directory, inside._replace(start=start, end=following), task_bytes, topic_id)
            start, position = following, index.position_of(following)
        rest = inside._replace(start=start)
        yield SegmentRange(directory, rest, _span(segment, rest), topic_id)


# --- reading ----------------------------------------------------------------------------------------------------------


def scan_segments(
    options: SourceOptions, partition: SegmentPartition, columns: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """The records of the task's ranges.

    Several ranges are one task where partitions are small: each is read to its end before the next begins.
    """
    for piece in partition.ranges:
        rows = RowAssembler(piece.range.topic, piece.range.partition, columns)
        try:
            for batch in _batches(options, piece, rows.decoded):
                if batch.num_rows:
                    yield rows.assemble(batch)
        except FileNotFoundError as error:
            _lost(options, f"{piece.directory} has gone while it was read.", error)


def _batches(options: SourceOptions, piece: SegmentRange, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """What the kernel decodes of a range."""
    from tidelog.log.reading.segment_arrow import ArrowSegmentReader

    reader, part = PartitionReader(piece.directory), piece.range
    name = f"{part.topic}-{part.partition}"
    present = reader.topic_id
    if None not in (present, piece.topic_id) and present != piece.topic_id:
        _lost(options, f"{name} was deleted and made anew since the query was planned.")
        return
    aborted = reader.aborted_transactions(part.start, part.end) if options.read_committed else []

    def read(segment: SegmentReader, offset: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        columns_of = ArrowSegmentReader(segment, columns, last_offset=part.end - 1, aborted=aborted, size=_CHUNK)
        return columns_of.batches(_index_of(segment).position_of(offset), offset)

    def skipped(offset: int, start: int) -> None:
        _lost(options, f"Offset {offset} of {name} is gone: the log starts at {start}.")

    walk = SegmentWalk(lambda: reader.segments, read, start=part.start, end=part.end, skipped=skipped)
    yield from walk
    if walk.position < part.end and (end := reader.end_offset) < part.end:
        _lost(options, f"{name} ends at offset {end}, not at {part.end}.")


def _lost(options: SourceOptions, what: str, cause: Exception | None = None) -> None:
    if options.fail_on_data_loss:
        raise DataLossError(what) from cause
