"""One pass over one log, cut into steps.

    job = cleaner.pick()                   the owner: takes the dirtiest log, remembers its segments
    while not job.finished:
        job.run(rewriter)                  any thread: cleans the next group of segments into new ones
        job.apply()                        the owner: swaps them in
    cleaner.done(job)                      the owner: moves the checkpoint on

Between the steps the log lives on: it is appended to, read, even truncated or deleted. What a job reads is a tuple of
closed segments; before it swaps, `apply` asks whether the job was aborted or these segments changed meanwhile. So the
owner never waits for a cleaner. Only one group's output exists besides its source at any time: that bounds the space.

An aborted job has done no harm: what was swapped in is complete in itself (less data, the same last values), and the
checkpoint, which only `done` moves, makes the next pass look at all of it again.
"""

from __future__ import annotations

from tidelog.log.cleaner.cleaned_transactions import CleanedTransactions
from tidelog.log.cleaner.errors import CleaningAborted
from tidelog.log.cleaner.plan import LogToClean, SegmentSizes, group_segments, segments_between
from tidelog.log.cleaner.rewriter import CleanerStats, FilterRules, Rewriter
from tidelog.log.partition.aborted import aborted_between
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.txn_index import AbortedTxn


class CleanJob:
    """Made by `LogCleaner.pick`. `end_offset` is the first offset that was not cleaned, once the job has run."""

    def __init__(self, target: LogToClean, now_ms: int) -> None:
        self.target = target
        self.log: PartitionLog = target.log
        self.now_ms = now_ms
        self.end_offset = target.first_dirty
        self.finished = False
        self.aborted = False
        self.stats = CleanerStats()
        self._segments = self.log.segments
        self._sizes = {segment.base_offset: segment.size for segment in self._segments}
        self._transactions = CleanedTransactions()
        self._groups: list[list[Segment]] | None = None
        self._replaced: set[int] = set()
        self._legacy_horizon_ms = 0
        self._swap: tuple[list[Segment], list[Segment]] | None = None
        dirty = segments_between(self._segments, target.first_dirty, target.first_uncleanable)
        #: Looked up here because indexes are the owner's.
        self._start_position = dirty[0].offset_index.lookup(target.first_dirty)[1] if dirty else 0
        self._last_records = self._active_producers()

    def abort(self) -> None:
        """The log has changed under the job: nothing more is swapped in. The worker stops at its next look."""
        self.aborted = True

    def _check(self) -> None:
        """Called by the worker between chunks. A flag is enough: it is set once, and seeing it late costs a chunk."""
        if self.aborted:
            raise CleaningAborted

    # --- any thread -----------------------------------------------------------------------------------------------

    def run(self, rewriter: Rewriter) -> None:
        """Clean the next group of segments (the first call builds the map as well)."""
        if self._swap is not None:
            raise RuntimeError("apply the last step first")
        rewriter.check = self._check
        rewriter.stats = self.stats
        clock = self._segments[0].home.clock
        started = clock.monotonic()
        try:
            self._check()
            if self._groups is None:
                self._groups = self._prepare(rewriter)
            if self._groups:
                group = self._groups.pop(0)
                cleaned = rewriter.clean_group(group, self._rules(), self._transactions, self._aborted_in)
                self._swap = (cleaned, group)
        except FileNotFoundError:
            if not self.aborted:
                raise
            raise CleaningAborted from None  # the directory was renamed or removed together with the abort
        finally:
            self.stats.seconds += clock.monotonic() - started

    def _prepare(self, rewriter: Rewriter) -> list[list[Segment]]:
        """Build the map of the dirty part and form the groups of everything up to where the map reaches: clean segments
        are copied as well, since a later record may have replaced what is in them."""
        target = self.target
        dirty = segments_between(self._segments, target.first_dirty, target.first_uncleanable)
        aborted = (
            self._aborted_between(dirty[0].base_offset, target.first_dirty, target.first_uncleanable) if dirty else []
        )
        self.end_offset = rewriter.build_map(
            dirty, target.first_dirty, self._start_position, target.first_uncleanable, aborted
        )
        config = self.log.config
        clean = segments_between(self._segments, 0, target.first_dirty)
        if clean:
            self._legacy_horizon_ms = clean[-1].mtime_ms - config.delete_retention_ms
        sized = [
            SegmentSizes(segment, segment.size, segment.offset_index.size, segment.time_index.size)
            for segment in segments_between(self._segments, 0, self.end_offset)
        ]
        return group_segments(sized, config.segment_size, config.segment_index_bytes, target.first_uncleanable)

    def _rules(self) -> FilterRules:
        retention = self.log.config.delete_retention_ms
        return FilterRules(self.now_ms, retention, self._legacy_horizon_ms, self._last_records)

    def _aborted_in(self, segment: Segment) -> list[AbortedTxn]:
        """The aborted transactions that overlap a segment; their markers may lie in later ones."""
        following = [other.base_offset for other in self._segments if other.base_offset > segment.base_offset]
        end = following[0] if following else segment.next_offset()
        return self._aborted_between(segment.base_offset, segment.base_offset, end)

    def _aborted_between(self, base_offset: int, start: int, end: int) -> list[AbortedTxn]:
        """Those that overlap [start, end): a marker may lie behind it, in any segment from `base_offset` on."""
        return aborted_between((one for one in self._segments if one.base_offset >= base_offset), start, end)

    # --- the owner ------------------------------------------------------------------------------------------------

    def apply(self) -> None:
        """Swap in what the last step made; after the last one the job is finished."""
        swap, self._swap = self._swap, None
        if swap is not None:
            cleaned, group = swap
            if self.aborted or not self._unchanged(group):
                self.aborted = True
                for segment in cleaned:
                    segment.delete()
                raise CleaningAborted
            self.log.replace_segments(cleaned, group)
            self._replaced.update(id(segment) for segment in group)
            self._last_records = self._active_producers()
        self.finished = self._groups is not None and not self._groups

    @property
    def overtaken(self) -> bool:
        """Whether the job was aborted, or the log cut under it: then whatever went wrong says nothing about the log."""
        rest = [segment for segment in self._segments[:-1] if id(segment) not in self._replaced]
        return self.aborted or not self._unchanged(rest)

    def _unchanged(self, group: list[Segment]) -> bool:
        """Whether the log still holds what was read: truncation and deletion need not have told us."""
        present = {id(segment) for segment in self.log.segments}
        return all(id(segment) in present and segment.size == self._sizes[segment.base_offset] for segment in group)

    def discard(self) -> None:
        """Throw away a step that will not be applied: its `.cleaned` files. What a crash leaves of them, a start
        removes."""
        swap, self._swap = self._swap, None
        for segment in swap[0] if swap is not None else []:
            segment.delete()

    def _active_producers(self) -> dict[int, tuple[int, int]]:
        """Last data offset and epoch of each producer that the log remembers: their last batches must not go, or a
        recovery from the batches alone would forget them and take their next one for the first."""
        entries = self.log.producers.entries.values()
        return {entry.producer_id: (entry.last_offset, entry.epoch) for entry in entries}
