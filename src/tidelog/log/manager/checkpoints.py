"""Writing the offsets of all logs down, directory by directory: what the next start goes by.

Recovery points and log start offsets are written once a minute, high watermarks every five seconds, and all of them
when the set of a directory's logs changes. Each file is replaced as a whole and holds every partition of its directory,
so the owner takes down the numbers (a snapshot) and a thread writes them; of two writers the later snapshot wins.

A checkpoint may be late, never early: a recovery point that is too low costs the reading of what was synced, a high
watermark that is too low is caught up with by the first fetches. A checkpoint that still speaks of a partition that is
gone is another matter. A later partition of that name would be opened with it, and may well end below it: then all of
it would count as deleted. So deleting a log rewrites the checkpoints, and a start rewrites those that speak of logs
which are not there.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.common.fs import FileSystem
from tidelog.common.types import TopicPartition
from tidelog.log.cleaner.cleaner import LogCleaner
from tidelog.log.directory.log_dir import LogDir, Snapshot
from tidelog.log.manager.failures import DirectoryGuard
from tidelog.log.manager.registry import LogRegistry
from tidelog.log.manager.tasks import CheckpointTask
from tidelog.log.names import LOG_START_FILE, RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE


class Checkpoints:
    """See the module's text."""

    def __init__(self, registry: LogRegistry, guard: DirectoryGuard, cleaner: LogCleaner, fs: FileSystem) -> None:
        self._registry = registry
        self._guard = guard
        self._cleaner = cleaner
        self._fs = fs

    def write(self) -> None:
        """Write recovery points, log start offsets and high watermarks of every directory that serves, here and now."""
        for task in self.tasks():
            task.run()
            self.written(task)

    def tasks(self, *, high_watermarks_only: bool = False) -> list[CheckpointTask]:
        """The same as tasks: run each on any thread (they sync), then hand it to `written`."""
        return [
            CheckpointTask(directory, self.snapshot(directory, high_watermarks_only))
            for directory in self._registry.live_dirs
        ]

    def written(self, task: CheckpointTask) -> None:
        """A task has run; a directory that could not be written goes offline."""
        if task.error is not None:
            self._guard.fail_dir(task.directory, task.error)

    def snapshot(self, directory: LogDir, high_watermarks_only: bool = False) -> Snapshot:
        """The numbers as they are now. A log start is only written where no segment's name says it."""
        logs = self._registry.logs_in(directory)
        files = {REPLICATION_OFFSET_FILE: {tp: log.high_watermark for tp, log in logs.items()}}
        if not high_watermarks_only:
            files[RECOVERY_POINT_FILE] = {tp: log.recovery_point for tp, log in logs.items()}
            files[LOG_START_FILE] = {
                tp: log.log_start_offset
                for tp, log in logs.items()
                if log.log_start_offset > log.segments[0].base_offset
            }
        return directory.snapshot(files)

    def forget(self, directory: LogDir, partitions: Sequence[TopicPartition]) -> None:
        """These partitions have left the directory: first their new names are durable, then nothing speaks of them."""
        self._fs.sync_dir(directory.path)
        self._cleaner.deleted(partitions, directory)
        directory.write(self.snapshot(directory))

    def forget_missing(self, directory: LogDir, recorded: set[TopicPartition]) -> None:
        """A crash may have come between a deletion and its checkpoints, and logs were set aside just now: what is said
        of them must not be taken for a later log of that name, which may well end below the start of the old one."""
        missing = recorded.difference(self._registry.logs_in(directory))
        if missing:
            self.forget(directory, sorted(missing))
