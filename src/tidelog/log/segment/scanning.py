"""Reading a segment chunk by chunk: how far a chunk holds whole batches, and what to read next when it holds none.

A chunk ends where it ends, in the middle of a batch as a rule: the next one begins with that batch. A batch that is
larger than a chunk needs one of its own size, which its length field tells; a length that cannot be (it points behind
the end of the file, or nowhere) ends the reading.
"""

from __future__ import annotations

from tidelog.common.errors import CorruptRecordError
from tidelog.records.format.layout import LOG_OVERHEAD, entry_size
from tidelog.records.kernel._batches import BatchRun


def scanned(run: BatchRun) -> tuple[int, CorruptRecordError | None]:
    """How many bytes of whole batches the run begins with, and what is wrong with those behind them, if anything is.

    The error is handed back, not raised: what comes before it is sound, and whoever reads wants to have it first.
    """
    try:
        return run.scan(), None
    except CorruptRecordError as error:
        return run.size, error


def size_of_first(data: bytes | bytearray | memoryview) -> int:
    """The size of the batch that the bytes begin with, as it says itself; 0 if not even that is there."""
    return entry_size(data) if len(data) >= LOG_OVERHEAD else 0
