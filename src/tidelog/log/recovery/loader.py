"""Opening a partition's directory: settling what a crash left, loading segments, recovering what is suspect.

1. `.deleted` files go. A `.cleaned` file is a cleaner's unfinished output and goes too, with every `.swap` file at or
   above the first of them: those belong to a replacement that had not been decided.
2. Other `.swap` files are finished replacements. What they replace (the plain files whose offset lies in
   [smallest base, largest next offset)) goes, then they take their plain names. One of their own files may have its
   plain name already and goes with the others: the segment is recovered.
3. The segments are loaded. An index without its `.log` goes; a segment without its `.index`, or with a broken
   `.txnindex`, is recovered even after a clean stop.
4. After an unclean stop every segment from the recovery point on is recovered, oldest first; at the first cut, what
   follows is deleted. A segment whose offsets are further apart than its indexes can tell is split first. What was
   found counts as not durable (`unsynced.py`): it may have outlived the process, but not yet the machine.
5. If the log ends below its log start offset, nothing of it is valid: it begins anew, empty, at the log start offset.
6. Leader epochs and producers are cut to the log's ends and completed.

Nothing here is lost that was acknowledged and synced; what goes was never whole, or is held by other files. Each step
may be cut off by another crash, and the next start begins again at step 1 with whatever that left.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng
from tidelog.common.types import MAX_INT64
from tidelog.log.config import LogConfig
from tidelog.log.leader_epochs import LeaderEpochs
from tidelog.log.names import (
    CLEANED,
    DELETED,
    INDEX,
    INDEX_KINDS,
    LOG,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TXN_INDEX,
    split_name,
)
from tidelog.log.producers.state_manager import ProducerStateManager
from tidelog.log.recovery.recovery import SegmentOverflowError, rebuild_producers, recover_empty, recover_segment
from tidelog.log.segment._index import CorruptIndexError
from tidelog.log.segment.home import Home
from tidelog.log.segment.replacement import split, swap_in
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.segments import Segments

_LOG = logging.getLogger(__name__)

#: A file's name begins with the base offset, in so many digits.
_DIGITS = 20


class LoadedLog(NamedTuple):
    """A log as it was found, and made sound. After an unclean stop the recovery point stays where it was: what lies
    behind it was read, not synced."""

    segments: Segments
    log_start_offset: int
    recovery_point: int
    next_offset: int
    #: Segments that a cut left without a place; their files are renamed, the owner removes them later.
    dropped: list[Segment]


class LogLoader:
    """One loading of one partition."""

    def __init__(
        self,
        home: Home,
        config: LogConfig,
        *,
        rng: Rng,
        epochs: LeaderEpochs,
        log_start_offset: int,
        recovery_point: int,
        clean: bool,
        expiration_ms: int,
    ) -> None:
        self._home = home
        self._fs = home.fs
        self._config = config
        self._rng = rng
        self._epochs = epochs
        self._log_start = log_start_offset
        self._recovery_point = recovery_point
        self._clean = clean
        self._expiration_ms = expiration_ms
        self._segments = Segments()
        #: The files that were found, with their sizes.
        self._sizes: Mapping[str, int] = {}
        self._dropped: list[Segment] = []
        #: Segments whose indexes are missing or broken, oldest first.
        self._unindexed: list[Segment] = []
        #: Base offsets of replacements of which a file was lost.
        self._incomplete: set[int] = set()
        #: Whether batches were replayed, which may leave other snapshots than were found.
        self._replayed = False

    def load(self, sizes: Mapping[str, int]) -> tuple[LoadedLog, ProducerStateManager]:
        """Load what lies in the directory: `sizes` by name, sorted."""
        if any(name.endswith((DELETED, CLEANED, SWAP)) for name in sizes):
            self._settle(list(sizes))
            sizes = self._fs.sizes(self._home.path)
        self._sizes = sizes
        snapshots = self._load_segments(sizes)
        next_offset, recovery_point = self._recover()
        self._epochs.truncate_from_end(next_offset)
        log_start = max(self._log_start, self._segments.first.base_offset)
        self._epochs.truncate_from_start(log_start)
        producers = self._producers(None if self._replayed else snapshots)
        producers.remove_stray_snapshots(self._segments.bases)
        rebuild_producers(
            producers, self._segments, log_start, next_offset, clean=self._clean, now_ms=self._home.clock.time_ms()
        )
        if not self._clean:
            self._trust_nothing(producers)
        return LoadedLog(self._segments, log_start, recovery_point, next_offset, self._dropped), producers

    def _trust_nothing(self, producers: ProducerStateManager) -> None:
        """What was found after an unclean stop may be in the page cache alone: it is not durable before it is synced.

        Batches and indexes from the recovery point on are known by their offsets.
        """
        self._home.unsynced.add_name()
        for offset in producers.snapshots:
            self._home.unsynced.add_snapshot(offset)

    def begin(self) -> tuple[LoadedLog, ProducerStateManager]:
        """The same for a directory that was made just now: there is nothing to settle, to load or to recover."""
        jitter = self._config.random_jitter_ms(self._rng)
        start = self._log_start
        self._segments.add(Segment.create(self._home, start, self._config, jitter_ms=jitter, fresh=True))
        producers = self._producers([])
        now = self._home.clock.time_ms()
        rebuild_producers(producers, self._segments, start, start, clean=True, now_ms=now)
        return LoadedLog(self._segments, start, min(self._recovery_point, start), start, []), producers

    def _producers(self, snapshots: list[int] | None) -> ProducerStateManager:
        return ProducerStateManager(self._home, expiration_ms=self._expiration_ms, snapshots=snapshots)

    # ---- what a crash left

    def _settle(self, names: list[str]) -> None:
        """Steps 1 and 2 of the module's text."""
        undecided = min((self._offset(name) for name in names if name.endswith(CLEANED)), default=MAX_INT64)
        swaps = []
        for name in names:
            if name.endswith((DELETED, CLEANED)) or (name.endswith(SWAP) and self._offset(name) >= undecided):
                self._remove(name)
            elif name.endswith(SWAP):
                swaps.append(name)
        if swaps:
            self._finish_replacement(swaps)

    def _offset(self, name: str) -> int:
        """The base offset in a file's name; behind everything for a name that is none of ours."""
        parts = split_name(name)
        return parts[0] if parts is not None else MAX_INT64

    def _remove(self, name: str) -> None:
        _LOG.info("%s: removing a leftover", self._home.file(name))
        self._fs.unlink(self._home.file(name), missing_ok=True)

    def _finish_replacement(self, swaps: list[str]) -> None:
        """Step 2: carry out what had been decided. How far a replacement reaches is told by its own batches, as its
        indexes may not have been renamed yet; plain files in that range are the old segments, or a part of the new one
        that got its plain name already and is to be recovered."""
        new = [
            Segment.load(self._home, self._offset(name), self._config, suffix=SWAP)
            for name in swaps
            if name.endswith(LOG + SWAP)
        ]
        start = min((segment.base_offset for segment in new), default=MAX_INT64)
        end = max((_last_offset(segment) + 1 for segment in new), default=-1)
        for name in self._fs.listdir(self._home.path):
            parts = split_name(name)
            if parts is not None and parts[2] == "" and start <= parts[0] < end:
                self._remove(name)
                self._incomplete.update(segment.base_offset for segment in new if segment.base_offset == parts[0])
        self._fs.sync_dir(self._home.path)  # what goes is gone before the names say that all is done
        for name in swaps:
            self._fs.rename(self._home.file(name), self._home.file(name.removesuffix(SWAP)))
        self._fs.sync_dir(self._home.path)

    # ---- loading

    def _load_segments(self, sizes: Mapping[str, int]) -> list[int]:
        """Load every segment; returns the offsets of the snapshots."""
        snapshots = []
        for name, size in sizes.items():
            parts = split_name(name)
            if parts is None or parts[2]:
                continue
            base_offset, kind, _ = parts
            if kind == SNAPSHOT:
                snapshots.append(base_offset)
            elif kind in INDEX_KINDS and name[:_DIGITS] + LOG not in sizes:
                _LOG.warning("%s: removing an index without its segment", self._home.file(name))
                self._fs.unlink(self._home.file(name))
            elif kind == LOG:
                self._load_segment(base_offset, name[:_DIGITS], size)
        return snapshots

    def _load_segment(self, base_offset: int, digits: str, size: int) -> None:
        """Step 3 for one segment. Its indexes are not opened: that they are there is enough after a clean stop, and
        after another they are rebuilt anyway from the recovery point on."""
        sizes = self._sizes
        segment = Segment.load(
            self._home,
            base_offset,
            self._config,
            jitter_ms=self._config.random_jitter_ms(self._rng),
            size=size,
            txn_index_size=sizes.get(digits + TXN_INDEX, 0),
        )
        sound = base_offset not in self._incomplete and digits + INDEX in sizes and digits + TIME_INDEX in sizes
        try:
            if segment.has_aborted:
                _ = segment.txn_index.entries
        except CorruptIndexError as error:
            _LOG.warning("%s", error)
            sound = False
        if not sound:
            _LOG.warning("%s: rebuilding missing or corrupt indexes", segment.data.path)
            self._unindexed.append(segment)
        self._segments.add(segment)

    # ---- recovery

    def _recover(self) -> tuple[int, int]:
        """Steps 4 and 5; returns the log end offset and the recovery point.

        After a clean stop everything is synced, so the recovery point is the log's end. Otherwise it stays where the
        checkpoint had it: that the data is sound does not mean that it is durable.
        """
        suspects = list(self._segments.between(self._recovery_point)) if self._segments and not self._clean else []
        if suspects and suspects[0].base_offset >= self._recovery_point:
            self._check_indexes_before(suspects[0])
        for segment in self._unindexed:  # before the others, and in order: recovery reads what lies before a segment
            if segment not in suspects:
                self._recover_in_order([segment])
        self._drop(self._recover_in_order(suspects))
        next_offset = self._segments.last.next_offset() if self._segments else -1
        intact = next_offset >= self._log_start
        if self._segments and not intact:
            _LOG.error(
                "%s: the log ends at %d, below its start %d; nothing of it is valid",
                self._home.path, next_offset, self._log_start,
            )  # fmt: skip
            self._drop(list(self._segments.all))
            self._replayed = True
            self._epochs.clear()
            self._producers(None).restart_at(self._log_start)
        if not self._segments:
            jitter = self._config.random_jitter_ms(self._rng)
            self._segments.add(Segment.create(self._home, self._log_start, self._config, jitter_ms=jitter))
            next_offset = self._log_start
        if self._clean and intact:
            return next_offset, next_offset
        return next_offset, min(self._recovery_point, next_offset)

    def _check_indexes_before(self, first: Segment) -> None:
        """A segment that was flushed to its last batch, and then ended, lies below the recovery point; but that its
        indexes were cut to size may be lost. Then they end with zeros."""
        before = self._segments.floor(first.base_offset - 1)
        if before is None or before in self._unindexed:
            return
        try:
            before.offset_index.check()
            before.time_index.check()
        except CorruptIndexError as error:
            _LOG.warning("%s", error)
            self._unindexed.append(before)

    def _recover_in_order(self, suspects: list[Segment]) -> list[Segment]:
        """Recover segments up to the first that had to be cut; returns those behind it."""
        while suspects:
            segment = suspects.pop(0)
            try:
                cut = self._recover_segment(segment)
            except SegmentOverflowError:
                suspects[:0] = self._split(segment)
                continue
            if cut > 0:
                break
        return suspects

    def _split(self, segment: Segment) -> list[Segment]:
        """Put several segments in the place of one whose offsets are too far apart; they are recovered in its place."""
        _LOG.warning("%s: splitting: its offsets are too far apart", segment.data.path)
        parts = split(self._home, segment, self._config)
        swap_in(self._home, parts, [segment])
        self._segments.replace(parts, [segment])
        self._dropped.append(segment)
        return parts

    def _recover_segment(self, segment: Segment) -> int:
        """Step 4 for one segment; returns how many bytes were cut off. The producers are brought to its start first, so
        that a duplicate is told from a gap, and a snapshot is left at its end for the next segment."""
        if segment.size == 0:
            recover_empty(segment, self._sizes)
            return 0
        _LOG.debug("%s: recovering", segment.data.path)
        self._replayed = True
        producers = self._producers(None)
        now = self._home.clock.time_ms()
        rebuild_producers(producers, self._segments, self._log_start, segment.base_offset, clean=False, now_ms=now)
        cut = recover_segment(segment, producers, self._epochs)
        producers.take_snapshot()
        return cut

    def _drop(self, segments: list[Segment]) -> None:
        """Take segments out of the log; newest first, so that a crash in between leaves no gap."""
        self._segments.remove(segments)
        for segment in reversed(segments):
            segment.mark_deleted()
            self._dropped.append(segment)


def _last_offset(segment: Segment) -> int:
    """The last offset of a segment whose index may be missing: by its batches."""
    last = segment.base_offset - 1
    for _, run in segment.batches():
        last = run.header(len(run) - 1).last_offset
    segment.release()
    return last
