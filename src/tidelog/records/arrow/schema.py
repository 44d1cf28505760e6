"""The Arrow columns that records are:

offset int64 | timestamp timestamp[ms, UTC] | timestamp_type int8 | key binary | value binary |
headers list<struct<key: string, value: binary>>

`timestamp` is null where a record has none (-1, as magic 0 always); a key or value is null where it is null in Kafka,
which is not the same as empty. `timestamp_type` is 0 for the producer's time and 1 for the broker's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.common.errors import UsageError
from tidelog.records.arrow.module import require_pyarrow

if TYPE_CHECKING:
    import pyarrow

ALL_COLUMNS = ("offset", "timestamp", "timestamp_type", "key", "value", "headers")


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
