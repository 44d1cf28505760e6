"""Topics as log directories hold them (segments mode), of Tidelog or of Apache Kafka, in use or not.

Where a partition ends is its high watermark, as the broker last wrote it down (`replication-offset-checkpoint`, every
few seconds and when it stops): what lies behind may not be committed and is not read. For `read_committed` it is the
first record of a transaction that is still open there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.fs import LOCAL_FS
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.log.names import SNAPSHOT, file_name
from tidelog.log.producers import snapshot as producer_snapshot
from tidelog.log.reading.reader import LogDirectory, PartitionReader
from tidelog.log.reading.segment_reader import SegmentReader
from tidelog.records.arrow import batches_to_arrow
from tidelog.spark.offsets import LATEST, Offsets

#: How often in a row segments may be replaced while we look through them.
_LOOKUPS = 20


class SegmentTopics:
    """`boundaries.Topics` over log directories."""

    def __init__(self, paths: Iterable[str], *, read_committed: bool) -> None:
        self._read_committed = read_committed
        self._readers: dict[TopicPartition, PartitionReader] = {}
        self._high_watermarks: Offsets = {}
        for path in paths:
            directory = LogDirectory(path)
            self._readers.update({reader.topic_partition: reader for reader in directory.partitions()})
            self._high_watermarks.update(directory.high_watermarks)

    def directory(self, tp: TopicPartition) -> Path:
        return self._reader(tp).path

    def names(self) -> list[str]:
        return sorted({tp.topic for tp in self._readers} - INTERNAL_TOPICS)

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        found = []
        for name in topics:
            mine = [tp for tp in self._readers if tp.topic == name]
            if not mine:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} is not in the log directories")
            found += mine
        return found

    def ids(self, topics: Iterable[str]) -> dict[str, bytes]:
        """From `partition.metadata`, which each partition's directory has since Kafka 2.8; before, there are no ids."""
        wanted = set(topics)
        found = {tp.topic: reader.topic_id for tp, reader in self._readers.items() if tp.topic in wanted}
        return {name: topic_id for name, topic_id in found.items() if topic_id is not None}

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        return {tp: self._steadily(tp, lambda reader: reader.log_start_offset) for tp in partitions}

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        return {tp: self._steadily(tp, self._end) for tp in partitions}

    def at_timestamp(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        return {tp: self._steadily(tp, partial(self._look_for_time, timestamp)) for tp, timestamp in wanted.items()}

    def _reader(self, tp: TopicPartition) -> PartitionReader:
        reader = self._readers.get(tp)
        if reader is None:
            raise UsageError(f"partition {tp} is not in the log directories")
        return reader

    def _steadily(self, tp: TopicPartition, look: Callable[[PartitionReader], int]) -> int:
        """What is found, though files are replaced meanwhile; a partition that is deleted is one that is missing."""
        reader = self._reader(tp)
        for _ in range(_LOOKUPS):
            try:
                return look(reader)
            except FileNotFoundError as error:
                if not LOCAL_FS.exists(reader.path):
                    text = f"partition {tp} has gone from the log directories"
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text) from error
        return look(reader)

    def _end(self, reader: PartitionReader) -> int:
        """Where reading ends: the log's end, but not behind the high watermark that was last written down. A directory
        without that file (copied, or of a broker that was killed early) is read to its end.
        """
        end = reader.end_offset
        end = min(end, self._high_watermarks.get(reader.topic_partition, end))
        return self._first_open(reader, end) if self._read_committed else end

    def _first_open(self, reader: PartitionReader, end: int) -> int:
        """The first offset before `end` of a transaction without a marker there; `end` if there is none."""
        snapshots = [offset for offset in reader.snapshots if offset <= end]
        start = snapshots[-1] if snapshots else reader.log_start_offset
        opened: dict[int, int] = {}
        if snapshots:
            path = reader.path / file_name(start, SNAPSHOT)
            for entry in producer_snapshot.decode(LOCAL_FS.read_bytes(path), str(path)):
                if entry.txn_first_offset >= 0:
                    opened[entry.producer_id] = entry.txn_first_offset
        for batch in reader.batches(start_offset=start, end_offset=end):
            if batch.is_control:
                opened.pop(batch.producer_id, None)
            elif batch.is_transactional:
                opened.setdefault(batch.producer_id, batch.base_offset)
        return min(opened.values(), default=end)

    def _look_for_time(self, timestamp: int, reader: PartitionReader) -> int:
        """The first offset at or after a time. A segment whose newest time-index entry is older holds nothing of
        interest and is passed over; the last one may hold records that its index does not know yet.
        """
        end = self._end(reader)
        segments = reader.segments
        for segment in segments:
            newest = segment.time_index[-1:]
            if segment is segments[-1] or not newest or newest[0].timestamp >= timestamp:
                found = _first_at(segment, timestamp)
                if found is not None:
                    return found if found < end else LATEST
        return LATEST


def _first_at(segment: SegmentReader, timestamp: int) -> int | None:
    """The first offset of the segment whose record is not older."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for _, run in segment.runs(segment.offset_before_time(timestamp)):
        if all(header.max_timestamp < timestamp for header in run.headers()):
            continue
        rows = batches_to_arrow(run.buffers(), columns=("offset", "timestamp"), skip_control=True)
        late = pc.greater_equal(rows.column("timestamp").cast(pa.int64()), timestamp)
        offsets = rows.column("offset").filter(late)
        if len(offsets):
            return int(offsets[0].as_py())
    return None
