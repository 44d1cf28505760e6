"""Batches as Arrow columns in parts whose size is bounded after unpacking.

Some well-packed megabytes are gigabytes of records: more than one Arrow batch can hold, or the memory of a worker.
Packed batches are therefore unpacked one by one, and handed out as soon as they have become large. Others are what they
seem; whether any are packed is told by some of them, so that nothing is done for each batch where none is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.records.arrow.read import read_columns
from tidelog.records.arrow.schema import ALL_COLUMNS
from tidelog.records.codec.compression import DEFAULT_LIMIT
from tidelog.records.format.batch import Source
from tidelog.records.format.convert import up_convert
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel._columns import ColumnReader
from tidelog.records.kernel._filter import BatchFilter

if TYPE_CHECKING:
    import pyarrow

#: Unpacked bytes of one part, about: a batch more than this.
PART_BYTES = 32 << 20
_LOOKED_AT = 64


def batches_in_parts(
    buffers: Iterable[Source],
    *,
    columns: Sequence[str] = ALL_COLUMNS,
    first_offset: int | None = None,
    last_offset: int | None = None,
    aborted: Iterable[tuple[int, int]] = (),
    view: bool = False,
    part_bytes: int = PART_BYTES,
) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """(offset behind, records) of the whole batches in the buffers: as `batches_to_arrow`, in one part or several."""
    wanted = BatchFilter(first_offset=first_offset, last_offset=last_offset, aborted=aborted)
    reader = ColumnReader(wanted, up_convert, limit=DEFAULT_LIMIT)
    for source in buffers:
        for batch in _apart(source):
            reader.add(batch)
            if reader.bytes_bound > part_bytes:
                yield reader.next_offset, read_columns(reader, columns, view=view)
                reader = ColumnReader(wanted, up_convert, limit=DEFAULT_LIMIT)
    if reader.next_offset >= 0:
        yield reader.next_offset, read_columns(reader, columns, view=view)


def _apart(source: Source) -> Iterator[Any]:
    """The buffer as it is, or each of its batches if some are packed.

    One of 64 batches, evenly spread, is looked at: a producer packs all or none, and a wrong guess costs memory for one
    part, not correctness.
    """
    run = BatchRun(source)
    run.scan()
    step = len(run) // _LOOKED_AT + 1
    if any(run.header(index).is_compressed for index in range(0, len(run), step)):
        for index in range(len(run)):
            yield run.view(index)
    else:
        run.release()
        yield source
