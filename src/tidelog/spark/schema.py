"""The table that a topic is: column names, their Spark types, and the Arrow arrays behind them.

    key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int
    [, headers array<struct<key:string,value:binary>>]

as in Spark's own Kafka source. The records' kernel makes six of these columns; topic and partition are the same for
all rows of a batch and are made here. Only the columns that are asked for are decoded.

Spark is strict about Arrow: a column of the declared name with another type is an error at best, and wrong values at
worst. Timestamps are microseconds in UTC there and milliseconds here; `timestampType` is an int of which we know one
byte; "no headers" is null, not an empty list, as Spark's own source has it. Keys and values are binary in both, and go
through untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.common.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

#: Column → its Spark type, in the order of the full table.
COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}
#: Those that the kernel decodes, by the kernel's names.
DECODED = {
    "key": "key",
    "value": "value",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestampType": "timestamp_type",
    "headers": "headers",
}


def ddl(columns: Sequence[str] | None, *, include_headers: bool) -> str:
    """The schema as Spark's DDL text."""
    chosen = [name for name in COLUMNS if include_headers or name != "headers"] if columns is None else list(columns)
    by_lower = {name.lower(): name for name in COLUMNS}
    names = []
    for name in chosen:
        if name.lower() not in by_lower:
            raise UsageError(f"there is no column {name!r}: a topic has {', '.join(COLUMNS)}")
        names.append(by_lower[name.lower()])
    return ", ".join(f"{name} {COLUMNS[name]}" for name in names)


class RowAssembler:
    """Turns what the kernel decoded of one partition into the rows that Spark wants: order, types, constant columns."""

    def __init__(self, topic: str, partition: int, columns: Sequence[str]) -> None:
        unknown = [name for name in columns if name not in COLUMNS]
        if unknown:
            raise UsageError(f"there is no column {unknown[0]!r}: a topic has {', '.join(COLUMNS)}")
        self.decoded = tuple(DECODED[name] for name in columns if name in DECODED) or ("offset",)
        self._columns = tuple(columns)
        self._topic, self._partition = topic, partition
        self._constants: dict[str, pa.Array] = {}

    def assemble(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch as Spark wants it, without copying keys and values: arrays are passed on, two columns are cast, two
        are constants.
        """
        import pyarrow as pa

        arrays = [
            _as_spark(name, batch.column(DECODED[name])) if name in DECODED else self._constant(name, batch.num_rows)
            for name in self._columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(self._columns))

    def _constant(self, name: str, rows: int) -> pa.Array:
        """`rows` times the topic's name or the partition's number; made once at the largest size, then sliced."""
        import pyarrow as pa

        made = self._constants.get(name)
        if made is None or len(made) < rows:
            scalar = pa.scalar(self._topic, pa.string()) if name == "topic" else pa.scalar(self._partition, pa.int32())
            made = self._constants[name] = pa.repeat(scalar, rows)
        return made.slice(0, rows)


def _as_spark(name: str, column: pa.Array) -> pa.Array:
    """The types that Spark insists on: microseconds, 32-bit ints, nullable children, null for no headers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if name == "timestamp":
        return column.cast(pa.timestamp("us", "UTC"))
    if name == "timestampType":
        return column.cast(pa.int32())
    if name == "headers":
        kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
        empty = pc.equal(pc.list_value_length(column), 0)
        return pc.if_else(empty, pa.scalar(None, kind), column.cast(kind))
    return column
