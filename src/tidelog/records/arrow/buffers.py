"""Arrow's buffers while the kernel fills them, and the arrays that they then are.

The kernel writes to addresses and knows nothing of Arrow. So the buffers are made before, as large as the rows and
bytes can possibly become, and cut afterwards to what was written. The bounds come from batch headers and sizes: a count
that lies is refused before (`set_part`), as more records than bytes allow.

Slack behind each buffer lets short values be copied in whole words, without a loop over bytes or a look at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidelog.records.arrow.module import require_pyarrow

if TYPE_CHECKING:
    import pyarrow

    from tidelog.records.kernel._columns import Addresses, ColumnAddresses, Sizes

#: What the kernel may write after the last byte of a column.
SLACK = 64
#: Column → bytes of each row.
_FIXED = {"offset": 8, "timestamp": 8, "timestamp_type": 1}


class ColumnBuffers:
    """The buffers of a schema's columns, but for `headers`, with room for so many rows and bytes.

    Keys and values are views into `sources` if these are given. `value_data` is the buffer for the values' bytes if
    there is one already."""

    def __init__(
        self,
        schema: pyarrow.Schema,
        rows: int,
        size: int,
        *,
        sources: Sequence[Any] | None = None,
        value_data: Any = None,
    ) -> None:
        self._pa = pa = require_pyarrow()
        self._schema = schema
        columns = schema.names
        self._fixed = {name: pa.allocate_buffer(rows * _FIXED[name]) for name in columns if name in _FIXED}
        self._binary: dict[str, _CopiedColumn | _ViewColumn] = {}
        for name in ("key", "value"):
            if name not in columns:
                continue
            if sources is not None:
                self._binary[name] = _ViewColumn(pa, rows, sources)
            elif name == "value" and value_data is not None:
                self._binary[name] = _CopiedColumn(pa, rows, value_data)
            else:
                self._binary[name] = _CopiedColumn(pa, rows, data_buffer(size))

    @property
    def addresses(self) -> ColumnAddresses:
        """What the kernel wants to know."""
        fixed = {name: buffer.address for name, buffer in self._fixed.items()}
        return fixed | {name: column.addresses for name, column in self._binary.items()}  # type: ignore[return-value]

    def arrays(self, sizes: Sizes) -> dict[str, Any]:
        """The columns, now that the kernel has written so much."""
        rows, untimed, _, key_bytes, null_keys, value_bytes, null_values = sizes
        arrays = {
            name: self._pa.Array.from_buffers(self._schema.field(name).type, rows, [None, buffer], 0)
            for name, buffer in self._fixed.items()
        }
        if untimed and "timestamp" in arrays:
            arrays["timestamp"] = _without_missing(self._pa, arrays["timestamp"])
        used = {"key": (key_bytes, null_keys), "value": (value_bytes, null_values)}
        return arrays | {name: column.array(rows, *used[name]) for name, column in self._binary.items()}


def data_buffer(size: int) -> Any:
    """A buffer for that many bytes of keys or values."""
    return require_pyarrow().allocate_buffer(size + SLACK, resizable=True)


def _without_missing(pa: Any, timestamps: Any) -> Any:
    """-1 stands for "no timestamp" in Kafka's formats; in a column that is null."""
    import pyarrow.compute as pc

    numbers = timestamps.view(pa.int64())
    return pc.if_else(pc.equal(numbers, -1), pa.scalar(None, pa.int64()), numbers).view(timestamps.type)


class _CopiedColumn:
    """Bytes one after the other, and where each value ends.

    Arrow's binary: value i lies between ends[i] and ends[i + 1]. 32-bit ends hold 2 GiB, which bounds a part.
    """

    def __init__(self, pa: Any, rows: int, data: Any) -> None:
        self._pa = pa
        self._valid = pa.allocate_buffer((rows + 7) // 8)
        self._ends = pa.allocate_buffer(4 * (rows + 1))
        self._data = data

    @property
    def addresses(self) -> Addresses:
        return self._ends.address, self._data.address, 0, self._valid.address

    def array(self, rows: int, used: int, nulls: int) -> Any:
        self._data.resize(used, shrink_to_fit=True)
        valid = self._valid if nulls else None
        return self._pa.Array.from_buffers(self._pa.binary(), rows, [valid, self._ends, self._data], nulls)


class _ViewColumn:
    """Places in the batches' own buffers.

    Arrow's binary view: 16 bytes per value, which hold up to 12 bytes themselves, and else a prefix and a place in one
    of the source buffers. Nothing is copied, and the sources live as long as the column.
    """

    def __init__(self, pa: Any, rows: int, sources: Sequence[Any]) -> None:
        self._pa = pa
        self._valid = pa.allocate_buffer((rows + 7) // 8)
        self._views = pa.allocate_buffer(16 * rows)
        self._sources = sources

    @property
    def addresses(self) -> Addresses:
        return 0, 0, self._views.address, self._valid.address

    def array(self, rows: int, used: int, nulls: int) -> Any:
        sources = [self._pa.py_buffer(source) for source in self._sources]
        valid = self._valid if nulls else None
        return self._pa.Array.from_buffers(self._pa.binary_view(), rows, [valid, self._views, *sources], nulls)
