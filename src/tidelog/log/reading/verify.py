"""Checks a partition's files against each other and reports everything that is wrong.

The `.log` files are the truth; each batch must stand for itself (checksum, structure, record count, offsets) and follow
the one before it. Everything else is derived and must agree with them: index entries point to the start of a batch
that holds their offset, time index entries name the largest timestamp so far, aborted transactions end with a marker,
snapshots and epochs stay within the log. Wrong data is an error; a wrong derived file is an error too, but one that
`tidelog log reindex` repairs. A torn tail of the last segment is only a warning: a start cuts it off.

What a checksum cannot tell is told by the neighbours: offsets rise from batch to batch and from segment to segment,
with gaps only where compaction or a roll left them. Memory stays small however large the log is: of a walk only that is
remembered which the segment's own indexes name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tidelog.common.errors import CorruptRecordError, KafkaError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT32
from tidelog.log import checkpoint, names
from tidelog.log.directory import meta_properties
from tidelog.log.names import INDEX, SNAPSHOT, TIME_INDEX, TXN_INDEX, file_name
from tidelog.log.producers import snapshot as producer_snapshot
from tidelog.log.reading.reader import PartitionReader
from tidelog.log.reading.segment_reader import SegmentReader
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.attributes import BatchHeader
from tidelog.records.format.batch import RecordBatch
from tidelog.records.kernel._batches import BatchRun

ERROR, WARNING = "error", "warning"


class Finding(NamedTuple):
    """Something that is not as it should be. `position` counts bytes in the file, -1 where that means nothing."""

    severity: str
    path: Path
    position: int
    problem: str


@dataclass
class Totals:
    """What was looked at. Corrupt batches count as batches, but say nothing about how many records they held."""

    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0


class _Observed:
    """What one walk over a segment must remember so that its indexes can be judged: no more than they name."""

    def __init__(self, segment: SegmentReader) -> None:
        self.offset_entries = segment.offset_index
        self.time_entries = segment.time_index
        self.aborted: list[AbortedTxn] = []
        self.aborted_error: str | None = None
        try:
            self.aborted = segment.aborted
        except KafkaError as error:
            self.aborted_error = error.message
        #: position → (magic, base offset) of the batches that index entries point to
        self.starts: dict[int, tuple[int, int]] = dict.fromkeys((e.position for e in self.offset_entries), (-1, -1))
        #: offset of a time entry → the largest timestamp up to there
        self.largest_up_to: dict[int, int] = {}
        self._bounds = sorted({entry.offset for entry in self.time_entries}, reverse=True)
        self._largest = -1
        #: last offset → producer id of the markers that end aborted transactions
        self.markers: dict[int, int] = dict.fromkeys((entry.last_offset for entry in self.aborted), -1)

    def feed(self, position: int, header: BatchHeader) -> None:
        """A batch passes. A time entry speaks of everything up to its offset, so it is judged when that is passed."""
        if position in self.starts:
            self.starts[position] = (header.magic, header.base_offset)
        while self._bounds and header.last_offset > self._bounds[-1]:
            self.largest_up_to[self._bounds.pop()] = self._largest
        self._largest = max(self._largest, header.max_timestamp)
        if header.is_control and header.last_offset in self.markers:
            self.markers[header.last_offset] = header.producer_id

    def finish(self) -> None:
        """The walk is over: entries whose offset nothing has passed speak of the whole segment."""
        self.largest_up_to.update(dict.fromkeys(self._bounds, self._largest))


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
        """Everything that is wrong, in the order of the files; the walk goes on behind each."""
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
        """The data first, then the files that are judged by what the data said."""
        observed = _Observed(segment)
        end = 0
        try:
            for start, run in segment.runs():
                yield from self._run(segment, start, run, observed)
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
        observed.finish()
        yield from self._offset_index(segment.file(INDEX), observed)
        yield from self._time_index(segment.file(TIME_INDEX), observed)
        yield from self._txn_index(segment.file(TXN_INDEX), observed)

    def _run(self, segment: SegmentReader, start: int, run: BatchRun, observed: _Observed) -> Iterator[Finding]:
        """Batch by batch: each for itself, and against the one before. An entry of magic 0 or 1 is named by the offset
        of the last message in it, so its own first offset says nothing about the order."""
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
            if index not in broken:  # a packed entry of magic 0 or 1 says how many it holds only inside
                self.totals.records += RecordBatch(run, index).record_count
            observed.feed(position, header)

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

    def _offset_index(self, path: Path, observed: _Observed) -> Iterator[Finding]:
        """An entry is the last offset of a batch and the batch's first byte: at that byte a batch must begin that does
        not begin above that offset. An entry that is missing is no fault: the index is sparse."""
        if not self._fs.exists(path):
            yield Finding(ERROR, path, -1, "is missing")
            return
        previous = None
        for number, entry in enumerate(observed.offset_entries):
            if previous is not None and (entry.offset <= previous.offset or entry.position <= previous.position):
                yield Finding(ERROR, path, number * 8, f"{tuple(entry)} does not follow {tuple(previous)}")
            magic, base = observed.starts[entry.position]
            if magic < 0:
                yield Finding(ERROR, path, number * 8, f"points to byte {entry.position}, where no batch starts")
            elif magic >= 2 and base > entry.offset:
                yield Finding(ERROR, path, number * 8, f"says offset {entry.offset} for the batch of {base} and up")
            previous = entry

    def _time_index(self, path: Path, observed: _Observed) -> Iterator[Finding]:
        """An entry promises that no record up to its offset is newer than it says: a search by time relies on it."""
        if not self._fs.exists(path):
            yield Finding(ERROR, path, -1, "is missing")
            return
        previous = None
        for number, entry in enumerate(observed.time_entries):
            if previous is not None and (entry.timestamp <= previous.timestamp or entry.offset < previous.offset):
                yield Finding(ERROR, path, number * 12, f"{tuple(entry)} does not follow {tuple(previous)}")
            largest = observed.largest_up_to[entry.offset]
            if largest > entry.timestamp:
                yield Finding(
                    ERROR, path, number * 12,
                    f"says {entry.timestamp} is the largest timestamp up to offset {entry.offset}, but it is {largest}",
                )  # fmt: skip
            previous = entry

    def _txn_index(self, path: Path, observed: _Observed) -> Iterator[Finding]:
        """Every entry ends with a marker of its producer in this segment. (That a marker has its entry is not checked:
        a commit has none, and only its key tells it from an abort.)"""
        if observed.aborted_error is not None:
            yield Finding(ERROR, path, -1, observed.aborted_error)
        for number, entry in enumerate(observed.aborted):
            if observed.markers[entry.last_offset] != entry.producer_id:
                problem = f"producer {entry.producer_id} has no marker at offset {entry.last_offset}"
                yield Finding(ERROR, path, number * 34, problem)

    def _snapshots(self) -> Iterator[Finding]:
        """A snapshot describes the log before the offset that names it, so no producer in it has written there."""
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
        """Epochs rise and their starts do not fall. One that starts behind the log's end is only odd: a leader was
        elected and had written nothing when the process ended."""
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
    """Check the files in the root of a log directory.

    A checkpoint that names a partition which is not here is what a crash between a deletion and its checkpoint leaves:
    the next start drops it. One that does not parse costs a start only time, but something has written to it that
    should not have.
    """
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
