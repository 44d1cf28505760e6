"""`spark.read.format("tidelog")`: plans ranges in the driver, scans them in the tasks.

Filters that Spark pushes down (when the session allows it) only narrow the ranges: by partition, by offset, and by a
lower bound of time through the time index. Spark applies them to the rows all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from tidelog.spark.boundaries import Topics, batch_ranges
from tidelog.spark.offsets import OffsetRange, split_ranges
from tidelog.spark.options import SEGMENTS, SourceOptions
from tidelog.spark.pushdown import Narrowing
from tidelog.spark.worker import prepare_worker

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

#: A range of fewer offsets is never split without being asked to: a task costs as much as reading this many.
_WORTH_SPLITTING = 500_000


class RangePartition(InputPartition):
    """One task of wire mode.

    `value`, which Spark wants every partition to have, is the range as a tuple; an empty scan gets a partition whose
    value is None.
    """

    def __init__(self, part: OffsetRange, topic_id: bytes | None) -> None:
        super().__init__(tuple(part))
        self.range = part
        self.topic_id = topic_id


def plan_tasks(options: SourceOptions, ranges: list[OffsetRange], topics: Topics | None = None) -> list[RangePartition]:
    """As the options say; without them, a partition is read by several tasks when it is large and cores are idle.

    Only the topics that are asked about now are read: others of their names are not.
    """
    ids = {} if topics is None else topics.ids({part.topic for part in ranges})
    wanted = options.min_partitions
    if wanted is None and sum(part.size for part in ranges) >= _WORTH_SPLITTING:
        wanted = os.cpu_count()
    return [
        RangePartition(part, ids.get(part.topic))
        for part in split_ranges(ranges, min_partitions=wanted, max_records=options.max_records)
    ]


class BatchReader(DataSourceReader):
    """Reads ranges of offsets, in wire or segments mode."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._narrowing = Narrowing()

    def partitions(self) -> list[InputPartition]:
        """The tasks. All offsets are fixed here: what is appended while they run is not read, so that two scans of one
        DataFrame differ only if it is planned twice.
        """
        options = self._options
        if options.mode == SEGMENTS:
            from tidelog.spark.segment_scan import plan_segments
            from tidelog.spark.segment_topics import SegmentTopics

            topics = SegmentTopics(options.paths, read_committed=options.read_committed)
            return list(plan_segments(options, topics, self._narrowed(topics)))
        from tidelog.client.blocking import BlockingClient
        from tidelog.spark.wire_topics import WireTopics

        with BlockingClient(options.kafka) as client:
            wire = WireTopics(client, read_committed=options.read_committed)
            return list(plan_tasks(options, self._narrowed(wire), wire))

    def _narrowed(self, topics: Topics) -> list[OffsetRange]:
        return self._narrowing.apply(batch_ranges(self._options, topics), topics)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_task(self._options, partition, self._columns)


class FilteringBatchReader(BatchReader):
    """The form for sessions that push filters down."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Takes note of the filters and gives all of them back: Spark is to apply them to the rows, too."""
        self._narrowing = Narrowing.of(filters)
        return filters


def read_task(options: SourceOptions, partition: InputPartition, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """What one task yields. When there are no partitions, Spark runs one task on a partition of nothing."""
    if partition.value is None:
        return iter(())
    prepare_worker()
    if isinstance(partition, RangePartition):
        from tidelog.spark.wire_scan import scan

        return scan(options, partition.range, columns, topic_id=partition.topic_id)
    from tidelog.spark.segment_scan import SegmentPartition, scan_segments

    assert isinstance(partition, SegmentPartition)
    return scan_segments(options, partition, columns)
