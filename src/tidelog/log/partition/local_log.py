"""LocalLog: the segments of a partition, in a row, as files. It knows neither offsets that matter to replicas nor
producers or epochs: `PartitionLog` has one, and has those beside it (Kafka's `UnifiedLog` and `LocalLog`).

There is always at least one segment, and only the last (the active one) is written to. Files that are no longer needed
get the suffix `.deleted` and are removed after `file.delete.delay.ms`, through the scheduler that the log was given: a
reader that found the segment just before can finish. A start removes what is left of them at once: nobody reads yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.common.errors import StorageError
from tidelog.common.rng import Rng
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import NO_OFFSET
from tidelog.log.config import LogConfig
from tidelog.log.names import DELETED, snapshot_name
from tidelog.log.segment.home import Home
from tidelog.log.segment.replacement import swap_in
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.segments import Segments

_NO_BOUND = (NO_OFFSET, 0, 0)


class LocalLog:
    """See the module's text. The segments that a call removes from the row are returned: what belongs to them (the
    producers' snapshots) is another's to remove."""

    __slots__ = ("_bound", "_rng", "_scheduler", "active", "config", "cuts", "deleted", "home", "segments")

    def __init__(self, home: Home, config: LogConfig, segments: Segments, rng: Rng, scheduler: Scheduler) -> None:
        self.home = home
        self.config = config
        self.segments = segments
        self.active = segments.last
        self._rng = rng
        self._scheduler = scheduler
        #: Nothing will be appended any more; the files are on their way out.
        self.deleted = False
        #: How often the log was cut: a flush that was begun before a cut says nothing of what is written after it.
        self.cuts = 0
        #: (offset, base offset of its segment, position): where the last upper bound of a read lies.
        self._bound = _NO_BOUND

    def reconfigure(self, config: LogConfig) -> None:
        """Use another configuration from now on; index sizes apply from the next segment on."""
        self.config = config
        for segment in self.segments.all:
            segment.config = config
            segment.indexes.interval = config.index_interval_bytes

    def bound_position(self, segment: Segment, bound: int) -> int | None:
        """Where the first batch lies that a read below `bound` must not return; None: not in this segment.

        Consumers that wait at the end all ask with the same bound, the high watermark: the last answer is kept.
        """
        known, base_offset, position = self._bound
        if known == bound:
            return position if base_offset == segment.base_offset else None
        if self.segments.floor(bound) is not segment:
            return None
        found = segment.translate(bound)
        position = segment.size if found is None else found.position
        if segment is not self.active or found is not None:
            self._bound = (bound, segment.base_offset, position)
        return position

    # ---- rolling

    def roll(self, base_offset: int) -> None:
        """Begin a new segment. The present one is finished; if it is empty and has that base, it is made anew."""
        active = self.active
        if active.base_offset == base_offset:
            if active.size:
                raise StorageError(
                    f"{self.home.path}: a segment with base offset {base_offset} exists and is not empty"
                )
            self.segments.remove([active])  # empty, but its indexes have no room
            active.removed = True
            active.delete()
        else:
            active.become_inactive()
        self._add_segment(base_offset)

    def _add_segment(self, base_offset: int) -> None:
        jitter = self.config.random_jitter_ms(self._rng)
        self.active = Segment.create(self.home, base_offset, self.config, jitter_ms=jitter)
        self.segments.add(self.active)

    # ---- removing

    def remove(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        """Take segments out of the log and mark their files; they are removed after the delay."""
        self.segments.remove(segments)
        for segment in segments:
            segment.mark_deleted()
        self.unlink_later(segments)
        return segments

    def unlink_later(self, segments: Sequence[Segment]) -> None:
        """Remove files that are marked already, after `file.delete.delay.ms`."""
        if segments:
            doomed = tuple(segments)
            self._scheduler.call_later(self.config.file_delete_delay_ms / 1000, lambda: self._unlink(doomed))

    def _unlink(self, segments: Sequence[Segment]) -> None:
        """Remove files that were marked. Their directory may be gone by now."""
        if self.deleted and not self.home.fs.exists(self.home.path):
            for segment in segments:
                segment.release()
            return
        for segment in segments:
            segment.delete()
            self.home.fs.unlink(self.home.file(snapshot_name(segment.base_offset, DELETED)), missing_ok=True)

    def replace(self, new: Sequence[Segment], old: Sequence[Segment]) -> Sequence[Segment]:
        """Put cleaned segments (`.cleaned`, synced) in the place of those that they were made from.

        Returns those whose base offset no segment has any more.
        """
        present = {id(segment) for segment in self.segments.all}
        replaced = [segment for segment in old if id(segment) in present]
        swap_in(self.home, new, replaced)
        self.segments.replace(new, replaced)
        self._bound = _NO_BOUND
        self.unlink_later(replaced)
        kept = {segment.base_offset for segment in new}
        return [segment for segment in replaced if segment.base_offset not in kept]

    # ---- truncation

    def cut(self, offset: int) -> Sequence[Segment]:
        """Drop everything from `offset` on, which lies within the log."""
        gone = [segment for segment in self.segments.all if segment.base_offset > offset]
        self.remove(list(reversed(gone)))
        self.active = self.segments.last
        self.active.truncate_to(offset)
        self._was_cut()
        return gone

    def restart(self, offset: int) -> Sequence[Segment]:
        """Drop everything and begin again, empty, at `offset`."""
        gone = self.remove(self.segments.all)
        self._add_segment(offset)
        self._was_cut()
        return gone

    def _was_cut(self) -> None:
        """Positions and flushes from before speak of bytes that are gone."""
        self.cuts += 1
        self._bound = _NO_BOUND

    # ---- life

    def finish(self) -> None:
        """The last changes before a close: cut the files to size. Nothing is synced yet."""
        for segment in self.segments.all:
            segment.finish(active=segment is self.active)

    def release(self) -> None:
        """Close the files and write nothing."""
        for segment in self.segments.all:
            segment.release()

    def delete(self) -> None:
        """Remove every file and the directory."""
        self.deleted = True
        self.release()
        for name in self.home.fs.listdir(self.home.path):
            self.home.fs.unlink(self.home.file(name), missing_ok=True)
        self.home.fs.rmdir(self.home.path)
