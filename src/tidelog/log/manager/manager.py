"""All logs of a broker, in all its log directories.

A new partition goes into the directory that holds the fewest. Each directory has its lock, its identity and its four
checkpoints (`LogDir`); one that fails (`OSError` on a write, a failed fsync) goes offline by itself, with the
partitions in it, and the others serve on: whoever registered by `on_dir_failure` hears which partitions are gone.

Everything here runs on the thread that owns the logs. What may block for long is handed out as tasks for any thread
(`flush_task`, `checkpoint_tasks`, the cleaner's jobs); loading and closing use threads of their own (`loading.py`).

What recurs is the caller's to call: `checkpoint` (every 60 s, and high watermarks every 5 s), `flush_due`,
`run_retention` (every 5 min), and the scheduler that was given removes deleted files.
"""

from __future__ import annotations

import logging
import resource
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from os.path import dirname
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import ErrorCode, KafkaError, StorageError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.rng import Rng, system_rng
from tidelog.common.scheduler import Action, Scheduler, TimerQueue
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import random_uuid
from tidelog.log.cleaner.cleaner import LogCleaner
from tidelog.log.cleaner.config import CleanerConfig
from tidelog.log.config import LogConfig
from tidelog.log.directory import meta_properties
from tidelog.log.directory.log_dir import LogDir, Snapshot, disk_error
from tidelog.log.directory.meta_properties import MetaProperties
from tidelog.log.manager.guarded_scheduler import GuardedScheduler
from tidelog.log.manager.loading import Found, choose, close_all, load_dirs
from tidelog.log.manager.tasks import CheckpointTask, FlushTask
from tidelog.log.names import (
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    DirName,
    delete_dir_name,
    future_dir_name,
    stray_dir_name,
)
from tidelog.log.segment.file_budget import FileBudget

if TYPE_CHECKING:
    from tidelog.log.partition.opening import LogSettings
    from tidelog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)

T = TypeVar("T")
DirFailure = Callable[[LogDir, list[TopicPartition]], None]


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
        self.dirs = [LogDir(path, fs) for path in dirs]
        self._schedulers = {
            directory.path: GuardedScheduler(self.scheduler, partial(self._run_later, directory))
            for directory in self.dirs
        }
        self.logs: dict[TopicPartition, PartitionLog] = {}
        #: Replicas that are being moved to another directory, beside their current ones.
        self.future: dict[TopicPartition, PartitionLog] = {}
        #: Directories of replicas that the cluster does not know, left for the operator.
        self.stray: list[Path] = []
        #: How many partitions lie in each directory.
        self.partition_counts: Counter[Path] = Counter()
        self._listeners: list[DirFailure] = []
        config = CleanerConfig.from_broker(self.defaults)
        self.cleaner = LogCleaner(lambda: self.logs, self.dir_of, config, clock=clock, on_io_error=self.fail_dir)

    # --- start ----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Make and lock all directories and read their identities; nothing is loaded yet.

        Raises StorageError when a directory is in use, when they belong to different nodes, or when none is usable.
        """
        for directory in self.dirs:
            self._guard(directory, directory.open)
        found = {directory.path: directory.meta for directory in self.live_dirs if directory.meta is not None}
        meta_properties.check(found)
        self._require_live()

    def write_meta(self, cluster_id: str, node_id: int, version: int = meta_properties.CURRENT_VERSION) -> None:
        """Check that the directories belong to this node, and give those that do not say an identity.

        `version` is that of `meta.properties`: 1, or 0 in a ZooKeeper cluster.
        """
        found = {directory.path: directory.meta for directory in self.live_dirs if directory.meta is not None}
        meta_properties.check(found, node_id, cluster_id)
        for directory in self.live_dirs:
            if directory.meta is None:
                identity = MetaProperties(cluster_id, node_id, random_uuid(self.rng), version)
                self._guard(directory, partial(directory.write_meta, identity))
        self._require_live()

    def partition_dirs(self) -> dict[TopicPartition, Path]:
        """Every partition that lies in the directories (those on their way in, out or aside are none); not loaded."""
        found: dict[TopicPartition, Path] = {}
        for directory in self.live_dirs:
            for path, name in self._guard(directory, partial(_listed, directory)) or ():
                if not name.kind:
                    found[name.topic_partition] = path
        self._require_live()
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
        all_found = load_dirs(self, directories, config_for, self._threads)
        for directory, found in zip(directories, all_found, strict=True):
            self._guard(directory, partial(self._adopt, directory, found, config_for, topic_ids or {}))
        for directory, found in zip(directories, all_found, strict=True):
            if directory.online and not isinstance(found, BaseException):
                self._guard(directory, partial(self._forget_missing, directory, found.recorded))
        self._require_live()

    def _forget_missing(self, directory: LogDir, recorded: set[TopicPartition]) -> None:
        """A crash may have come between a deletion and its checkpoints, and logs were set aside just now: what is said
        of them must not be taken for a later log of that name, which may well end below the start of the old one."""
        missing = recorded.difference(self._logs_in(directory))
        if missing:
            self._forget(directory, sorted(missing))

    def _adopt(
        self,
        directory: LogDir,
        found: Found | BaseException,
        config_for: Callable[[str], LogConfig],
        topic_ids: Mapping[str, bytes],
    ) -> None:
        if isinstance(found, BaseException):
            raise found
        for path, name in found.to_remove:
            self.remove_later(path, config_for(name.topic_partition.topic).file_delete_delay_ms)
        self.stray += found.stray
        for name, log in found.logs:
            self.partition_counts[directory.path] += 1
            self._place(name, log, topic_ids.get(name.topic_partition.topic))
        directory.loaded = True

    def _place(self, name: DirName, log: PartitionLog, topic_id: bytes | None) -> None:
        """Take a log that was found into service, unless it is another topic's, or a copy that is not needed."""
        tp, future = name.topic_partition, name.kind == "future"
        if topic_id is not None and log.topic_id is not None and log.topic_id != topic_id:
            logger.warning("%s belongs to another topic of that name, and is set aside", log.dir)
            self._set_aside(tp, log, delete=future)
            return
        logs = self.future if future else self.logs
        other = logs.setdefault(tp, log)
        if other is not log:
            logs[tp], spare = choose(other, log)
            logger.warning("%s lies in %s as well as in %s, which has more", tp, spare.dir, logs[tp].dir)
            self._set_aside(tp, spare, delete=True)

    def _set_aside(self, tp: TopicPartition, log: PartitionLog, *, delete: bool) -> None:
        """A log that is not the partition's: a copy goes, anything else is left for the operator."""
        target = self._retire(tp, log, delete_dir_name if delete else stray_dir_name, remove=delete)
        directory = self.dir_of(log)
        if not delete:
            self.stray.append(target)
        if directory.online:
            self._guard(directory, lambda: self.fs.sync_dir(directory.path))

    @property
    def _threads(self) -> int:
        return int(str(self.defaults.get("num.recovery.threads.per.data.dir", 2)))

    def _require_live(self) -> None:
        if not self.live_dirs:
            reasons = "; ".join(f"{directory.path}: {directory.error}" for directory in self.dirs)
            raise StorageError(f"no log directory is usable: {reasons}")

    # --- looking up -----------------------------------------------------------------------------------------------

    @property
    def live_dirs(self) -> list[LogDir]:
        return [directory for directory in self.dirs if directory.online]

    @property
    def offline_dirs(self) -> list[LogDir]:
        return [directory for directory in self.dirs if not directory.online]

    def get(self, tp: TopicPartition, *, future: bool = False) -> PartitionLog | None:
        return (self.future if future else self.logs).get(tp)

    def all_logs(self) -> Iterator[PartitionLog]:
        """Every log, those that are being moved included."""
        yield from list(self.logs.values())
        yield from list(self.future.values())

    def dir_of(self, log: PartitionLog) -> LogDir:
        return self._dir_at(log.dir.parent)

    def _run_later(self, directory: LogDir, action: Action) -> None:
        if directory.online:
            self._guard(directory, action)

    def _dir_at(self, path: Path) -> LogDir:
        for directory in self.dirs:
            if directory.path == path:
                return directory
        raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not among log.dirs")

    def config_of(self, overrides: Mapping[str, object] | None = None) -> LogConfig:
        """A topic's configuration: its own settings over the broker's."""
        return LogConfig.from_topic(overrides, self.defaults)

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
        logs = self.future if future else self.logs
        existing = logs.get(tp)
        if existing is not None:
            return existing
        for directory in [self._dir_at(dir)] if dir is not None else self._by_load():
            if not directory.online:
                continue
            name = future_dir_name(tp, self._unique()) if future else str(tp)
            log = self._guard(directory, partial(self._make, directory.path / name, config, topic_id))
            if log is not None:
                logs[tp] = log
                self.partition_counts[directory.path] += 1
                return log
        raise StorageError(f"no log directory is usable for {tp}")

    def _make(self, path: Path, config: LogConfig, topic_id: bytes | None) -> PartitionLog:
        from tidelog.log.partition.partition_log import PartitionLog  # a broker without partitions starts without it

        # Not synced here: what makes a topic durable is the cluster's metadata. The first flush syncs the names.
        return PartitionLog.open(path, config, self.settings_in(path.parent), topic_id=topic_id)

    def settings_in(self, path: Path) -> LogSettings:
        """What the logs of a directory are opened with."""
        from tidelog.log.partition.opening import LogSettings

        return LogSettings(
            self.fs, self.clock, self.rng, self.files, self._schedulers[path], self.producer_expiration_ms
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

    def is_cordoned(self, directory: LogDir) -> bool:
        """Whether a directory gets no new partitions (`cordoned.log.dirs`)."""
        named = cast("Sequence[str]", self.defaults.get("cordoned.log.dirs") or ())
        return "*" in named or directory.path in map(Path, named)

    def _by_load(self) -> list[LogDir]:
        """The directories that serve, the one with the fewest partitions first; cordoned ones when all are."""
        open_ones = [directory for directory in self.live_dirs if not self.is_cordoned(directory)]
        return sorted(open_ones or self.live_dirs, key=lambda directory: self.partition_counts[directory.path])

    def delete(self, tp: TopicPartition, *, future: bool = False) -> bool:
        """Rename the partition's directory to `-delete` now and remove it after `file.delete.delay.ms`."""
        return bool(self.delete_many([tp], future=future))

    def delete_many(self, partitions: Iterable[TopicPartition], *, future: bool = False) -> list[TopicPartition]:
        """Delete several partitions in every form, or only the copies that are being made of them (`future`); with one
        write of the checkpoints for all. Returns those that were there."""
        kinds = [self.future] if future else [self.logs, self.future]
        wanted = list(partitions)
        gone = [(tp, logs.pop(tp)) for logs in kinds for tp in wanted if tp in logs]
        directories = {self.dir_of(log): None for _, log in gone}
        for tp, log in gone:
            self._retire(tp, log, delete_dir_name, remove=True)
        for directory in directories:
            if directory.online:
                self._guard(directory, partial(self._forget, directory, [tp for tp, _ in gone]))
        return list(dict.fromkeys(tp for tp, _ in gone))

    def _forget(self, directory: LogDir, partitions: Sequence[TopicPartition]) -> None:
        self.fs.sync_dir(directory.path)
        self.cleaner.deleted(partitions, directory)
        directory.write(self._snapshot(directory))

    def mark_stray(self, tp: TopicPartition) -> None:
        """Set a replica aside that the cluster does not know: its directory stays, under a `-stray` name."""
        log = self.logs.pop(tp, None)
        if log is None:
            return
        directory = self.dir_of(log)
        self.stray.append(self._retire(tp, log, stray_dir_name, remove=False))
        self._guard(directory, partial(self._forget, directory, [tp]))

    def _retire(
        self, tp: TopicPartition, log: PartitionLog, rename: Callable[[TopicPartition, str], str], *, remove: bool
    ) -> Path:
        """Rename a log's directory; the caller writes the checkpoints and syncs the name."""
        directory = self.dir_of(log)
        target = directory.path / rename(tp, self._unique())
        self.partition_counts[directory.path] -= 1
        self.cleaner.abort(tp)

        def act() -> None:
            log.rename(target.name, sync=False)
            log.mark_deleted()
            log.release()  # what a reader still holds is closed when it is done
            if remove:
                self.remove_later(target, log.config.file_delete_delay_ms, log)

        self._guard(directory, act)
        return target

    def remove_later(self, path: Path, delay_ms: int, log: PartitionLog | None = None) -> None:
        """Remove a `-delete` directory with all that is in it, after a delay."""
        self.scheduler.call_later(delay_ms / 1000, lambda: self._remove_tree(path, log))

    def _remove_tree(self, path: Path, log: PartitionLog | None) -> None:
        def act() -> None:
            if log is not None:
                log.release()  # somebody may have read from it, or synced it, since it was renamed
            if self.fs.exists(path):
                for name in self.fs.listdir(path):
                    self.fs.unlink(path / name, missing_ok=True)
                self.fs.rmdir(path)

        directory = self._dir_at(path.parent)
        if directory.online:
            self._guard(directory, act)

    def _unique(self) -> str:
        return f"{self.rng.getrandbits(128):032x}"

    def replace_current_with_future(self, tp: TopicPartition) -> PartitionLog:
        """The moved replica has caught up: it takes the place of the present one, which goes.

        Raises StorageError when its disk fails at this: then the present one stays.
        """
        # The order is Kafka's: a crash in between leaves the partition in both directories, and the next start
        # chooses. The other order could leave it in neither.
        future, current = self.future[tp], self.logs.get(tp)
        target = self.dir_of(future)
        self._guard(target, lambda: future.rename(str(tp)))
        if not target.online:
            raise StorageError(f"{target.path} failed: {target.error}")
        self.logs[tp] = self.future.pop(tp)
        if current is not None:
            source = self.dir_of(current)
            self._guard(target, lambda: self.cleaner.moved(tp, source, target))
            self._retire(tp, current, delete_dir_name, remove=True)
            self._guard(source, lambda: self.fs.sync_dir(source.path))
        self.checkpoint()
        return future

    # --- what recurs ------------------------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Write recovery points, log start offsets and high watermarks of every directory that serves, here and now."""
        for task in self.checkpoint_tasks():
            task.run()
            self.checkpointed(task)

    def checkpoint_tasks(self, *, high_watermarks_only: bool = False) -> list[CheckpointTask]:
        """The same as tasks: run each on any thread (they sync), then hand it to `checkpointed`."""
        return [
            CheckpointTask(directory, self._snapshot(directory, high_watermarks_only)) for directory in self.live_dirs
        ]

    def checkpointed(self, task: CheckpointTask) -> None:
        """A task has run; a directory that could not be written goes offline."""
        if task.error is not None:
            self.fail_dir(task.directory, task.error)

    def _snapshot(self, directory: LogDir, high_watermarks_only: bool = False) -> Snapshot:
        logs = self._logs_in(directory)
        files = {REPLICATION_OFFSET_FILE: {tp: log.high_watermark for tp, log in logs.items()}}
        if not high_watermarks_only:
            files[RECOVERY_POINT_FILE] = {tp: log.recovery_point for tp, log in logs.items()}
            files[LOG_START_FILE] = {
                tp: log.log_start_offset
                for tp, log in logs.items()
                if log.log_start_offset > log.segments[0].base_offset
            }
        return directory.snapshot(files)

    def _logs_in(self, directory: LogDir) -> dict[TopicPartition, PartitionLog]:
        root = str(directory.path)  # text: a path's parent is a path, and there may be thousands
        return {log.topic_partition: log for log in self.all_logs() if dirname(log.dir) == root}

    def flush_due(self) -> list[PartitionLog]:
        """The logs whose `flush.messages` or `flush.ms` has come."""
        now = self.clock.time_ms()
        return [log for log in self.all_logs() if _flush_is_due(log, now)]

    def flush_task(self, log: PartitionLog, up_to: int | None = None) -> FlushTask | None:
        """What makes a log durable up to an offset: run it on any thread, then hand it to `flushed`. None: nothing."""
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
                yield self._guard(self.dir_of(log), log.delete_old_segments) or 0
            except KafkaError as error:  # this log's own trouble; the others are not to blame
                logger.error("retention of %s failed: %s", tp, error)

    # --- failure and stop -------------------------------------------------------------------------------------------

    def on_dir_failure(self, listener: DirFailure) -> None:
        """`listener(directory, partitions)` is called when a directory goes offline, once."""
        self._listeners.append(listener)

    def _guard(self, directory: LogDir, act: Callable[[], T]) -> T | None:
        """Do something in a directory; an I/O error takes it offline and gives None."""
        try:
            return act()
        except (OSError, StorageError) as error:
            cause = disk_error(error)
            if cause is None:
                raise
            self.fail_dir(directory, cause)
            return None

    def fail_dir(self, directory: LogDir, error: OSError) -> None:
        """Take a directory offline: nothing in it is touched any more, its partitions are not served."""
        if not directory.online:
            return
        logger.error("log directory %s failed and is taken offline: %s", directory.path, error)
        directory.error = error
        del self.partition_counts[directory.path]
        lost: list[TopicPartition] = []
        for logs in (self.logs, self.future):
            for tp, log in list(logs.items()):
                if log.dir.parent == directory.path:
                    del logs[tp]
                    self.cleaner.abort(tp)
                    log.release()
                    if logs is self.logs:  # a copy that is gone is no loss
                        lost.append(tp)
        for listener in self._listeners:
            listener(directory, lost)

    def shutdown(self, broker_epoch: int = -1) -> None:
        """Flush and close everything, write the checkpoints, and say that the stop was clean."""
        for job in self.cleaner.jobs.values():
            job.abort()
        for directory in self.live_dirs:
            self._guard(directory, partial(self._close_dir, directory, broker_epoch))
        for directory in self.dirs:
            directory.close()

    def _close_dir(self, directory: LogDir, broker_epoch: int) -> None:
        close_all(list(self._logs_in(directory).values()), self._threads, directory.volume)
        directory.write(self._snapshot(directory))
        if directory.loaded:
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
