"""Reads segments through the compiled loops and writes what they keep into `.cleaned` segments.

A `Rewriter` belongs to one thread and is used for one log after the other; its memory is fixed: the offset map, a read
buffer that grows only for a batch that does not fit it, and the kernel's scratch. Nothing here changes a log: its
owner swaps the new segments in (`CleanJob.apply`).

The output of a group is one segment as a rule. It is written with the suffix `.cleaned`, cut to size, synced and given
the age of the newest of its sources before the owner hears of it: from then on a crash may come at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.common.errors import CorruptRecordError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT32
from tidelog.log.cleaner import legacy
from tidelog.log.cleaner._cleaner import FULL, LEGACY, MORE, CleanerKernel
from tidelog.log.cleaner._offset_map import OffsetMap
from tidelog.log.cleaner.cleaned_transactions import CleanedTransactions
from tidelog.log.cleaner.config import CleanerConfig
from tidelog.log.cleaner.throttler import Throttler
from tidelog.log.names import CLEANED
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.layout import LOG_OVERHEAD, MESSAGE_OVERHEAD_V0, entry_size
from tidelog.records.kernel._batches import BatchRun


class CleanerStats:
    """What one pass did. `keyless` counts records without a key, which are dropped: a compacted topic refuses them, but
    a topic may have become one."""

    def __init__(self) -> None:
        self.map_messages = 0
        self.map_bytes = 0
        self.map_utilization = 0.0
        self.read_messages = 0
        self.read_bytes = 0
        self.kept_messages = 0
        self.kept_bytes = 0
        self.keyless = 0
        self.seconds = 0.0


class FilterRules(NamedTuple):
    """What decides about a record, beside the map."""

    now_ms: int
    delete_retention_ms: int
    #: Magic 0 and 1 have no delete horizon: their tombstones stay while the segment's file is younger than this.
    legacy_horizon_ms: int
    last_records: dict[int, tuple[int, int]]


class _Output:
    """The segments that a group becomes: nearly always one."""

    def __init__(self, create: Callable[[int], Segment], mtime_ms: int = 0) -> None:
        self.create = create
        self.mtime_ms = mtime_ms
        self.segments: list[Segment] = []

    def append(self, batches: bytes, kept: list[AbortedTxn]) -> None:
        """Write what a chunk has left, and index the aborted transactions whose markers are in it."""
        run = BatchRun(batches)
        run.scan()
        first, last = run.header(0), run.header(len(run) - 1)
        current = self.segments[-1]
        too_large = max(current.size + len(batches), last.last_offset - current.base_offset) > MAX_INT32
        if current.size > 0 and too_large:  # recompression can make data grow, and gaps can stretch offsets
            self.finish(current)
            current = self.create(first.base_offset)
            self.segments.append(current)
        run.release()
        current.append_bytes(batches)
        self.index(kept)

    def index(self, kept: list[AbortedTxn]) -> None:
        for transaction in kept:
            self.segments[-1].txn_index.append(transaction)
        kept.clear()

    def finish(self, segment: Segment) -> None:
        """Make a segment durable, names included: the swap relies on it."""
        segment.become_inactive()
        segment.flush()
        segment.set_mtime(self.mtime_ms)
        segment.home.fs.sync_dir(segment.home.path)


class Rewriter:
    """One thread's tools. `check` is called often and raises CleaningAborted when the work has become pointless."""

    def __init__(self, config: CleanerConfig, throttler: Throttler) -> None:
        self.offsets = OffsetMap(config.map_memory)
        self._most_entries = int(self.offsets.slots * config.load_factor)
        if self._most_entries < 1:
            raise ValueError("log.cleaner.dedupe.buffer.size is too small to hold a single key")
        self._kernel = CleanerKernel()
        self._throttler = throttler
        self._buffer_size = config.read_buffer
        self._buffer = bytearray(self._buffer_size)
        self.check: Callable[[], None] = lambda: None
        self.stats = CleanerStats()

    # --- the map --------------------------------------------------------------------------------------------------

    def build_map(
        self, segments: Sequence[Segment], start: int, position: int, end: int, aborted: list[AbortedTxn]
    ) -> int:
        """Note the latest offset of every key of [start, end); return the offset up to which that succeeded.

        `position` is where to begin in the first segment. When the map is full the rest waits for the next pass.
        """
        self.offsets.clear(end - start)  # no more keys than offsets
        transactions = CleanedTransactions()
        transactions.add_aborted(aborted)
        for number, segment in enumerate(segments):
            if self._index_segment(segment, start, position, transactions):
                break
            following = segments[number + 1].base_offset if number + 1 < len(segments) else end
            self.offsets.update_latest_offset(following - 1)  # gaps at the segment's end belong to what is known
            position = 0
        self.stats.map_utilization = self.offsets.utilization
        return self.offsets.latest_offset + 1

    def _index_segment(self, segment: Segment, start: int, position: int, transactions: CleanedTransactions) -> bool:
        """True when the map became full."""

        def step(size: int) -> tuple[int, int]:
            status, done = self._kernel.index(self.offsets, self._buffer, size, start, self._most_entries, transactions)
            self.stats.map_bytes += done
            return status, done

        def old_step(entry: memoryview) -> bool:
            self.stats.map_bytes += len(entry)
            return legacy.index_entry(self.offsets, entry, start, self._most_entries)

        before = self._kernel.messages_read
        full = self._walk(segment, position, step, old_step)
        self.stats.map_messages += self._kernel.messages_read - before
        return full

    # --- the copy -------------------------------------------------------------------------------------------------

    def clean_group(
        self, group: Sequence[Segment], rules: FilterRules, transactions: CleanedTransactions,
        aborted_in: Callable[[Segment], list[AbortedTxn]],
    ) -> list[Segment]:  # fmt: skip
        """Copy what the map lets stay into new `.cleaned` segments, synced and ready to be swapped in."""
        kept: list[AbortedTxn] = []
        transactions.keep = kept.append
        source = group[0]
        output = _Output(lambda base: Segment.create(source.home, base, source.config, suffix=CLEANED))
        output.segments.append(output.create(source.base_offset))
        try:
            for segment in group:
                transactions.add_aborted(aborted_in(segment))
                output.mtime_ms = segment.mtime_ms
                self._filter_segment(segment, rules, transactions, output, kept)
            output.finish(output.segments[-1])
        except BaseException:
            for segment in output.segments:
                segment.delete()
            raise
        return output.segments

    def _filter_segment(
        self, segment: Segment, rules: FilterRules, transactions: CleanedTransactions, output: _Output,
        kept: list[AbortedTxn],
    ) -> None:  # fmt: skip
        """Copy one segment of the group, chunk by chunk. The aborted transactions whose markers stay are indexed with
        the chunk that holds them; a step either writes and indexes all of its chunk, or fails the pass."""
        hold_tombstones = segment.mtime_ms > rules.legacy_horizon_ms

        def write(batches: bytes) -> None:
            if batches:
                output.append(batches, kept)
                self.stats.kept_bytes += len(batches)
                self._throttler.spend(len(batches))
            output.index(kept)

        def step(size: int) -> tuple[int, int]:
            status, done, batches = self._kernel.filter(
                self.offsets, self._buffer, size, rules.now_ms, rules.delete_retention_ms, transactions,
                rules.last_records,
            )  # fmt: skip
            self.stats.read_bytes += done
            write(batches)
            return status, done

        def old_step(entry: memoryview) -> bool:
            self.stats.read_bytes += len(entry)
            horizon = rules.now_ms + rules.delete_retention_ms
            result = legacy.filter_entry(self.offsets, entry, hold_tombstones, horizon)
            self.stats.read_messages += result.read
            self.stats.kept_messages += result.kept
            self.stats.keyless += result.keyless
            write(result.batch)
            return False

        kernel = self._kernel
        before = (kernel.messages_read, kernel.messages_retained, kernel.keyless)
        self._walk(segment, 0, step, old_step)
        self.stats.read_messages += kernel.messages_read - before[0]
        self.stats.kept_messages += kernel.messages_retained - before[1]
        self.stats.keyless += kernel.keyless - before[2]

    # --- reading --------------------------------------------------------------------------------------------------

    def _walk(
        self, segment: Segment, position: int, step: Callable[[int], tuple[int, int]],
        old_step: Callable[[memoryview], bool],
    ) -> bool:  # fmt: skip
        """Read the segment in chunks through `step`, entries of magic 0 and 1 through `old_step`; true: stopped.

        A chunk ends inside a batch as a rule; the next one begins with that batch. A batch that is larger than the
        whole buffer makes it grow, and the buffer is given back afterwards: one such batch must not cost memory for
        good.
        """
        try:
            while position < segment.size:
                self.check()
                have = segment.data.read_into(position, self._buffer)
                self._throttler.spend(have)
                status, done = step(have)
                if status == FULL:
                    return True
                position += done
                if status == LEGACY:
                    size = self._entry_size(done, have)
                    if done + size <= have:
                        if old_step(memoryview(self._buffer)[done : done + size]):
                            return True
                        position += size
                        continue
                if done == 0 and status in (MORE, LEGACY):
                    self._grow(segment, position, have)
            return False
        finally:
            if len(self._buffer) > self._buffer_size:
                self._buffer = bytearray(self._buffer_size)

    def _entry_size(self, start: int, have: int) -> int:
        """The size that an entry of magic 0 or 1 claims, if it can be true."""
        size = entry_size(self._buffer, start)
        if size < LOG_OVERHEAD + MESSAGE_OVERHEAD_V0:
            raise CorruptRecordError(f"an entry of {size} bytes", start)
        return size

    def _grow(self, segment: Segment, position: int, have: int) -> None:
        """Not one batch fitted into the buffer: make room for it, if the segment holds all of it."""
        needed = entry_size(self._buffer) if have >= LOG_OVERHEAD else 0
        if needed <= have or needed > segment.size - position:
            raise CorruptRecordError(f"{segment.data.path}: no whole batch of {needed} bytes", position)
        self._buffer = bytearray(needed)
