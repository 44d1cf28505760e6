"""A segment's records as Arrow batches: decoded in place where that can be, else copied.

Like every reader of files that belong to somebody else, it sees whole batches only; bytes that are no batch are a
CorruptRecordError with their position in the file, after everything that is in front of them.

In place: the file is read into the buffer that the Arrow columns then point into, so that keys and values are never
copied. That works for batches that are not compressed, and for columns other than headers (their lists have to be
built). At the first compressed batch the reader changes over to unpacking, for the rest of the segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidelog.common.errors import CorruptRecordError
from tidelog.common.fs import File
from tidelog.log.reading.segment_reader import SegmentReader
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.arrow import Piece, batches_in_parts, read_in_place
from tidelog.records.kernel._filter import BatchFilter

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowSegmentReader:
    """Reads a segment up to `last_offset`, without the records of the transactions in `aborted`, in pieces of about
    `size` bytes."""

    def __init__(
        self,
        segment: SegmentReader,
        columns: Sequence[str],
        *,
        last_offset: int,
        aborted: Sequence[AbortedTxn] = (),
        size: int,
    ) -> None:
        self._segment = segment
        self._columns = columns
        self._last_offset = last_offset
        self._aborted = aborted
        self._size = size

    def batches(self, position: int, offset: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """(offset behind what was read, records) from an offset on, which is at or behind a place in the file."""
        file = self._segment.open()
        try:
            position = self._segment.believed(position, offset, file)
            if "headers" not in self._columns:  # these are never read in place
                while (piece := self._read_in_place(file, position, offset)) is not None:
                    if piece.size == 0:
                        return
                    position += piece.size
                    offset = max(offset, piece.next_offset)
                    yield offset, piece.batch
            # A segment that has packed batches seldom has others as well.
            yield from self._copied(file, position, offset)
        finally:
            file.close()

    def _read_in_place(self, file: File, position: int, offset: int) -> Piece | None:
        """The next piece; None when it cannot be read in place, a piece of size 0 at the segment's end."""

        def read(place: int, buffer: memoryview) -> int:
            return file.read_into(position + place, buffer)

        wanted = BatchFilter(first_offset=offset, last_offset=self._last_offset, aborted=self._aborted_from(offset))
        try:
            return read_in_place(read, file.size() - position, columns=self._columns, wanted=wanted, size=self._size)
        except CorruptRecordError as error:
            if not any(file.read_at(position, 64)):  # preallocated, not written yet
                return Piece(None, 0, offset)
            place = position + (error.position or 0)
            raise CorruptRecordError(f"{self._segment.path}: {error.message}", place) from error

    def _copied(self, file: File, position: int, offset: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rest of the segment, unpacked. A batch that begins below the offset is taken apart: its tail is
        wanted."""
        for _, run in self._segment.runs_in(file, position, chunk=self._size):
            last = run.header(len(run) - 1).last_offset
            if last >= offset:
                yield from batches_in_parts(
                    run.buffers(),
                    columns=self._columns,
                    first_offset=offset,
                    last_offset=self._last_offset,
                    aborted=self._aborted_from(offset),
                )
                offset = last + 1
            if last >= self._last_offset:
                return

    def _aborted_from(self, offset: int) -> list[tuple[int, int]]:
        """Producer and first offset of those that still matter: one whose marker was passed hides nothing more."""
        return [(one.producer_id, one.first_offset) for one in self._aborted if one.last_offset >= offset]
