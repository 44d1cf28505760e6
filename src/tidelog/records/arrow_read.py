"""Batches as Arrow columns, without a Python object per record.

    offset int64 | timestamp timestamp[ms, UTC] | timestamp_type int8 | key binary | value binary |
    headers list<struct<key: string, value: binary>>

`batches_to_arrow(..., view=True)` copies nothing: keys and values are binary views into the batches, which stay alive
as long as the columns do. Everything that loops over records is in the kernel and releases the GIL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.common.errors import UsageError
from tidelog.common.types import MAX_INT32
from tidelog.records._columns import ColumnReader
from tidelog.records.arrow_module import require_pyarrow
from tidelog.records.batch import Source
from tidelog.records.compression import DEFAULT_LIMIT

if TYPE_CHECKING:
    import pyarrow

ALL_COLUMNS = ("offset", "timestamp", "timestamp_type", "key", "value", "headers")
#: What the kernel may write after the last byte of a column.
SLACK = 64


def schema(columns: Sequence[str] = ALL_COLUMNS, *, view: bool = False) -> pyarrow.Schema:
    """The schema of `batches_to_arrow` with these columns."""
    pa = require_pyarrow()
    binary = pa.binary_view() if view else pa.binary()
    types = {
        "offset": pa.int64(),
        "timestamp": pa.timestamp("ms", "UTC"),
        "timestamp_type": pa.int8(),
        "key": binary,
        "value": binary,
        "headers": pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])),
    }
    unknown = [name for name in columns if name not in types]
    if unknown:
        raise UsageError(f"unknown columns {', '.join(unknown)}: expected some of {', '.join(types)}")
    required = ("offset", "timestamp_type", "headers")
    return pa.schema([pa.field(name, types[name], nullable=name not in required) for name in columns])


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
    reader = ColumnReader(
        first_offset=first_offset, last_offset=last_offset, skip_control=skip_control, aborted=aborted, limit=limit
    )
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
    rows = reader.rows_bound
    fixed = {name: pa.allocate_buffer(rows * size) for name, size in _FIXED.items() if name in columns}
    binary = {name: _BinaryColumn(pa, rows, reader, view) for name in ("key", "value") if name in columns}
    count, untimed, headers, *sizes = reader.fill(
        **{name: buffer.address for name, buffer in fixed.items()},
        key=binary["key"].addresses if "key" in binary else None,
        value=binary["value"].addresses if "value" in binary else None,
    )
    arrays = {name: _fixed_array(pa, wanted.field(name).type, buffer, count) for name, buffer in fixed.items()}
    if untimed and "timestamp" in arrays:
        arrays["timestamp"] = _without_missing(pa, arrays["timestamp"])
    for name, (used, nulls) in (("key", sizes[:2]), ("value", sizes[2:])):
        if name in binary:
            arrays[name] = binary[name].array(count, used, nulls)
    if "headers" in columns:
        arrays["headers"] = _header_array(pa, reader, count, headers, wanted.field("headers").type)
    return pa.RecordBatch.from_arrays([arrays[name] for name in columns], schema=wanted)


_FIXED = {"offset": 8, "timestamp": 8, "timestamp_type": 1}


def _fixed_array(pa: Any, kind: Any, buffer: Any, rows: int) -> Any:
    return pa.Array.from_buffers(kind, rows, [None, buffer], 0)


def _without_missing(pa: Any, timestamps: Any) -> Any:
    """-1 stands for "no timestamp" in Kafka's formats; in a column that is null."""
    import pyarrow.compute as pc

    numbers = timestamps.view(pa.int64())
    return pc.if_else(pc.equal(numbers, -1), pa.scalar(None, pa.int64()), numbers).view(timestamps.type)


class _BinaryColumn:
    """The buffers of one binary column while the kernel fills them."""

    def __init__(self, pa: Any, rows: int, reader: ColumnReader, view: bool) -> None:
        self.pa = pa
        self.view = view
        self.sources = reader.buffers if view else []
        self.valid = pa.allocate_buffer((rows + 7) // 8)
        if view:
            self.slots = pa.allocate_buffer(16 * rows)
            self.addresses = (0, 0, self.slots.address, self.valid.address)
        else:
            self.slots = pa.allocate_buffer(4 * (rows + 1))
            self.data = pa.allocate_buffer(reader.bytes_bound + SLACK, resizable=True)
            self.addresses = (self.slots.address, self.data.address, 0, self.valid.address)

    def array(self, rows: int, used: int, nulls: int) -> Any:
        valid = self.valid if nulls else None
        if self.view:
            sources = [self.pa.py_buffer(source) for source in self.sources]
            return self.pa.Array.from_buffers(self.pa.binary_view(), rows, [valid, self.slots, *sources], nulls)
        self.data.resize(used, shrink_to_fit=True)
        return self.pa.Array.from_buffers(self.pa.binary(), rows, [valid, self.slots, self.data], nulls)


def _header_array(pa: Any, reader: ColumnReader, rows: int, count: int, kind: Any) -> Any:
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
