"""Work on partitions of a log directory while no broker runs: rebuild indexes, compact.

The directory's lock is held meanwhile, so that neither Tidelog nor Apache Kafka can start on it. What the last broker
wrote down (recovery points, log starts, high watermarks, whether it stopped cleanly) is used and kept: afterwards the
directory is as good for a broker as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import StorageError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.rng import system_rng
from tidelog.common.scheduler import TimerQueue
from tidelog.common.types import MAX_INT64, TopicPartition
from tidelog.log.cleaner.config import CleanerConfig
from tidelog.log.cleaner.job import CleanJob
from tidelog.log.cleaner.plan import LogToClean, measure
from tidelog.log.cleaner.rewriter import CleanerStats, Rewriter
from tidelog.log.cleaner.throttler import Throttler
from tidelog.log.config import LogConfig
from tidelog.log.directory import shutdown_marker
from tidelog.log.directory.log_dir import LogDir
from tidelog.log.names import INDEX_KINDS, split_name
from tidelog.log.partition.opening import Checkpointed, LogSettings
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.reading.reader import PartitionReader
from tidelog.log.reading.verify import ERROR, PartitionVerifier
from tidelog.log.segment.file_budget import FileBudget


class OfflineDirectory:
    """A log directory that is ours for a while; a context manager."""

    def __init__(self, path: Path, *, fs: FileSystem = LOCAL_FS, clock: Clock = SYSTEM_CLOCK) -> None:
        self._dir = LogDir(path, fs)
        self._fs = fs
        self._clock = clock

    def __enter__(self) -> OfflineDirectory:
        self._dir.open()
        self._clean = shutdown_marker.exists(self._fs, self._dir.path)
        self._recovery_points = self._dir.recovery_points()
        self._log_starts = self._dir.log_start_offsets()
        self._high_watermarks = self._dir.high_watermarks()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._dir.close()

    @contextmanager
    def _open(self, tp: TopicPartition, config: LogConfig) -> Iterator[PartitionLog]:
        """A log as a broker would open it. After an error nothing more is written: the next start recovers."""
        scheduler = TimerQueue(self._clock)
        settings = LogSettings(self._fs, self._clock, system_rng(), FileBudget(256), scheduler)
        known = Checkpointed(
            self._recovery_points.get(tp, 0), self._log_starts.get(tp, 0), self._high_watermarks.get(tp), self._clean
        )
        log = PartitionLog.open(self._dir.path / str(tp), config, settings, known)
        try:
            yield log
        except BaseException:
            log.release()
            raise
        log.close()
        scheduler.run_all()  # nobody reads the files that were replaced: they need not wait

    def reindex(self, tp: TopicPartition, config: LogConfig, progress: Callable[[int], None]) -> int:
        """Build the indexes of all segments anew from their data; return how many segments there are.

        Refuses a partition whose data is damaged: recovery would cut it off there.
        """
        reader = PartitionReader(self._dir.path / str(tp), fs=self._fs)
        data = [
            f for f in PartitionVerifier(reader, fs=self._fs, progress=progress).findings() if f.path.suffix == ".log"
        ]
        for finding in data:
            if finding.severity == ERROR:
                raise StorageError(f"{finding.path} is damaged at byte {finding.position}: {finding.problem}")
        for name in self._fs.listdir(reader.path):
            parts = split_name(name)
            if parts is not None and parts[1] in INDEX_KINDS and not parts[2]:
                self._fs.unlink(reader.path / name)
        with self._open(tp, config) as log:
            return len(log.segments)

    def compact(
        self,
        tp: TopicPartition,
        config: LogConfig,
        cleaner: CleanerConfig,
        *,
        roll: bool = False,
        to_the_end: bool = False,
        from_start: bool = False,
    ) -> list[CleanerStats]:
        """Clean a partition until nothing of it is dirty; the statistics of each pass.

        `roll` makes the last segment cleanable, `to_the_end` takes everything in the log for replicated, `from_start`
        takes all of it for dirty (so that tombstones whose time has come go).
        """
        rewriter = Rewriter(cleaner, Throttler(self._clock, cleaner.io_max_bytes_per_second))
        passes: list[CleanerStats] = []
        first_dirty = None if from_start else self._dir.cleaner_offsets().get(tp)
        with self._open(tp, config) as log:
            if to_the_end:
                log.advance_high_watermark(log.log_end_offset)
            if roll and log.active_segment.size:
                log.roll()
            end = -1
            while (target := self._target(log, first_dirty)) is not None and target.first_dirty > end:
                job = CleanJob(target, self._clock.time_ms())
                while not job.finished:
                    job.run(rewriter)
                    job.apply()
                passes.append(job.stats)
                end, first_dirty = target.first_dirty, job.end_offset
        if first_dirty is not None:
            self._dir.write_cleaner_offsets({**self._dir.cleaner_offsets(), tp: first_dirty})
        return passes

    def _target(self, log: PartitionLog, first_dirty: int | None) -> LogToClean | None:
        """What is still to be cleaned; worth it or not (`min.cleanable.dirty.ratio`), since somebody asked for it."""
        target, _ = measure(log, first_dirty, self._clock.time_ms())
        return target if target.cleanable_bytes > 0 and target.first_dirty < MAX_INT64 else None
