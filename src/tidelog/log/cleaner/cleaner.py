"""Which log is cleaned next, which may not be, and how far each one is clean.

Everything here runs on the thread that owns the logs; what takes time is in the jobs. A partition is in at most one of
three states: being cleaned (a job exists), paused (so often that `resume` must be called as often), or uncleanable (a
pass met something that it does not understand; the partition is left alone until the next start, and the others go
on). `cleaner-offset-checkpoint` is written when a pass is done: a crash before that repeats it, which is harmless.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tidelog.common.clock import Clock
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition
from tidelog.log.cleaner.config import CleanerConfig
from tidelog.log.cleaner.errors import CleaningAborted
from tidelog.log.cleaner.throttler import Throttler
from tidelog.log.directory.log_dir import LogDir, disk_error

if TYPE_CHECKING:  # what a pass is made of is imported when there is something to clean
    from tidelog.log.cleaner.job import CleanJob
    from tidelog.log.cleaner.plan import LogToClean
    from tidelog.log.cleaner.rewriter import Rewriter
    from tidelog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)


class LogCleaner:
    """`logs` and `dir_of` are views of what the log manager holds; `on_io_error` hears of a directory that failed.

    Threads are not its business: whoever has them calls `pick`, lets a thread run the job's steps, applies each on the
    owner's thread, and says `done` or `failed`. At most one job exists per partition, any number in all.
    """

    def __init__(
        self,
        logs: Callable[[], Mapping[TopicPartition, PartitionLog]],
        dir_of: Callable[[PartitionLog], LogDir],
        config: CleanerConfig,
        *,
        clock: Clock,
        on_io_error: Callable[[LogDir, OSError], None],
    ) -> None:
        self._logs = logs
        self._dir_of = dir_of
        self._clock = clock
        self._on_io_error = on_io_error
        self.config = config
        self.throttler = Throttler(clock, config.io_max_bytes_per_second)
        self.jobs: dict[TopicPartition, CleanJob] = {}
        self.uncleanable: dict[TopicPartition, str] = {}
        self._paused: Counter[TopicPartition] = Counter()
        #: For metrics: the largest dirty ratio of the last look, and when that was.
        self.dirtiest_ratio = 0.0
        self.last_run_ms = clock.time_ms()
        self.last_job: CleanJob | None = None

    def reconfigure(self, config: CleanerConfig) -> None:
        """Take changed `log.cleaner.*` values: the rate at once, the buffers with the next rewriter."""
        self.config = config
        self.throttler = Throttler(self._clock, config.io_max_bytes_per_second)

    def new_rewriter(self) -> Rewriter:
        """The tools of one more cleaner thread."""
        from tidelog.log.cleaner.rewriter import Rewriter

        return Rewriter(self.config, self.throttler)

    # --- choosing -------------------------------------------------------------------------------------------------

    def pick(self) -> CleanJob | None:
        """The dirtiest log that is worth a pass, as a job; None when there is none."""
        now = self._clock.time_ms()
        self.last_run_ms = now
        candidates = [target for target in self._measure_all(now) if target.clean_bytes + target.cleanable_bytes > 0]
        self.dirtiest_ratio = max((target.ratio for target in candidates), default=0.0)
        worthwhile = [target for target in candidates if target.worthwhile]
        if not worthwhile:
            return None
        from tidelog.log.cleaner.job import CleanJob

        target = max(worthwhile, key=lambda target: target.ratio)
        job = CleanJob(target, now)
        self.jobs[target.log.topic_partition] = job
        return job

    def _measure_all(self, now_ms: int) -> Iterable[LogToClean]:
        """How dirty each compacted log is that may be cleaned now. One that cannot be measured is left out from now on;
        a disk that fails at it goes offline."""
        checkpoints: dict[LogDir, dict[TopicPartition, int]] = {}
        for tp, log in list(self._logs().items()):
            if not log.config.compact or self.is_busy(tp) or tp in self.uncleanable:
                continue
            directory = self._dir_of(log)
            try:
                if directory not in checkpoints:
                    checkpoints[directory] = directory.cleaner_offsets()
                from tidelog.log.cleaner.plan import measure

                target, reset = measure(log, checkpoints[directory].get(tp), now_ms)
                if reset:
                    self._write_checkpoint(directory, {tp: target.first_dirty})
                yield target
            except (OSError, KafkaError) as error:
                cause = disk_error(error)
                if cause is not None:
                    self._on_io_error(directory, cause)
                else:
                    self._give_up(tp, error)

    def is_busy(self, tp: TopicPartition) -> bool:
        """Whether the partition is being cleaned or paused: its segments must not be deleted by retention now."""
        return tp in self.jobs or tp in self._paused

    # --- the end of a job -----------------------------------------------------------------------------------------

    def done(self, job: CleanJob) -> None:
        """The job has run to its end: the log is clean up to its end offset."""
        self._forget(job)
        self.last_job = job
        if job.stats.keyless:
            logger.warning(
                "%s: records without a key that were removed: %d", job.log.topic_partition, job.stats.keyless
            )
        directory = self._dir_of(job.log)
        try:
            self._write_checkpoint(directory, {job.log.topic_partition: job.end_offset})
        except OSError as error:
            self._on_io_error(directory, error)

    def failed(self, job: CleanJob, error: BaseException) -> None:
        """The job ended early. An aborted one may be tried again, a corrupt log not, a broken disk goes offline."""
        self._forget(job)
        job.discard()
        if isinstance(error, CleaningAborted) or (disk_error(error) is None and job.overtaken):
            return
        cause = disk_error(error)
        if cause is not None:
            self._on_io_error(self._dir_of(job.log), cause)
        else:
            self._give_up(job.log.topic_partition, error)

    def _forget(self, job: CleanJob) -> None:
        if self.jobs.get(job.log.topic_partition) is job:
            del self.jobs[job.log.topic_partition]

    def _give_up(self, tp: TopicPartition, error: BaseException) -> None:
        """Kafka's `uncleanable-partitions-count`: a broken log must not keep the others from being cleaned."""
        logger.error("%s cannot be cleaned and is left alone until the next start: %s", tp, error)
        self.uncleanable[tp] = str(error)

    # --- what the log manager tells ---------------------------------------------------------------------------------

    def abort(self, tp: TopicPartition) -> None:
        """The log is about to be truncated, moved or deleted: what is being cleaned now is not swapped in."""
        job = self.jobs.get(tp)
        if job is not None:
            job.abort()

    def pause(self, tp: TopicPartition) -> None:
        """Abort, and clean no more until `resume`."""
        self._paused[tp] += 1
        self.abort(tp)

    def resume(self, tp: TopicPartition) -> None:
        """Undo one `pause`: truncations may overlap, and only the last of them lets the cleaner back in."""
        if self._paused[tp] <= 0:
            raise ValueError(f"{tp} is not paused")
        self._paused[tp] -= 1
        if not self._paused[tp]:
            del self._paused[tp]

    def truncated(self, log: PartitionLog, offset: int) -> None:
        """The log was cut at `offset`: what lies behind is dirty again when it comes back."""
        directory = self._dir_of(log)
        known = directory.cleaner_offsets().get(log.topic_partition)
        if known is not None and known > offset:
            self._write_checkpoint(directory, {log.topic_partition: offset})

    def moved(self, tp: TopicPartition, source: LogDir, target: LogDir) -> None:
        """The partition lives in another directory now; so does its checkpoint."""
        offset = source.cleaner_offsets().get(tp)
        self._write_checkpoint(source, {}, removed=[tp])
        if offset is not None:
            self._write_checkpoint(target, {tp: offset})

    def deleted(self, partitions: Iterable[TopicPartition], directory: LogDir) -> None:
        """The partitions are gone from the directory: forget them, and their checkpoints."""
        for tp in partitions:
            self.abort(tp)
            self.uncleanable.pop(tp, None)
        known = directory.cleaner_offsets()
        if any(tp in known for tp in partitions):
            self._write_checkpoint(directory, {}, removed=partitions)

    def _write_checkpoint(
        self, directory: LogDir, offsets: Mapping[TopicPartition, int], removed: Iterable[TopicPartition] = ()
    ) -> None:
        """Merge into the directory's file; partitions that are gone are dropped from it on the way."""
        logs = self._logs()
        merged = {tp: offset for tp, offset in directory.cleaner_offsets().items() if tp in logs}
        merged.update(offsets)
        for tp in removed:
            merged.pop(tp, None)
        directory.write_cleaner_offsets(merged)

    # --- without threads --------------------------------------------------------------------------------------------

    def clean_one(self, rewriter: Rewriter) -> CleanJob | None:
        """Pick a log and clean it here and now (offline tools, tests); None when nothing is worth it."""
        job = self.pick()
        if job is None:
            return None
        try:
            while not job.finished:
                job.run(rewriter)
                job.apply()
        except (CleaningAborted, OSError, KafkaError) as error:
            self.failed(job, error)
            return job
        self.done(job)
        return job
