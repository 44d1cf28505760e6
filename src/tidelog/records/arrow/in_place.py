"""Arrow columns of a log file's batches, decoded in the buffer that they are read into.

This is `batches_to_arrow` for whoever reads a file: half the memory, and a copy less for the caches to feel. Packed
batches, old formats and headers are not for it (`None` says so).

How much is read ahead is a bet: the first batch's header tells the size of its records, and the next ones are taken to
be alike. When they are not, and the row buffers are full too early, the columns end there and the next piece goes on:
nothing is lost but the bytes that were read ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tidelog.records.arrow.buffers import ColumnBuffers, data_buffer
from tidelog.records.arrow.module import require_pyarrow
from tidelog.records.arrow.schema import schema
from tidelog.records.format.layout import RECORD_BATCH_OVERHEAD
from tidelog.records.kernel._filter import BatchFilter
from tidelog.records.kernel._in_place import InPlaceReader, peek

#: What is read at once: less than half of a core's own cache.
STEP = 256 << 10
#: Rows for which there is always room.
_FEW_ROWS = 8192

#: Fill a buffer from a place on; how many bytes there were: fewer than asked for only at the end.
Read = Callable[[int, memoryview], int]


class Piece(NamedTuple):
    batch: Any  # pyarrow.RecordBatch
    #: Bytes of the batches that it was made of; 0: there is no whole batch, or none that is wanted any more.
    size: int
    #: The offset behind them.
    next_offset: int


def read_in_place(
    read: Read, length: int, *, columns: Sequence[str], wanted: BatchFilter, size: int, step: int = STEP
) -> Piece | None:
    """The records of the next whole batches, about `size` bytes of them; None if the first one must be unpacked.

    `read(place, buffer)` reads from something that has `length` bytes."""
    pa = require_pyarrow()
    head = bytearray(RECORD_BATCH_OVERHEAD)
    first = peek(bytes(head[: read(0, memoryview(head))]), length)
    if first is None:
        return Piece(None, 0, wanted.first)
    first_size, first_rows = first
    if first_rows < 0:
        return None
    size = max(min(size, length), first_size)
    # The batches to come are taken to have records as large as the first one's, give or take a quarter.
    rows = max(first_rows, _FEW_ROWS, first_rows * size // first_size * 5 // 4)
    data = data_buffer(size)
    table = schema(columns)
    buffers = ColumnBuffers(table, rows, size, value_data=data)
    reader = InPlaceReader(wanted, data.address, size, rows, buffers.addresses)
    have = 0
    with memoryview(data) as signed, signed.cast("B") as view:
        while reader.take(have) and (more := read(have, view[have : min(have + step, size)])):
            have += more
    arrays = buffers.arrays(reader.sizes)
    batch = pa.RecordBatch.from_arrays([arrays[name] for name in columns], schema=table)
    return Piece(batch, reader.size, reader.next_offset)
