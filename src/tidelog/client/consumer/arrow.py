"""Records as Arrow tables: no Python object per record, the same positions, groups and commits as `poll`.

Columns: `topic` (dictionary), `partition`, and those of `records.arrow`: `offset`, `timestamp`, `timestamp_type`,
`key`, `value`, `headers`. A table has a chunk per fetched piece; pandas, polars and DuckDB take it as it is.

How it is used: for whatever treats records by the thousand. Nothing is done per record outside of the kernel, and the
columns that are not asked for are not made.

A piece that is large when it is unpacked comes in several tables, each with the position behind it. `poll` and
`poll_arrow` may be mixed: a piece of which `poll` has taken some records is continued here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from tidelog.client.consumer.delivery import RecordDelivery
from tidelog.client.consumer.engine import Buffered
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that say where a record is from; the others are the records' own.
ORIGIN_COLUMNS = ("topic", "partition")
#: A table holds about this much at most, unless one piece is larger.
_TABLE_BYTES = 32 << 20


class ArrowDelivery:
    """The columnar end of the fetch engine's queue."""

    #: Fewer bytes are decoded sooner than a thread wakes up.
    WORTH_A_THREAD = 256 << 10

    def __init__(self, delivery: RecordDelivery) -> None:
        self._delivery = delivery
        self._piece: Buffered | None = None
        self._parts: Iterator[tuple[int, pa.RecordBatch]] | None = None
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

    @property
    def next_size(self) -> int:
        """Bytes of the next piece, as they came."""
        piece = self._delivery.take_piece()
        return 0 if piece is None else piece.cursor.size

    def empty(self, wanted: tuple[str, ...]) -> pa.Table:
        return _schema(wanted).empty_table()

    def take(self, wanted: tuple[str, ...]) -> pa.Table | None:
        """What is there as one table, up to a size; None if there is nothing."""
        from tidelog.records.arrow.module import require_pyarrow

        batches: list[Any] = []
        size = 0
        while size < _TABLE_BYTES and (batch := self._next(wanted)) is not None:
            if batch.num_rows:
                batches.append(batch)
                size += batch.nbytes
        if not batches:
            return None
        return require_pyarrow().Table.from_batches(batches, _schema(wanted))

    def _next(self, wanted: tuple[str, ...]) -> pa.RecordBatch | None:
        """The next part of the piece at hand, or of the next piece. A piece is done with when its last part is out."""
        while True:
            piece = self._delivery.take_piece()
            if piece is None:
                return None
            if piece is not self._piece or self._wanted != wanted or self._parts is None:
                self._begin(piece, wanted)
            assert self._parts is not None
            part = next(self._parts, None)
            if part is None:
                self._delivery.finish_piece(piece)
                self._piece = self._parts = None
                continue
            next_offset, batch = part
            self._delivery.reached(piece, next_offset, batch.num_rows)
            return _with_origin(batch, piece.part.tp, wanted)

    def _begin(self, piece: Buffered, wanted: tuple[str, ...]) -> None:
        from tidelog.records.arrow import batches_in_parts

        source, _, aborted = piece.cursor.rest()
        stand = piece.part.stand
        columns = [name for name in wanted if name not in ORIGIN_COLUMNS] or ["offset"]
        self._piece, self._wanted = piece, wanted
        self._parts = batches_in_parts(
            [source], columns=columns, first_offset=stand[0] if stand else None, aborted=aborted
        )


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
