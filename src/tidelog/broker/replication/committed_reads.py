"""Reading a log from its start up to the high watermark: what a coordinator loads when it is elected.

It reads in large pieces and hands on whole batches, as they lie in the log. What is above the high watermark is left
out: it may yet be taken back, and a coordinator must not answer from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.records.format.attributes import MAGIC_V2
from tidelog.records.format.layout import (
    BASE_TIMESTAMP_OFFSET,
    LAST_OFFSET_DELTA_OFFSET,
    LENGTH_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
)

if TYPE_CHECKING:
    from tidelog.log.partition.partition_log import PartitionLog

READ_CHUNK = 1 << 20


def committed_batches(log: PartitionLog, start: int | None = None) -> Iterator[bytes]:
    """Everything from `start` (or the log's) up to where the high watermark is now, in chunks of whole batches."""
    offset = log.log_start_offset if start is None else max(start, log.log_start_offset)
    end = log.high_watermark
    while offset < end:
        result = log.read(offset, READ_CHUNK, upper_bound=end)
        if result.slice is None or result.slice.size == 0:
            return
        try:
            data = result.slice.read()
        finally:
            result.slice.release()
        whole, offset = whole_batches(data, offset)
        if not whole:
            return
        yield whole


def whole_batches(data: bytes, offset: int) -> tuple[bytes, int]:
    """The whole batches at the front of what was read, and the offset after the last of them."""
    position = 0
    while len(data) - position > MAGIC_OFFSET:
        size = LOG_OVERHEAD + int.from_bytes(data[position + LENGTH_OFFSET : position + LOG_OVERHEAD], "big")
        if len(data) - position < size:
            break
        base = int.from_bytes(data[position : position + LENGTH_OFFSET], "big", signed=True)
        delta = 0
        if data[position + MAGIC_OFFSET] == MAGIC_V2:
            last_delta = data[position + LAST_OFFSET_DELTA_OFFSET : position + BASE_TIMESTAMP_OFFSET]
            delta = int.from_bytes(last_delta, "big")
        offset = max(offset, base + delta + 1)
        position += size
    return data[:position], offset
