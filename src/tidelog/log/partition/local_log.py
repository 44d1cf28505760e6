"""LocalLog: the segments of a partition as files. It knows offsets and positions, but neither producers, epochs nor
replicas; `PartitionLog` adds those.

Files that are no longer needed get the suffix `.deleted` and are removed after `file.delete.delay.ms`, through the
scheduler that the log was given: a reader that found the segment just before can finish.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidelog.common.errors import ErrorCode, KafkaError, StorageError
from tidelog.common.rng import Rng
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import NO_OFFSET, TopicPartition
from tidelog.log.append import ReadResult
from tidelog.log.config import LogConfig
from tidelog.log.names import DELETED, snapshot_name
from tidelog.log.segment.home import Home
from tidelog.log.segment.replacement import swap_in
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.segments import Segments

_NO_BOUND = (NO_OFFSET, 0, 0)


class LocalLog:
    """See the module's text. Offsets below the log start are not served, whether or not they are on disk."""

    def __init__(
        self,
        home: Home,
        config: LogConfig,
        topic_partition: TopicPartition,
        *,
        rng: Rng,
        scheduler: Scheduler,
        segments: Segments,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
    ) -> None:
        self.home = home
        self.config = config
        self.topic_partition = topic_partition
        self._rng = rng
        self._scheduler = scheduler
        self._segments = segments
        self._active = segments.last
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.deleted = False
        #: How often the log was cut: a flush that was begun before a cut says nothing of what is written after it.
        self._cuts = 0
        #: (offset, base offset of its segment, position): where the last upper bound of a read lies.
        self._bound = _NO_BOUND

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset})"

    @property
    def dir(self) -> Path:
        return self.home.path

    @property
    def is_future(self) -> bool:
        """Whether this is the copy of a replica that is being moved to another log directory."""
        return self.home.path.name.endswith("-future")

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self._segments.all

    @property
    def active_segment(self) -> Segment:
        return self._active

    @property
    def size(self) -> int:
        return self._segments.size

    @property
    def unflushed(self) -> int:
        """How many offsets are not synced."""
        return self.log_end_offset - self.recovery_point

    # ---- reading

    def read(
        self, offset: int, max_bytes: int, *, upper_bound: int | None = None, min_one_message: bool = True
    ) -> ReadResult:
        """The batches from the one that holds `offset` on, up to `max_bytes` and nothing at or above `upper_bound`.

        The last batch may be cut; `min_one_message` lets the first be whole whatever its size.
        """
        end = self.log_end_offset
        if offset > end or offset < self.log_start_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition {self.topic_partition}, but we only have log "
                f"segments from offset {self.log_start_offset} up to {end}.",
            )
        bound = end if upper_bound is None else min(upper_bound, end)
        if offset >= bound:
            return ReadResult(None, offset)
        try:
            for segment in self._segments.between(offset, bound):
                limit = self._bound_position(segment, bound) if bound < end else None
                found = segment.read(offset, max_bytes, limit, min_one_message)
                if found is not None:
                    return ReadResult(found.slice, found.base_offset, found.first_batch_incomplete)
        except OSError as error:
            raise self.home.failure(error) from error
        return ReadResult(None, offset)

    def crosses_segments(self, start: int, end: int) -> bool:
        """Whether `end` belongs to a later segment than `start`: then a read from there returns what is left of one."""
        return self._segments.floor(start) is not self._segments.floor(end)

    def _bound_position(self, segment: Segment, bound: int) -> int | None:
        """Where the first batch lies that a read below `bound` must not return; None: not in this segment."""
        known, base_offset, position = self._bound
        if known == bound:
            return position if base_offset == segment.base_offset else None
        if self._segments.floor(bound) is not segment:
            return None
        found = segment.translate(bound)
        position = segment.size if found is None else found.position
        if segment is not self._active or found is not None:
            self._bound = (bound, segment.base_offset, position)
        return position

    # ---- rolling

    def _roll(self, base_offset: int) -> None:
        """Begin a new segment. The present one is finished; if it is empty and has that base, it is made anew."""
        active = self._active
        if active.base_offset == base_offset:
            if active.size:
                raise StorageError(f"{self.dir}: a segment with base offset {base_offset} exists and is not empty")
            self._segments.remove([active])  # empty, but its indexes have no room
            active.removed = True
            active.delete()
        else:
            active.become_inactive()
        self._add_segment(base_offset)

    def _add_segment(self, base_offset: int) -> None:
        jitter = self.config.random_jitter_ms(self._rng)
        self._active = Segment.create(self.home, base_offset, self.config, jitter_ms=jitter)
        self._segments.add(self._active)

    # ---- removing

    def _remove(self, segments: Sequence[Segment]) -> None:
        """Take segments out of the log and mark their files; they are removed after the delay."""
        self._segments.remove(segments)
        for segment in segments:
            segment.mark_deleted()
            self._segment_gone(segment.base_offset)
        self._unlink_later(segments)

    def _segment_gone(self, base_offset: int) -> None:
        """A segment was marked; what belongs to it (its producer snapshot) goes with it."""

    def _unlink_later(self, segments: Sequence[Segment]) -> None:
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

    def replace_segments(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """Put cleaned segments (`.cleaned`, synced) in the place of those that they were made from."""
        with self.home:
            present = {id(segment) for segment in self._segments.all}
            replaced = [segment for segment in old if id(segment) in present]
            swap_in(self.home, new, replaced)
            self._segments.replace(new, replaced)
            kept = {segment.base_offset for segment in new}
            for segment in replaced:
                if segment.base_offset not in kept:
                    self._segment_gone(segment.base_offset)
            self._bound = _NO_BOUND
            self._unlink_later(replaced)

    # ---- truncation

    def _cut_files(self, offset: int) -> None:
        """Drop everything from `offset` on, which lies within the log."""
        gone = [segment for segment in self._segments.all if segment.base_offset > offset]
        self._remove(list(reversed(gone)))
        self._active = self._segments.last
        self._active.truncate_to(offset)
        self._end_at(offset)

    def _restart_files(self, offset: int) -> None:
        """Drop everything and begin again, empty, at `offset`."""
        self._remove(self._segments.all)
        self._add_segment(offset)
        self._end_at(offset)

    def _end_at(self, offset: int) -> None:
        self._cuts += 1
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self._bound = _NO_BOUND

    # ---- life

    def rename(self, dir_name: str, *, sync: bool = True) -> None:
        """Move the directory (`-delete`, `-stray`, a `-future` replica that takes its place)."""
        with self.home:
            self.home.rename(self.home.path.parent / dir_name, sync=sync)

    def mark_deleted(self) -> None:
        """Nothing will be appended any more; `delete` removes the files."""
        self.deleted = True

    def release(self) -> None:
        """Close the files and write nothing: the disk has failed."""
        for segment in self._segments.all:
            segment.release()

    def delete(self) -> None:
        """Remove every file and the directory."""
        self.deleted = True
        with self.home:
            self.release()
            for name in self.home.fs.listdir(self.home.path):
                self.home.fs.unlink(self.home.file(name), missing_ok=True)
            self.home.fs.rmdir(self.home.path)
