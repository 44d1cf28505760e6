"""Which aborted transactions a `read_committed` consumer must know of to make sense of what it is sent.

The broker sends aborted records like any others; beside them it names, by producer and first offset, the transactions
among them that were aborted, and the consumer leaves those out up to their markers. A transaction is found in the index
of the segment that holds its *end*, which may lie behind everything that is sent: so the search goes on, segment by
segment, until an entry's last stable offset says that no later one can begin below the end.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.log.append import ReadResult
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.segments import Segments
from tidelog.log.segment.txn_index import AbortedTxn


def aborted_between(segments: Iterable[Segment], start: int, end: int) -> list[AbortedTxn]:
    """The aborted transactions that overlap [start, end). `segments`: from the one that holds `start` on."""
    found: list[AbortedTxn] = []
    for segment in segments:
        if not segment.has_aborted:
            continue
        more, complete = segment.txn_index.collect(start, end)
        found += more
        if complete:
            break
    return found


def end_of(found: ReadResult, segments: Segments, log_end_offset: int) -> int | None:
    """An offset above all that a read has found, by the index alone; None: it has found nothing.

    The bytes that were read end somewhere between two index entries. Walking the batches would tell where; the next
    entry is near enough, as a transaction too many does no harm to the consumer.
    """
    segment = segments.floor(found.first_offset)
    if found.slice is None or segment is None:
        return None
    end = segment.offset_behind(found.slice.position + found.slice.size)
    if end is not None:
        return end
    following = segments.higher(segment.base_offset)
    return log_end_offset if following is None else following.base_offset
