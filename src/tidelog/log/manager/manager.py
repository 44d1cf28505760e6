"""All logs of a broker, in all its log directories: the manager, which has its parts and is what a broker talks to.

    registry     LogRegistry      which logs there are, and where
    guard        DirectoryGuard   a directory that fails goes offline, the others serve on
    checkpoints  Checkpoints      offsets written down for the next start
    retirement   Retirement       logs on their way out: deleted, replaced by a moved replica, set aside
    cleaner      LogCleaner       compaction

Everything here runs on the thread that owns the logs. What may block for long is handed out as tasks for any thread
(`flush_task`, `checkpoint_tasks`, the cleaner's jobs); loading and closing use threads of their own (`loading.py`,
`closing.py`).

What recurs is the caller's to call: `checkpoint` (every 60 s, and high watermarks every 5 s), `flush_due`,
`run_retention` (every 5 min), and the scheduler that was given removes deleted files.

A start is `open` (locks and identities), `write_meta` once the cluster is known, `load`. A stop is `shutdown`; a
process that ends without it has lost nothing, and recovers at the next start.
"""

from __future__ import annotations

import logging
import resource
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import KafkaError, StorageError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.rng import Rng, system_rng
from tidelog.common.scheduler import Scheduler, TimerQueue
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import random_uuid
from tidelog.log.cleaner.cleaner import LogCleaner
from tidelog.log.cleaner.config import CleanerConfig
from tidelog.log.config import LogConfig
from tidelog.log.directory import meta_properties
from tidelog.log.directory.log_dir import LogDir
from tidelog.log.directory.meta_properties import MetaProperties
from tidelog.log.manager.checkpoints import Checkpoints
from tidelog.log.manager.closing import close_all
from tidelog.log.manager.failures import DirectoryGuard, DirFailure
from tidelog.log.manager.loading import Loading
from tidelog.log.manager.placing import adopt
from tidelog.log.manager.registry import LogRegistry, is_cordoned
from tidelog.log.manager.retirement import Retirement, unique
from tidelog.log.manager.tasks import CheckpointTask, FlushTask
from tidelog.log.names import DirName, future_dir_name
from tidelog.log.segment.file_budget import FileBudget

if TYPE_CHECKING:
    from tidelog.log.partition.opening import LogSettings
    from tidelog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)


class LogManager:
    """`defaults` are the broker's configuration values (`log.*` keys give topics their defaults)."""

    def __init__(
        self,
        dirs: Sequence[Path],
        defaults: Mapping[str, object] | None = None,
        *,
        fs: FileSystem = LOCAL_FS,
        clock: Clock = SYSTEM_CLOCK,
        rng: Rng | None = None,
        scheduler: Scheduler | None = None,
        files: FileBudget | None = None,
    ) -> None:
        if not dirs:
            raise ValueError("a log manager needs at least one directory")
        self.fs = fs
        self.clock = clock
        self.rng = rng or system_rng()
        self.scheduler: Scheduler = scheduler or TimerQueue(clock)
        self.files = files if files is not None else _file_budget()
        self.defaults: Mapping[str, object] = dict(defaults or {})
        self.registry = LogRegistry([LogDir(path, fs) for path in dirs])
        self.guard = DirectoryGuard(self.registry, self.scheduler, lambda tp: self.cleaner.abort(tp))
        self.cleaner = LogCleaner(
            lambda: self.logs,
            self.registry.dir_of,
            CleanerConfig.from_broker(self.defaults),
            clock=clock,
            on_io_error=self.guard.fail_dir,
        )
        self.checkpoints = Checkpoints(self.registry, self.guard, self.cleaner, fs)
        self.retirement = Retirement(
            self.registry,
            self.guard,
            self.checkpoints,
            self.cleaner,
            fs=fs,
            rng=self.rng,
            scheduler=self.scheduler,
        )

    # --- start ----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Make and lock all directories and read their identities; nothing is loaded yet.

        Raises StorageError when a directory is in use, when they belong to different nodes, or when none is usable.
        """
        for directory in self.dirs:
            self.guard.run(directory, directory.open)
        found = {directory.path: directory.meta for directory in self.live_dirs if directory.meta is not None}
        meta_properties.check(found)
        self.registry.require_live()

    def write_meta(self, cluster_id: str, node_id: int, version: int = meta_properties.CURRENT_VERSION) -> None:
        """Check that the directories belong to this node, and give those that do not say an identity.

        `version` is that of `meta.properties`: 1, or 0 in a ZooKeeper cluster.
        """
        found = {directory.path: directory.meta for directory in self.live_dirs if directory.meta is not None}
        meta_properties.check(found, node_id, cluster_id)
        for directory in self.live_dirs:
            if directory.meta is None:
                identity = MetaProperties(cluster_id, node_id, random_uuid(self.rng), version)
                self.guard.run(directory, partial(directory.write_meta, identity))
        self.registry.require_live()

    def partition_dirs(self) -> dict[TopicPartition, Path]:
        """Every partition that lies in the directories (those on their way in, out or aside are none); not loaded."""
        found: dict[TopicPartition, Path] = {}
        for directory in self.live_dirs:
            for path, name in self.guard.run(directory, partial(_listed, directory)) or ():
                if not name.kind:
                    found[name.topic_partition] = path
        self.registry.require_live()
        return found

    def load(
        self,
        config_for: Callable[[str], LogConfig] | None = None,
        topic_ids: Mapping[str, bytes] | None = None,
    ) -> None:
        """Load every partition, recovering what an unclean stop left. `config_for(topic)` is its configuration.

        `topic_ids` are those of the cluster's topics: what belongs to another topic of that name is set aside.
        """
        config_for = config_for or (lambda topic: self.config_of())
        directories = self.live_dirs
        all_found = Loading(self.fs, self.clock, self.settings_in, config_for, self._threads).load_dirs(directories)
        for directory, found in zip(directories, all_found, strict=True):
            taken = partial(adopt, self.registry, self.retirement, directory, found, config_for, topic_ids or {})
            self.guard.run(directory, taken)
        for directory, found in zip(directories, all_found, strict=True):
            if directory.online and not isinstance(found, BaseException):
                self.guard.run(directory, partial(self.checkpoints.forget_missing, directory, found.recorded))
        self.registry.require_live()

    @property
    def _threads(self) -> int:
        return int(str(self.defaults.get("num.recovery.threads.per.data.dir", 2)))

    # --- looking up -----------------------------------------------------------------------------------------------

    @property
    def dirs(self) -> list[LogDir]:
        return self.registry.dirs

    @property
    def live_dirs(self) -> list[LogDir]:
        return self.registry.live_dirs

    @property
    def offline_dirs(self) -> list[LogDir]:
        return self.registry.offline_dirs

    @property
    def logs(self) -> dict[TopicPartition, PartitionLog]:
        return self.registry.logs

    @property
    def future(self) -> dict[TopicPartition, PartitionLog]:
        """Replicas that are being moved to another directory, beside their current ones."""
        return self.registry.future

    @property
    def stray(self) -> list[Path]:
        """Directories of replicas that the cluster does not know, left for the operator."""
        return self.registry.stray

    @property
    def partition_counts(self) -> Counter[Path]:
        return self.registry.partition_counts

    def get(self, tp: TopicPartition, *, future: bool = False) -> PartitionLog | None:
        return self.registry.kind(future).get(tp)

    def all_logs(self) -> Iterator[PartitionLog]:
        """Every log, those that are being moved included."""
        return self.registry.all_logs()

    def dir_of(self, log: PartitionLog) -> LogDir:
        return self.registry.dir_of(log)

    def is_cordoned(self, directory: LogDir) -> bool:
        """Whether a directory gets no new partitions (`cordoned.log.dirs`)."""
        return is_cordoned(directory, self.defaults)

    # --- what logs are made with ----------------------------------------------------------------------------------

    def config_of(self, overrides: Mapping[str, object] | None = None) -> LogConfig:
        """A topic's configuration: its own settings over the broker's."""
        return LogConfig.from_topic(overrides, self.defaults)

    def settings_in(self, path: Path) -> LogSettings:
        """What the logs of a directory are opened with."""
        from tidelog.log.partition.opening import LogSettings  # a broker without partitions starts without it

        return LogSettings(
            self.fs, self.clock, self.rng, self.files, self.guard.scheduler_in(path), self.producer_expiration_ms
        )

    def reconfigure(self, defaults: Mapping[str, object]) -> None:
        """Take changed values of the broker's configuration: for what is there, and for what will be made."""
        self.defaults = dict(defaults)
        cleaning = CleanerConfig.from_broker(self.defaults)
        if cleaning != self.cleaner.config:
            self.cleaner.reconfigure(cleaning)
        for log in self.all_logs():
            log.producers.expiration_ms = self.producer_expiration_ms

    @property
    def producer_expiration_ms(self) -> int:
        from tidelog.log.producers.state_manager import DEFAULT_EXPIRATION_MS

        return int(str(self.defaults.get("producer.id.expiration.ms", DEFAULT_EXPIRATION_MS)))

    # --- making and removing --------------------------------------------------------------------------------------

    def create(
        self,
        tp: TopicPartition,
        config: LogConfig,
        topic_id: bytes | None = None,
        dir: Path | None = None,
        *,
        future: bool = False,
    ) -> PartitionLog:
        """The partition's log, made if it is not there yet: in `dir`, or where the fewest partitions are."""
        registry = self.registry
        logs = registry.kind(future)
        existing = logs.get(tp)
        if existing is not None:
            return existing
        for directory in [registry.dir_at(dir)] if dir is not None else registry.by_load(self.defaults):
            if not directory.online:
                continue
            name = future_dir_name(tp, unique(self.rng)) if future else str(tp)
            log = self.guard.run(directory, partial(self._make, directory.path / name, config, topic_id))
            if log is not None:
                logs[tp] = log
                registry.partition_counts[directory.path] += 1
                return log
        raise StorageError(f"no log directory is usable for {tp}")

    def _make(self, path: Path, config: LogConfig, topic_id: bytes | None) -> PartitionLog:
        from tidelog.log.partition.partition_log import PartitionLog  # a broker without partitions starts without it

        # Not synced here: what makes a topic durable is the cluster's metadata. The first flush syncs the names.
        return PartitionLog.open(path, config, self.settings_in(path.parent), topic_id=topic_id)

    def delete(self, tp: TopicPartition, *, future: bool = False) -> bool:
        """Rename the partition's directory to `-delete` now and remove it after `file.delete.delay.ms`."""
        return bool(self.delete_many([tp], future=future))

    def delete_many(self, partitions: Iterable[TopicPartition], *, future: bool = False) -> list[TopicPartition]:
        """Delete several partitions in every form, or only the copies that are being made of them (`future`); with one
        write of the checkpoints for all. Returns those that were there."""
        return self.retirement.delete_many(partitions, future=future)

    def mark_stray(self, tp: TopicPartition) -> None:
        """Set a replica aside that the cluster does not know: its directory stays, under a `-stray` name."""
        self.retirement.mark_stray(tp)

    def replace_current_with_future(self, tp: TopicPartition) -> PartitionLog:
        """The moved replica has caught up: it takes the place of the present one, which goes.

        Raises StorageError when its disk fails at this: then the present one stays.
        """
        return self.retirement.replace_current_with_future(tp)

    # --- what recurs ------------------------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Write recovery points, log start offsets and high watermarks of every directory that serves, here and now."""
        self.checkpoints.write()

    def checkpoint_tasks(self, *, high_watermarks_only: bool = False) -> list[CheckpointTask]:
        """The same as tasks: run each on any thread (they sync), then hand it to `checkpointed`."""
        return self.checkpoints.tasks(high_watermarks_only=high_watermarks_only)

    def checkpointed(self, task: CheckpointTask) -> None:
        """A task has run; a directory that could not be written goes offline."""
        self.checkpoints.written(task)

    def flush_due(self) -> list[PartitionLog]:
        """The logs whose `flush.messages` or `flush.ms` has come."""
        now = self.clock.time_ms()
        return [log for log in self.all_logs() if _flush_is_due(log, now)]

    def flush_task(self, log: PartitionLog, up_to: int | None = None) -> FlushTask | None:
        """What makes a log durable up to an offset: run it on any thread, then hand it to `flushed`. None: nothing.

        Everything below the offset and all that is not durable besides, since a start believes both or neither.
        """
        job = log.flush_job(up_to)
        return None if job is None else FlushTask(log, job)

    def flushed(self, task: FlushTask) -> None:
        """A task has run: advance the recovery point, or take the directory offline. A failed fsync is not retried."""
        if task.error is None:
            task.log.flush_done(task.job)
        elif not (task.log.deleted and isinstance(task.error, FileNotFoundError)):  # no wonder: it was deleted
            self.fail_dir(self.dir_of(task.log), task.error)

    def run_retention(self) -> int:
        """Delete old segments of every log that the cleaner does not hold; return how many."""
        return sum(self.retention())

    def retention(self) -> Iterator[int]:
        """The same log by log, so that an event loop can do other things in between."""
        for tp, log in [*self.logs.items(), *self.future.items()]:
            if self.cleaner.is_busy(tp) or log.deleted or not self.dir_of(log).online:
                continue
            try:
                yield self.guard.run(self.dir_of(log), log.delete_old_segments) or 0
            except KafkaError as error:  # this log's own trouble; the others are not to blame
                logger.error("retention of %s failed: %s", tp, error)

    # --- failure and stop -------------------------------------------------------------------------------------------

    def on_dir_failure(self, listener: DirFailure) -> None:
        """`listener(directory, partitions)` is called when a directory goes offline, once."""
        self.guard.on_dir_failure(listener)

    def fail_dir(self, directory: LogDir, error: OSError) -> None:
        """Take a directory offline: nothing in it is touched any more, its partitions are not served."""
        self.guard.fail_dir(directory, error)

    def shutdown(self, broker_epoch: int = -1) -> None:
        """Flush and close everything, write the checkpoints, and say that the stop was clean.

        In this order, directory by directory: the marker is the last write, and a directory that fails before it gets
        none. In one that was never loaded (the start was refused or cut off) nothing is written at all: its checkpoints
        say more than this run has come to know, or another broker holds it and writes them.
        """
        for job in self.cleaner.jobs.values():
            job.abort()
        for directory in self.live_dirs:
            self.guard.run(directory, partial(self._close_dir, directory, broker_epoch))
        for directory in self.dirs:
            directory.close()

    def _close_dir(self, directory: LogDir, broker_epoch: int) -> None:
        close_all(list(self.registry.logs_in(directory).values()), self._threads, directory.volume)
        if directory.loaded:
            directory.write(self.checkpoints.snapshot(directory))
            directory.write_shutdown_marker(broker_epoch)


def _file_budget() -> FileBudget:
    """Files that the logs may keep open: a map takes two descriptors, and the rest of the process needs some. The last
    few descriptors are for what is opened for a moment, such as checkpoints."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return FileBudget(4096)
    return FileBudget(max(64, min(soft // 3, 4096)), ceiling=max(0, soft - 32))


def _flush_is_due(log: PartitionLog, now_ms: int) -> bool:
    if log.unflushed >= log.config.flush_messages:
        return True
    return log.unflushed_since_ms is not None and now_ms - log.unflushed_since_ms >= log.config.flush_ms


def _listed(directory: LogDir) -> list[tuple[Path, DirName]]:
    return list(directory.partitions())
