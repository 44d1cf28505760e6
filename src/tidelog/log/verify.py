"""Checks a partition's files against each other and reports everything that is wrong.

The `.log` files are the truth; each batch must stand for itself (checksum, structure, record count, offsets) and follow
the one before it. Everything else is derived and must agree with them: index entries point to the start of a batch
that holds their offset, time index entries name the largest timestamp so far, aborted transactions end with a marker,
snapshots and epochs stay within the log. Wrong data is an error; a wrong derived file is an error too, but one that
`tidelog log reindex` repairs. A torn tail of the last segment is only a warning: a start cuts it off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tidelog.common.errors import CorruptRecordError, KafkaError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.types import MAX_INT32
from tidelog.log import checkpoint, meta_properties, names, producer_snapshot
from tidelog.log.names import INDEX, SNAPSHOT, TIME_INDEX, TXN_INDEX, file_name
from tidelog.log.reader import PartitionReader
from tidelog.log.segment_reader import SegmentReader
from tidelog.records._batches import BatchRun
from tidelog.records.attributes import BatchHeader

ERROR, WARNING = "error", "warning"


class Finding(NamedTuple):
    """Something that is not as it should be. `position` counts bytes in the file, -1 where that means nothing."""

    severity: str
    path: Path
    position: int
    problem: str


@dataclass
class Totals:
    """What was looked at."""

    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0


class _Batch(NamedTuple):
    position: int
    header: BatchHeader


class PartitionVerifier:
    """Checks one partition; `findings()` may be walked once. `progress` hears of the bytes that were read."""

    def __init__(
        self,
        partition: PartitionReader,
        *,
        fs: FileSystem = LOCAL_FS,
        progress: Callable[[int], None] = lambda count: None,
    ) -> None:
        self._partition = partition
        self._fs = fs
        self._progress = progress
        self.totals = Totals()
        self._next_offset = -1

    def findings(self) -> Iterator[Finding]:
        segments = self._partition.segments
        for number, segment in enumerate(segments):
            self.totals.segments += 1
            if self._next_offset > segment.base_offset:
                yield Finding(
                    ERROR,
                    segment.path,
                    -1,
                    f"starts at {segment.base_offset}, but offset {self._next_offset - 1} came before",
                )
            yield from self._segment(segment, last=number + 1 == len(segments))
        yield from self._snapshots()
        yield from self._epochs()

    # --- data -----------------------------------------------------------------------------------------------------

    def _segment(self, segment: SegmentReader, last: bool) -> Iterator[Finding]:
        batches: list[_Batch] = []
        end = 0
        try:
            for start, run in segment.runs():
                yield from self._run(segment, start, run, batches)
                end = start + run.size
                self._progress(run.size)
        except CorruptRecordError as error:
            yield Finding(ERROR, segment.path, error.position, error.message)
        else:
            rest = segment.size - end
            if rest:
                severity = WARNING if last else ERROR
                yield Finding(severity, segment.path, end, f"{rest} bytes after the last whole batch")
        self.totals.bytes += end
        yield from self._offset_index(segment, batches)
        yield from self._time_index(segment, batches)
        yield from self._txn_index(segment, batches)

    def _run(self, segment: SegmentReader, start: int, run: BatchRun, batches: list[_Batch]) -> Iterator[Finding]:
        broken = self._checked(run)
        for index in range(len(run)):
            header = run.header(index)
            position = start + header.position
            if index in broken:
                yield Finding(ERROR, segment.path, position, broken[index])
            base = header.base_offset if header.magic >= 2 else header.last_offset
            if base < max(self._next_offset, segment.base_offset):
                yield Finding(
                    ERROR, segment.path, position,
                    f"offset {base} where {max(self._next_offset, segment.base_offset)} or more was expected",
                )  # fmt: skip
            if header.last_offset - segment.base_offset > MAX_INT32:
                yield Finding(
                    ERROR, segment.path, position, f"offset {header.last_offset} is too far from the segment's"
                )
            self._next_offset = max(self._next_offset, header.next_offset)
            self.totals.batches += 1
            self.totals.records += max(header.record_count, 0 if header.magic >= 2 else 1)
            batches.append(_Batch(position, header))

    def _checked(self, run: BatchRun) -> dict[int, str]:
        """The batches that do not stand for themselves, by number. All at once first: nearly always all is well."""
        try:
            run.check(crc=True, records=True, client=False)
            return {}
        except KafkaError:
            broken = {}
            for index in range(len(run)):
                try:
                    run.check(crc=True, records=True, client=False, first=index, stop=index + 1)
                except KafkaError as error:
                    broken[index] = error.message
            return broken

    # --- what is derived from it ------------------------------------------------------------------------------------

    def _offset_index(self, segment: SegmentReader, batches: list[_Batch]) -> Iterator[Finding]:
        path = segment.file(INDEX)
        if not self._fs.exists(path):
            yield Finding(ERROR, path, -1, "is missing")
            return
        starts = {batch.position: batch.header for batch in batches}
        previous = None
        for number, entry in enumerate(segment.offset_index):
            header = starts.get(entry.position)
            if previous is not None and (entry.offset <= previous.offset or entry.position <= previous.position):
                yield Finding(ERROR, path, number * 8, f"{tuple(entry)} does not follow {tuple(previous)}")
            if header is None:
                yield Finding(ERROR, path, number * 8, f"points to byte {entry.position}, where no batch starts")
            elif header.magic >= 2 and not header.base_offset <= entry.offset:
                yield Finding(
                    ERROR, path, number * 8, f"says offset {entry.offset} for the batch of {header.base_offset} and up"
                )
            previous = entry

    def _time_index(self, segment: SegmentReader, batches: list[_Batch]) -> Iterator[Finding]:
        path = segment.file(TIME_INDEX)
        if not self._fs.exists(path):
            yield Finding(ERROR, path, -1, "is missing")
            return
        previous = None
        largest, at = -1, 0
        for number, entry in enumerate(segment.time_index):
            if previous is not None and (entry.timestamp <= previous.timestamp or entry.offset < previous.offset):
                yield Finding(ERROR, path, number * 12, f"{tuple(entry)} does not follow {tuple(previous)}")
            while at < len(batches) and batches[at].header.last_offset <= entry.offset:
                largest = max(largest, batches[at].header.max_timestamp)
                at += 1
            if largest > entry.timestamp:
                yield Finding(
                    ERROR, path, number * 12,
                    f"says {entry.timestamp} is the largest timestamp up to offset {entry.offset}, but it is {largest}",
                )  # fmt: skip
            previous = entry

    def _txn_index(self, segment: SegmentReader, batches: list[_Batch]) -> Iterator[Finding]:
        path = segment.file(TXN_INDEX)
        try:
            entries = segment.aborted
        except KafkaError as error:
            yield Finding(ERROR, path, -1, error.message)
            return
        markers = {batch.header.last_offset: batch.header for batch in batches if batch.header.is_control}
        for number, entry in enumerate(entries):
            marker = markers.get(entry.last_offset)
            if marker is None or marker.producer_id != entry.producer_id:
                yield Finding(
                    ERROR,
                    path,
                    number * 34,
                    f"producer {entry.producer_id} has no marker at offset {entry.last_offset}",
                )

    def _snapshots(self) -> Iterator[Finding]:
        for offset in self._partition.snapshots:
            path = self._partition.path / file_name(offset, SNAPSHOT)
            try:
                entries = producer_snapshot.decode(self._fs.read_bytes(path), str(path))
            except KafkaError as error:
                yield Finding(ERROR, path, -1, error.message)
                continue
            for entry in entries:
                if entry.last_offset >= offset:
                    problem = f"producer {entry.producer_id} wrote offset {entry.last_offset} after the snapshot"
                    yield Finding(ERROR, path, -1, problem)

    def _epochs(self) -> Iterator[Finding]:
        path = self._partition.path / "leader-epoch-checkpoint"
        try:
            epochs = self._partition.leader_epochs
        except KafkaError as error:
            yield Finding(ERROR, path, -1, error.message)
            return
        for (epoch, start), (next_epoch, next_start) in pairwise(epochs):
            if next_epoch <= epoch or next_start < start:
                yield Finding(ERROR, path, -1, f"epoch {next_epoch} at {next_start} does not follow {epoch} at {start}")
        if epochs and 0 <= self._next_offset < epochs[-1][1]:
            yield Finding(WARNING, path, -1, f"epoch {epochs[-1][0]} starts at {epochs[-1][1]}, behind the log's end")


def verify_checkpoints(path: Path, fs: FileSystem = LOCAL_FS) -> Iterator[Finding]:
    """Check the files in the root of a log directory."""
    for name in (
        names.RECOVERY_POINT_FILE,
        names.LOG_START_FILE,
        names.REPLICATION_OFFSET_FILE,
        names.CLEANER_OFFSET_FILE,
    ):
        try:
            for tp in checkpoint.read_offsets(fs, path / name):
                if not fs.exists(path / str(tp)):
                    yield Finding(WARNING, path / name, -1, f"names {tp}, which is not here")
        except KafkaError as error:
            yield Finding(ERROR, path / name, -1, error.message)
    try:
        meta_properties.read(fs, path)
    except KafkaError as error:
        yield Finding(ERROR, path / names.META_PROPERTIES_FILE, -1, error.message)
