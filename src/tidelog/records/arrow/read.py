"""Batches as Arrow columns, without a Python object per record.

`batches_to_arrow(..., view=True)` copies nothing: keys and values are binary views into the batches, which stay alive
as long as the columns do. Everything that loops over records is in the kernel and releases the GIL.

Two passes over the batches' headers and one over the records: `add` sums up how many rows and bytes there can be, then
the buffers are made, then `fill` decodes. Headers of records take another pass, and only if they are asked for, as
hardly any record has some.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.common.errors import UsageError
from tidelog.common.types import MAX_INT32
from tidelog.records.arrow.buffers import SLACK, ColumnBuffers
from tidelog.records.arrow.module import require_pyarrow
from tidelog.records.arrow.schema import ALL_COLUMNS, schema
from tidelog.records.codec.compression import DEFAULT_LIMIT
from tidelog.records.format.batch import Source
from tidelog.records.format.convert import up_convert
from tidelog.records.kernel._columns import ColumnReader
from tidelog.records.kernel._filter import BatchFilter

if TYPE_CHECKING:
    import pyarrow


def batches_to_arrow(
    buffers: Source | Iterable[Source],
    *,
    columns: Sequence[str] = ALL_COLUMNS,
    first_offset: int | None = None,
    last_offset: int | None = None,
    skip_control: bool = True,
    aborted: Iterable[tuple[int, int]] = (),
    view: bool = False,
    check_crc: bool = False,
    limit: int = DEFAULT_LIMIT,
) -> pyarrow.RecordBatch:
    """The records of all whole batches in the buffers, as one RecordBatch.

    `first_offset` and `last_offset` (both inclusive) bound the records; `aborted` holds (producer id, first offset) of
    aborted transactions, whose records are left out; `limit` bounds the unpacked bytes of each packed batch."""
    wanted = BatchFilter(first_offset=first_offset, last_offset=last_offset, skip_control=skip_control, aborted=aborted)
    reader = ColumnReader(wanted, up_convert, limit=limit)
    single = not isinstance(buffers, Iterable) or isinstance(buffers, bytes | bytearray | memoryview)
    for buffer in [buffers] if single else buffers:
        reader.add(buffer, check_crc)  # type: ignore[arg-type]  # `single` tells the two forms apart
    return read_columns(reader, columns, view=view)


def read_columns(reader: ColumnReader, columns: Sequence[str] = ALL_COLUMNS, *, view: bool = False) -> Any:
    """The columns of what the reader was given, as a pyarrow.RecordBatch."""
    pa = require_pyarrow()
    wanted = schema(columns, view=view)
    largest = max(map(len, reader.buffers), default=0) if view else reader.bytes_bound
    if largest > MAX_INT32:
        raise UsageError(f"{largest} bytes of records do not fit one Arrow batch: read them in parts")
    buffers = ColumnBuffers(wanted, reader.rows_bound, reader.bytes_bound, sources=reader.buffers if view else None)
    sizes = reader.fill(**buffers.addresses)
    arrays = buffers.arrays(sizes)
    if "headers" in columns:
        arrays["headers"] = _header_array(pa, reader, sizes[0], sizes[2], wanted.field("headers").type)
    return pa.RecordBatch.from_arrays([arrays[name] for name in columns], schema=wanted)


def _header_array(pa: Any, reader: ColumnReader, rows: int, count: int, kind: Any) -> Any:
    """A list per row of (name, value). The lengths are not known before they were read, so the kernel measures first
    and writes then; a column without any header is made without either.
    """
    if not count:
        none = pa.array([], kind.value_type)
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(bytes(4 * (rows + 1)))], 0, children=[none])
    name_bytes, value_bytes, _ = reader.fill_headers()
    ends = pa.allocate_buffer(4 * (rows + 1))
    name_ends, name_data = pa.allocate_buffer(4 * (count + 1)), pa.allocate_buffer(name_bytes + SLACK)
    value_ends, value_data = pa.allocate_buffer(4 * (count + 1)), pa.allocate_buffer(value_bytes + SLACK)
    valid = pa.allocate_buffer((count + 7) // 8)
    *_, nulls = reader.fill_headers(
        count,
        ends.address,
        (name_ends.address, name_data.address, 0, 0),
        (value_ends.address, value_data.address, 0, valid.address),
    )
    names = pa.Array.from_buffers(pa.binary(), count, [None, name_ends, name_data], 0)
    values = pa.Array.from_buffers(pa.binary(), count, [valid if nulls else None, value_ends, value_data], nulls)
    pairs = pa.StructArray.from_arrays([_as_text(pa, names), values], fields=list(kind.value_type))
    return pa.Array.from_buffers(kind, rows, [None, ends], 0, children=[pairs])


def _as_text(pa: Any, names: Any) -> Any:
    """Header names are UTF-8; bytes that are not must not hide the records, so they are read with replacements."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.as_py().decode("utf-8", "replace") for name in names], pa.string())
