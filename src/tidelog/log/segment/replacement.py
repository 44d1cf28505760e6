"""Putting new segments in the place of old ones so that a crash at any point leaves one or the other.

    new   .cleaned ──► .swap (largest base first) ──► sync                     ──► plain name
    old                                                  └─► .deleted ──► sync

While a `.cleaned` file is left, the replacement is undecided and the loader throws the new segments away; once all
carry `.swap` it is decided and the loader completes it. A disk may keep any of the renames between two syncs and lose
the others: so each step is synced before the next, but for the last, which the loader can do again (the log's next
flush makes it durable). The cleaner replaces a group of segments by what compaction keeps; the loader replaces one
whose offsets are too far apart by several (`split`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.common.types import MAX_INT32
from tidelog.log.config import LogConfig
from tidelog.log.names import CLEANED, SWAP
from tidelog.log.segment.home import Home
from tidelog.log.segment.segment import Segment
from tidelog.records.format.batch import RecordBatch
from tidelog.records.kernel._batches import BatchRun


def swap_in(home: Home, new: Sequence[Segment], old: Sequence[Segment]) -> None:
    """Rename the files of both; `new` carry `.cleaned` and are synced, names as well."""
    for segment in sorted(new, key=lambda segment: -segment.base_offset):
        segment.change_suffix(CLEANED, SWAP)
        home.fs.sync_dir(home.path)
    for segment in old:
        segment.mark_deleted()
    home.fs.sync_dir(home.path)
    for segment in new:
        segment.change_suffix(SWAP, "")


def split(home: Home, segment: Segment, config: LogConfig) -> list[Segment]:
    """The batches of a segment as segments (`.cleaned`, synced) in which every offset is within reach of the base.

    Kafka before 1.1 could compact segments together whose offsets are more than 2^31-1 apart (KAFKA-6264). A segment is
    named by its first record, which a packed entry of magic 0 or 1 (Kafka's usual ones before 1.1) has inside.
    """
    parts: list[Segment] = []
    for _, run in segment.batches():
        for index, header in enumerate(run.headers()):
            if not parts or header.last_offset - parts[-1].base_offset > MAX_INT32:
                parts.append(Segment.create(home, _first_offset(run, index), config, suffix=CLEANED))
            one = run.take(index, index + 1)
            buffers = one.buffers()
            parts[-1].append(one, buffers)
            for buffer in buffers:
                buffer.release()
            one.release()
    for part in parts:
        part.become_inactive()
        part.flush()
        part.set_mtime(segment.mtime_ms)
    home.fs.sync_dir(home.path)
    return parts


def _first_offset(run: BatchRun, index: int) -> int:
    batch = RecordBatch(run, index)
    try:
        return batch.base_offset
    finally:
        batch.raw.release()
