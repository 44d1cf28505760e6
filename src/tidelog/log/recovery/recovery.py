"""Rebuilding what is derived from the data: indexes, leader epochs and producers, from the batches of a segment.

After an unclean stop everything from the recovery point on is suspect: bytes may be missing, torn or never written. A
segment is read from its start; every batch must be whole, have the right checksum, and an offset above the one before
it that the segment can hold. The file is cut at the first that is not. Nothing behind a cut can be trusted, so later
segments are deleted.

A cut loses nothing that was promised: what was acknowledged with `acks=all` is on other replicas, from which this one
fetches it again. A log without replicas that must not lose what it acknowledged sets `flush.messages`: then everything
is synced before it counts.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tidelog.common.errors import CorruptRecordError
from tidelog.common.types import MAX_INT32
from tidelog.log.append import AppendOrigin
from tidelog.log.leader_epochs import LeaderEpochs
from tidelog.log.producers._producers import has_producers
from tidelog.log.producers.state_manager import ProducerStateManager
from tidelog.log.recovery._runs import after_control, batch_at, drop_below, epoch_starts, in_order, size_of
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.segments import Segments
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.kernel._batches import BatchRun

_LOG = logging.getLogger(__name__)


class SegmentOverflowError(Exception):
    """The segment holds offsets that its indexes cannot: it must be split."""


def recover_segment(segment: Segment, producers: ProducerStateManager, epochs: LeaderEpochs) -> int:
    """Check a segment batch by batch, rebuild its indexes, cut it at the first bad batch; return the bytes cut.

    `producers` describes the log up to the segment's start, and up to its end afterwards. Raises SegmentOverflowError.
    """
    segment.home.unsynced.add_segment(segment)
    segment.indexes.restart()
    segment.txn_index.reset()
    valid, last_offset = 0, segment.base_offset - 1
    try:
        for position, run in segment.batches():
            count = _sound_batches(run, segment, last_offset)
            segment.indexes.recover(run, 0, count, position)
            for epoch, offset in epoch_starts(run, 0, count, epochs.noted_epoch):
                epochs.assign(epoch, offset)
            replay(producers, run, 0, count, segment)
            valid = position + size_of(run, 0, count)
            if count < len(run):
                header = run.header(count)
                if header.last_offset - segment.base_offset > MAX_INT32 and _is_sound(run, count):
                    raise SegmentOverflowError(str(segment.data.path))
                break
            last_offset = run.header(count - 1).last_offset
    except CorruptRecordError as error:
        _LOG.warning("%s: found bytes that are no batch: %s", segment.data.path, error)
    cut = segment.data.size - valid
    if cut:
        _LOG.warning("%s: cutting %d bytes behind the last good batch", segment.data.path, cut)
    segment.data.truncate(valid)
    segment.set_max_timestamp(segment.indexes.max_timestamp, segment.indexes.offset_of_max_timestamp)
    segment.indexes.force_time_entry()
    segment.offset_index.trim()
    segment.time_index.trim()
    return cut


def recover_empty(segment: Segment, sizes: Mapping[str, int]) -> None:
    """The same for a segment without a byte: there is nothing to read, and nothing may be found in it.

    Most partitions of a large cluster are idle, and a broker that was killed recovers thousands of these: by the sizes
    of its files (by name) this is done without opening one of them.
    """
    segment.home.unsynced.add_segment(segment)
    segment.empty_indexes(sizes)


def _sound_batches(run: BatchRun, segment: Segment, last_offset: int) -> int:
    """How many batches, from the first on, are what was written behind `last_offset`."""
    sound = in_order(run, segment.base_offset, last_offset)
    try:
        run.check(crc=True, records=False, client=False)
    except CorruptRecordError as error:
        _LOG.warning("%s: %s", segment.data.path, error)
        sound = min(sound, batch_at(run, error.position))
    return sound


def _is_sound(run: BatchRun, index: int) -> bool:
    """Whether one batch has the right checksum: then an offset out of reach is the segment's fault, not the batch's."""
    try:
        run.check(crc=True, records=False, client=False, first=index, stop=index + 1)
    except CorruptRecordError:
        return False
    return True


def replay(
    producers: ProducerStateManager, run: BatchRun, first: int, stop: int, segment: Segment | None = None
) -> None:
    """Apply the batches [first, stop) to the producers' state, and aborted transactions to the segment's index.

    As a replica's: whatever is in the log was accepted once, so nothing is fenced and no sequence is checked. One part
    up to each marker at a time, since what the marker's index entry says depends on what was open just then.
    """
    if first >= stop:
        return
    last = run.header(stop - 1)
    while has_producers(run) and first < stop:
        end = after_control(run, first, stop)
        pending = producers.prepare(run, AppendOrigin.REPLICATION, first, end)
        producers.commit(pending)
        for completed in pending.completed:
            stable = producers.last_stable_offset_after(completed)
            if completed.aborted and segment is not None:
                segment.txn_index.append(
                    AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable)
                )
            producers.complete(completed)
        first = end
    producers.map_end_offset = last.base_offset + last.last_offset_delta + 1


def rebuild_producers(
    producers: ProducerStateManager,
    segments: Segments,
    log_start_offset: int,
    last_offset: int,
    *,
    clean: bool,
    now_ms: int,
) -> None:
    """Bring the producers' state to `last_offset`: the newest snapshot, then the batches behind it.

    On the way a snapshot is taken at the start of each of the last two segments, where recoveries begin as a rule, and
    one at the end. A state that is empty and reaches that far needs no reading: nothing can be behind it.
    """
    snapshot_at = {last_offset, *(segment.base_offset for segment in segments.all[-2:])}
    if clean and not producers.snapshots:
        # A log of a broker that kept no snapshots. Its producers are unknown; saying so at the start of the
        # last two segments and at the end saves reading it all.
        for offset in sorted(snapshot_at):
            producers.map_end_offset = offset
            producers.take_snapshot()
        return
    was_empty = producers.is_empty and producers.map_end_offset >= last_offset
    producers.reload(log_start_offset, last_offset, now_ms)
    if last_offset > producers.map_end_offset and not was_empty:
        for segment in segments.between(producers.map_end_offset, last_offset):
            start = max(segment.base_offset, producers.map_end_offset, log_start_offset)
            producers.map_end_offset = start
            if segment.base_offset in snapshot_at:
                producers.take_snapshot()
            found = segment.translate(start)
            if found is not None:
                for _, run in segment.batches(found.position):
                    first = drop_below(run, start)
                    stop = (
                        len(run) if run.header(len(run) - 1).last_offset < last_offset else drop_below(run, last_offset)
                    )
                    replay(producers, run, first, stop)
    producers.map_end_offset = last_offset
    producers.take_snapshot()
