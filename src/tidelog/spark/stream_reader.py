"""`spark.readStream.format("tidelog")`: offsets in the checkpoint, limits per trigger, restarts where it stopped.

One instance lives in the query's planner process for as long as the query runs, and keeps its connections; the tasks
work on pickled copies that only read. Spark calls, in this order and again for each trigger:

    latestOffset(start, limit) → (offset log) → commit(end of the batch before) → partitions(start, end) → read(task)...

`initialOffset` is not kept in the checkpoint before the first batch is planned. A query that starts at the latest
offsets therefore starts at the mark -1, and its first, empty batch pins the real offsets durably.

What Spark guarantees is that a batch, once it is in the offset log, is run with the same two offsets until it has
succeeded. Everything that depends on when it is asked (the ends, the limits, new partitions) is therefore decided in
`latestOffset` alone; `partitions` only turns two offsets into tasks, and says what of the range is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from tidelog.client.blocking import BlockingClient
from tidelog.client.offsets import commit_group_offsets
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.spark.batch_reader import plan_tasks, read_task
from tidelog.spark.boundaries import Topics, assigned, latest_offsets, starting_offsets, stream_ranges
from tidelog.spark.offsets import (
    EARLIEST,
    LATEST,
    Offsets,
    OffsetsJson,
    TriggerDelay,
    from_json,
    rate_limit,
    to_json,
)
from tidelog.spark.options import SEGMENTS, SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Micro-batches of offset ranges."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._initial: Offsets | None = None
        self._ceiling: Offsets | None = None
        self._newest: Offsets | None = None
        self._delay: TriggerDelay | None = None
        self._ids: dict[str, bytes] = {}
        self._client: BlockingClient | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A task's copy has no connection: an event loop cannot be pickled, and the task opens its own."""
        return {**self.__dict__, "_client": None}

    # --- offsets ------------------------------------------------------------------------------------------------------

    def initialOffset(self) -> OffsetsJson:
        """Where a new query begins; not asked when there is a checkpoint."""
        if self._initial is None:
            topics = self._topics()
            self._initial = starting_offsets(self._options, topics, assigned(self._options, topics))
        return to_json(self._initial)

    def getDefaultReadLimit(self) -> ReadLimit:
        """What `latestOffset` gets as its limit, unless the trigger says otherwise."""
        if self._options.max_offsets is not None:
            return ReadMaxRows(self._options.max_offsets)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """The trigger that reads what is there and ends: "there" is now, for the whole run, however many batches it
        takes. Partitions that come later are left for the next run.
        """
        self._ceiling = latest_offsets(self._options, self._topics)

    def latestOffset(self, start: OffsetsJson, limit: ReadLimit) -> OffsetsJson:
        """The end of the next batch: what there is, not beyond the ceiling, shared out by the limit. The start itself
        means that there is nothing to do yet.
        """
        begin = from_json(start)
        end = self._newest = latest_offsets(self._options, self._topics)
        if self._ceiling is not None:
            end = {tp: min(offset, self._ceiling[tp]) for tp, offset in end.items() if tp in self._ceiling}
        begin = self._resolved(begin, end)
        if self._held_back(begin, end, limit):
            return start
        if isinstance(limit, ReadMaxRows):
            end = rate_limit(limit.max_rows, begin, end)
        return to_json(end)

    def _resolved(self, begin: Offsets, end: Offsets) -> Offsets:
        """The start with its marks and its new partitions as offsets."""
        new = [tp for tp in end if begin.get(tp, EARLIEST) == EARLIEST]
        early = self._topics().earliest(new) if new else {}
        late = {tp: end[tp] for tp, offset in begin.items() if offset == LATEST and tp in end}
        return {**begin, **early, **late}

    def _held_back(self, begin: Offsets, end: Offsets, limit: ReadLimit) -> bool:
        """Whether to wait for more rows; never with a ceiling, for nothing is waited for then."""
        if self._options.min_offsets is None or self._ceiling is not None:
            return False
        now = SYSTEM_CLOCK.time_ms()
        if self._delay is None:
            self._delay = TriggerDelay(self._options.min_offsets, self._options.max_trigger_delay_ms)
        return self._delay.holds_back(begin, end, now)

    def reportLatestOffset(self) -> OffsetsJson | None:
        """For Spark's progress report: how far behind the query is."""
        return None if self._newest is None else to_json(self._newest)

    def commit(self, end: OffsetsJson) -> None:
        """The batch up to `end` is done: publish that as a consumer group's position, if asked to."""
        if self._options.publish_offsets:
            assert self._options.group_id is not None
            done = {tp: offset for tp, offset in from_json(end).items() if offset >= 0}
            client = self._connected()
            client.run(commit_group_offsets(client.cluster, self._options.group_id, done, missing_ok=True))

    def stop(self) -> None:
        """The query has ended: close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    # --- tasks --------------------------------------------------------------------------------------------------------

    def partitions(self, start: OffsetsJson, end: OffsetsJson) -> list[InputPartition]:
        """The tasks of a batch that is in the offset log."""
        topics = self._topics()
        ranges = stream_ranges(self._options, topics, from_json(start), from_json(end), self._made_anew(topics, end))
        if self._options.mode == SEGMENTS:
            from tidelog.spark.segment_scan import plan_segments
            from tidelog.spark.segment_topics import SegmentTopics

            assert isinstance(topics, SegmentTopics)
            return list(plan_segments(self._options, topics, ranges))
        return list(plan_tasks(self._options, ranges, topics))

    def _made_anew(self, topics: Topics, end: OffsetsJson) -> frozenset[str]:
        """The topics that are not those of the trigger before. (The checkpoint holds no ids: over a restart it shows
        only when a topic is shorter than it was.)"""
        ids = topics.ids(end)
        anew = frozenset(name for name, topic_id in ids.items() if self._ids.get(name, topic_id) != topic_id)
        self._ids.update(ids)
        return anew

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_task(self._options, partition, self._columns)

    # --- connections --------------------------------------------------------------------------------------------------

    def _connected(self) -> BlockingClient:
        if self._client is None:
            self._client = BlockingClient(self._options.kafka)
        return self._client

    def _topics(self) -> Topics:
        """Topics as they are at this moment; in segments mode the directories are listed anew."""
        options = self._options
        if options.mode == SEGMENTS:
            from tidelog.spark.segment_topics import SegmentTopics

            return SegmentTopics(options.paths, read_committed=options.read_committed)
        from tidelog.spark.wire_topics import WireTopics

        return WireTopics(self._connected(), read_committed=options.read_committed)
