"""Records and Arrow, both ways; `arrow_read`, `arrow_in_place` and `arrow_write` hold them. Needs `tidelog[arrow]`.

Read `schema` (the columns), `read` and `parts` (batches to columns), `in_place` (the same while a file is read),
`write` (columns to batches); `buffers` is what the kernel writes into, `module` the import of pyarrow, which is an
extra.
"""

from __future__ import annotations

from tidelog.records.arrow.in_place import Piece, read_in_place
from tidelog.records.arrow.parts import PART_BYTES, batches_in_parts
from tidelog.records.arrow.read import batches_to_arrow, read_columns
from tidelog.records.arrow.schema import ALL_COLUMNS, schema
from tidelog.records.arrow.write import ArrowRows, arrow_to_batches, partition_keys, rows_by_partition
from tidelog.records.kernel._columns import ColumnReader

__all__ = [
    "ALL_COLUMNS",
    "PART_BYTES",
    "ArrowRows",
    "ColumnReader",
    "Piece",
    "arrow_to_batches",
    "batches_in_parts",
    "batches_to_arrow",
    "partition_keys",
    "read_columns",
    "read_in_place",
    "rows_by_partition",
    "schema",
]
