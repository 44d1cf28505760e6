"""Records and Arrow, both ways; `arrow_read` and `arrow_write` hold the two halves. Needs `tidelog[arrow]`."""

from __future__ import annotations

from tidelog.records._columns import ColumnReader
from tidelog.records.arrow_read import ALL_COLUMNS, batches_to_arrow, read_columns, schema
from tidelog.records.arrow_write import ArrowRows, arrow_to_batches, partition_keys, rows_by_partition

__all__ = [
    "ALL_COLUMNS",
    "ArrowRows",
    "ColumnReader",
    "arrow_to_batches",
    "batches_to_arrow",
    "partition_keys",
    "read_columns",
    "rows_by_partition",
    "schema",
]
