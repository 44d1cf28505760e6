"""Records as Arrow tables: no Python object per record, the same positions, groups and commits as `poll`.

Columns: `topic` (dictionary), `partition`, and those of `records.arrow`: `offset`, `timestamp`, `timestamp_type`,
`key`, `value`, `headers`. A table has a chunk per fetched piece; pandas, polars and DuckDB take it as it is.

How it is used: for whatever treats records by the thousand. Nothing is done per record outside of the kernel, and the
columns that are not asked for are not made.

A piece that is large when it is unpacked comes in several tables, each with the position behind it. `poll` and
`poll_arrow` may be mixed: a piece of which `poll` has taken some records is continued here.

Decoding and handing over are two steps. The first may happen on a thread and be broken off; positions move in the
second alone, on the user's side, together with the return of the table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from tidelog.client.consumer._records import RecordCursor
from tidelog.client.consumer.delivery import RecordDelivery
from tidelog.client.consumer.engine import Buffered
from tidelog.common.errors import KafkaError, UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that say where a record is from; the others are the records' own.
ORIGIN_COLUMNS = ("topic", "partition")
#: A table holds about this much at most, unless one piece is larger.
_TABLE_BYTES = 32 << 20


class Step(NamedTuple):
    """One part of a piece, as columns: what lies between two offsets. None stands for the end of the piece."""

    piece: Buffered
    start: int
    next_offset: int
    batch: pa.RecordBatch | None


class Unfinished(NamedTuple):
    """A piece of which some parts are out, and what makes the others."""

    piece: Buffered
    start: int
    parts: Iterator[tuple[int, pa.RecordBatch]]


class Decoding:
    """Some pieces on their way to become columns. `run` may run on any thread: it touches no position and no queue, so
    what it makes can be dropped at any time, and nothing is lost but the work.
    """

    def __init__(self, wanted: tuple[str, ...], pieces: list[Unfinished]) -> None:
        self.wanted = wanted
        self.size = sum(each.piece.cursor.size for each in pieces)
        self.steps: list[Step] = []
        self.rest: Unfinished | None = None
        self.broken: tuple[Buffered, KafkaError] | None = None
        self._pieces = pieces

    def run(self) -> None:
        """Make parts until they are large together, or one cannot be read: then what is sound before that."""
        size = 0
        for each in self._pieces:
            piece, start, parts = each
            source, _, aborted = piece.cursor.rest()
            try:
                piece.cursor.check()
                for next_offset, batch in parts:
                    self.steps.append(Step(piece, start, next_offset, _with_origin(batch, piece.part.tp, self.wanted)))
                    start = next_offset
                    size += batch.nbytes
                    if size >= _TABLE_BYTES:
                        self.rest = Unfinished(piece, start, parts)
                        return
            except KafkaError as error:
                self.broken = (piece, error)
                self._save(piece, start, source, aborted)
                return
            self.steps.append(Step(piece, start, start, None))

    def _save(self, piece: Buffered, start: int, source: Any, aborted: Any) -> None:
        """The sound batches of a part that was refused as a whole. They are found by walking over the records, as
        `poll` does: that is slow, and rare.
        """
        walk = RecordCursor(piece.part.tp, source, start, aborted=aborted, checks=piece.cursor.checks)
        with contextlib.suppress(KafkaError):
            while walk.take([], 1000):
                pass
        if walk.next_offset > start:
            sound = _parts(source, self.wanted, start, walk.next_offset - 1, aborted)
            for next_offset, batch in sound:
                behind = min(next_offset, walk.next_offset)
                self.steps.append(Step(piece, start, behind, _with_origin(batch, piece.part.tp, self.wanted)))
                start = behind


class ArrowDelivery:
    """The columnar end of the fetch engine's queue."""

    #: Fewer bytes are decoded sooner than a thread wakes up.
    WORTH_A_THREAD = 256 << 10

    def __init__(self, delivery: RecordDelivery) -> None:
        self._delivery = delivery
        self._unfinished: Unfinished | None = None
        self._wanted: tuple[str, ...] = ()

    def columns(self, names: Iterable[str] | None) -> tuple[str, ...]:
        """The columns that were asked for, checked; all of them for None."""
        from tidelog.records.arrow.schema import ALL_COLUMNS

        known = (*ORIGIN_COLUMNS, *ALL_COLUMNS)
        wanted = known if names is None else tuple(names)
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise UsageError(f"unknown columns {', '.join(unknown)}: expected some of {', '.join(known)}")
        return wanted

    def empty(self, wanted: tuple[str, ...]) -> pa.Table:
        return _schema(wanted).empty_table()

    def take(self, wanted: tuple[str, ...]) -> pa.Table | None:
        """What is there as one table, up to a size; None if there is nothing."""
        decoding = self.prepare(wanted)
        decoding.run()
        table = self.hand_over(decoding)
        if table is None:
            self._delivery.handed_over()
        return table

    def prepare(self, wanted: tuple[str, ...]) -> Decoding:
        """What can be decoded at the moment, from where the partitions stand."""
        unfinished, self._unfinished = self._unfinished, None
        pieces = []
        for piece in self._delivery.pieces(_TABLE_BYTES):
            source, start, aborted = piece.cursor.rest()
            stand = piece.part.stand
            start = max(start, stand[0] if stand else start)
            if unfinished is not None and unfinished[:2] == (piece, start) and self._wanted == wanted:
                pieces.append(unfinished)
            else:
                pieces.append(Unfinished(piece, start, _parts(source, wanted, start, None, aborted)))
        self._wanted = wanted
        return Decoding(wanted, pieces)

    def hand_over(self, decoding: Decoding) -> pa.Table | None:
        """Move the positions behind what was decoded, and return it. What has become stale meanwhile (by a `poll`, a
        seek, a pause or a rebalance) is dropped with all that follows it. The face says when the user has it.
        """
        from tidelog.records.arrow.module import require_pyarrow

        batches: list[Any] = []
        for piece, start, next_offset, batch in decoding.steps:
            stand = piece.part.stand
            if self._delivery.take_piece() is not piece or stand is None or stand[0] > start:
                break
            if batch is None:
                self._delivery.finish_piece(piece)
                continue
            self._delivery.reached(piece, next_offset, batch.num_rows)
            if batch.num_rows:
                batches.append(batch)
        else:
            self._unfinished = decoding.rest
            if decoding.broken is not None and self._delivery.take_piece() is decoding.broken[0]:
                self._delivery.broken(*decoding.broken)
        if not batches:
            return None
        return require_pyarrow().Table.from_batches(batches, _schema(decoding.wanted))


def _parts(
    source: Any, wanted: tuple[str, ...], first: int, last: int | None, aborted: Any
) -> Iterator[tuple[int, pa.RecordBatch]]:
    from tidelog.records.arrow import batches_in_parts

    columns = [name for name in wanted if name not in ORIGIN_COLUMNS] or ["offset"]
    return batches_in_parts([source], columns=columns, first_offset=first, last_offset=last, aborted=aborted)


@cache
def _schema(wanted: tuple[str, ...]) -> pa.Schema:
    """Made once for each choice of columns: for a small table it takes longer than the table."""
    from tidelog.records.arrow.module import require_pyarrow
    from tidelog.records.arrow.schema import schema

    pa = require_pyarrow()
    own = schema([name for name in wanted if name not in ORIGIN_COLUMNS])
    fields = {field.name: field for field in own}
    fields["topic"] = pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False)
    fields["partition"] = pa.field("partition", pa.int32(), nullable=False)
    return pa.schema([fields[name] for name in wanted])


def _with_origin(batch: pa.RecordBatch, tp: TopicPartition, wanted: tuple[str, ...]) -> pa.RecordBatch:
    """The batch with the columns that its records do not have themselves: the same value in every row."""
    from tidelog.records.arrow.module import require_pyarrow

    pa = require_pyarrow()
    arrays: dict[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
    if "topic" in wanted:
        numbers = pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows)
        arrays["topic"] = pa.DictionaryArray.from_arrays(numbers, pa.array([tp.topic], pa.string()))
    if "partition" in wanted:
        arrays["partition"] = pa.repeat(pa.scalar(tp.partition, pa.int32()), batch.num_rows)
    return pa.RecordBatch.from_arrays([arrays[name] for name in wanted], schema=_schema(wanted))
