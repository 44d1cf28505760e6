"""Arrow columns as batches, and keys as partitions, without a Python object per record.

Keys and values may be any binary or string column, timestamps integers (milliseconds) or timestamps, headers a list of
(key, value) structs or a map. Columns are brought to 32-bit offsets first, which copies only those that have others.

Encoding happens in two steps. First the rows are sorted by partition, as an array of row numbers: the columns
themselves are not moved. Then each partition's rows are written, in that order, from where they lie straight into
batches. A row is copied once, from Arrow's memory to the bytes that are sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from tidelog.common.errors import UsageError
from tidelog.common.types import NO_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP
from tidelog.records.arrow.module import require_pyarrow
from tidelog.records.format.attributes import TRANSACTIONAL_BIT, Codec
from tidelog.records.kernel._encode import BatchEncoder, order_by_place, place_keys

if TYPE_CHECKING:
    import pyarrow

Column: TypeAlias = "pyarrow.Array | pyarrow.ChunkedArray"

#: The broker's default message.max.bytes, less what a request adds.
DEFAULT_BATCH_BYTES = 1_000_000
_LARGEST_OFFSET = 2**31 - 1


class ArrowRows:
    """Columns in the form that the encoder reads, prepared once; encoded whole, or by a choice of rows."""

    def __init__(
        self,
        key: Column | None,
        value: Column | None,
        timestamp: Column | None = None,
        headers: Column | None = None,
        *,
        default_timestamp: int = NO_TIMESTAMP,
    ) -> None:
        pa = require_pyarrow()
        given = [column for column in (key, value, timestamp, headers) if column is not None]
        rows = {len(column) for column in given}
        if len(rows) != 1:
            raise UsageError(f"the columns must have the same length: found {sorted(rows)}")
        (self._rows,) = rows
        self._keys, self._values = _binary(pa, key), _binary(pa, value)
        self._times = _timestamps(pa, timestamp, default_timestamp)
        self._headers = _Headers(pa, headers) if headers is not None else None
        self._default_timestamp = default_timestamp

    def __len__(self) -> int:
        return self._rows

    def batches(
        self, order: pyarrow.UInt64Array | None = None, *, allocate: Callable[[int], Any] | None = None, **how: Any
    ) -> list[memoryview]:
        """The rows as magic 2 batches: see `encoder` for what may be said of them.

        The batches lie in writable memory from `allocate`, or of Arrow's pool."""
        return self.encoder(order, **how).encode(allocate or require_pyarrow().allocate_buffer)

    def encoder(
        self,
        order: pyarrow.UInt64Array | None = None,
        *,
        codec: Codec = Codec.NONE,
        level: int | None = None,
        max_batch_bytes: int = DEFAULT_BATCH_BYTES,
        base_offset: int | None = None,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        transactional: bool = False,
        leader_epoch: int = NO_EPOCH,
        checksum: bool = True,
    ) -> BatchEncoder:
        """What makes batches of at most `max_batch_bytes` before compression; a longer row has one to itself. It reads
        from these columns (and `order`), which have to live as long.

        `order` (without nulls) names the rows to take, as `take` would. With `base_offset` the batches follow one
        another (for writing segments); without it each starts at 0, as a producer sends it. Sequences go on from
        `base_sequence`, if there is one. `checksum` False leaves it to whoever writes the header anew."""
        times = self._times
        return BatchEncoder(
            self._rows,
            order=None if order is None else (_first_address(order), len(order)),
            key=_addresses(self._keys),
            value=_addresses(self._values),
            timestamps=_first_address(times) if times is not None and len(times) else 0,
            timestamp=self._default_timestamp,
            headers=self._headers.addresses if self._headers is not None else None,
            attributes=codec | (TRANSACTIONAL_BIT if transactional else 0),
            level=level,
            max_batch_bytes=max_batch_bytes,
            base_offset=base_offset,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            leader_epoch=leader_epoch,
            checksum=checksum,
        )

    def first_before_1970(self) -> tuple[int, int] | None:
        """The first row with a negative timestamp, and that; None: there is no such row."""
        import pyarrow.compute as pc

        if self._times is None or not len(self._times) or pc.min(self._times).as_py() >= 0:
            return None
        row = pc.index(pc.less(self._times, 0), True).as_py()
        return row, self._times[row].as_py()


def arrow_to_batches(
    key: Column | None,
    value: Column | None,
    timestamp: Column | None = None,
    headers: Column | None = None,
    *,
    default_timestamp: int = NO_TIMESTAMP,
    **how: Any,
) -> list[memoryview]:
    """All rows of these columns as batches: see `ArrowRows.batches` for what else may be said.

    A missing key or value column means nulls; `default_timestamp` is for rows without a timestamp."""
    return ArrowRows(key, value, timestamp, headers, default_timestamp=default_timestamp).batches(**how)


def partition_keys(key: Column, partitions: int) -> pyarrow.Int32Array:
    """Where the Java clients' default partitioner puts each key; null for null keys, which it spreads as it likes."""
    pa = require_pyarrow()
    if partitions < 1:
        raise UsageError(f"{partitions} partitions: expected at least 1")
    keys = _binary(pa, key)
    out = pa.allocate_buffer(4 * len(keys))
    place_keys(_addresses(keys), len(keys), partitions, out.address)
    places = pa.Array.from_buffers(pa.int32(), len(keys), [None, out], 0)
    if not keys.null_count:
        return places
    import pyarrow.compute as pc

    return pc.if_else(keys.is_valid(), places, pa.scalar(None, pa.int32()))


def rows_by_partition(places: pyarrow.Int32Array, partitions: int) -> list[tuple[int, pyarrow.UInt64Array | None]]:
    """(partition, its rows in their order as `ArrowRows.batches` takes them; None: all). `places` has no nulls.

    All rows in one partition, which is usual for few rows without keys, is told by None: no order is needed then.
    """
    pa = require_pyarrow()
    rows = len(places)
    if not rows:
        return []
    out = pa.allocate_buffer(8 * rows)
    counts = order_by_place(places.buffers()[1].address + 4 * places.offset, rows, partitions, out.address)
    if rows in counts:
        return [(counts.index(rows), None)]
    order = pa.Array.from_buffers(pa.uint64(), rows, [None, out], 0)
    found, position = [], 0
    for partition, count in enumerate(counts):
        if count:
            found.append((partition, order.slice(position, count)))
            position += count
    return found


def _whole(pa: Any, column: Any) -> Any:
    """The column as one array."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def _binary(pa: Any, column: Any) -> Any:
    """A string column is the same bytes with another name, and is only renamed. Dictionaries, views, large and
    fixed-size columns are cast: a copy, but one that Arrow makes at the speed of memory.
    """
    if column is None:
        return None
    if isinstance(column, pa.ChunkedArray) and column.nbytes > _LARGEST_OFFSET:
        raise UsageError(f"{column.nbytes} bytes do not fit one Arrow array: encode the table in parts")
    column = _whole(pa, column)
    if pa.types.is_binary(column.type):
        return column
    if pa.types.is_string(column.type):
        return column.view(pa.binary())
    kinds = (pa.types.is_large_binary, pa.types.is_large_string, pa.types.is_fixed_size_binary)
    views = (pa.types.is_dictionary, pa.types.is_binary_view, pa.types.is_string_view, pa.types.is_null)
    if not any(test(column.type) for test in kinds + views):
        raise UsageError(f"a key or value column of type {column.type}: expected binary or string")
    return column.cast(pa.binary())


def _addresses(column: Any) -> tuple[int, int, int, int] | None:
    """What the kernel reads: validity bits (0: all are valid), ends, bytes, and the index of the first row, for
    slices.
    """
    if column is None or not len(column):
        return None
    valid, ends, data = column.buffers()
    usable = valid if column.null_count else None
    return (usable.address if usable else 0, ends.address, data.address if data else 0, column.offset)


def _first_address(numbers: Any) -> int:
    """Where the first of these 64-bit numbers lies."""
    return int(numbers.buffers()[1].address + 8 * numbers.offset)


def _timestamps(pa: Any, column: Any, default: int) -> Any:
    """Milliseconds as 64-bit numbers, nulls replaced; finer times are cut, as Kafka has no finer ones."""
    if column is None:
        return None
    column = _whole(pa, column)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False).view(pa.int64())
    column = column.cast(pa.int64())
    return column.fill_null(default) if column.null_count else column


class _Headers:
    """A headers column as the encoder reads it: per row a range of two flat binary columns."""

    def __init__(self, pa: Any, column: Any) -> None:
        column = _whole(pa, column)
        if pa.types.is_map(column.type):
            names, values = column.keys, column.items
        elif pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
            names, values = column.values.field(0), column.values.field(1)
        else:
            raise UsageError(f"a headers column of type {column.type}: expected list<struct<key, value>> or map")
        self.lists = column
        self.names, self.values = _binary(pa, names), _binary(pa, values)
        if self.names.null_count:
            raise UsageError("a record header needs a name")

    @property
    def addresses(self) -> Any:
        """None where there are no headers at all: then the kernel does not even look for them, row by row."""
        if not len(self.lists) or not len(self.names):
            return None
        valid, ends = self.lists.buffers()[:2]
        usable = valid.address if valid and self.lists.null_count else 0
        names, values = _addresses(self.names), _addresses(self.values)
        return usable, ends.address, self.lists.offset, names, values, len(self.names)
