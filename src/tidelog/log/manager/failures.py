"""A log directory that fails goes offline by itself; the others serve on (KIP-112).

Everything that touches a directory's files runs under its guard: an `OSError`, or a `StorageError` with one behind it,
takes the directory offline. From then on nothing in it is touched, since what its files hold is unknown (a failed sync
may have lost pages that were acknowledged). Its partitions are dropped from the registry, and whoever registered hears
of them: the broker tells the controller, which elects other leaders. There is no way back but a restart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from tidelog.common.errors import StorageError
from tidelog.common.scheduler import Action, Scheduler
from tidelog.common.types import TopicPartition
from tidelog.log.directory.log_dir import LogDir, disk_error
from tidelog.log.manager.guarded_scheduler import GuardedScheduler
from tidelog.log.manager.registry import LogRegistry

logger = logging.getLogger(__name__)

T = TypeVar("T")
#: Hears which directory failed, and which partitions are not served any more.
DirFailure = Callable[[LogDir, list[TopicPartition]], None]


class DirectoryGuard:
    """See the module's text. `let_go(partition)` is called for every log of a failed directory before it is released:
    whoever works on it (the cleaner) stops."""

    def __init__(self, registry: LogRegistry, scheduler: Scheduler, let_go: Callable[[TopicPartition], None]) -> None:
        self._registry = registry
        self._let_go = let_go
        self._listeners: list[DirFailure] = []
        self._schedulers = {
            directory.path: GuardedScheduler(scheduler, partial(self._run_later, directory))
            for directory in registry.dirs
        }

    def scheduler_in(self, path: Path) -> Scheduler:
        """What runs later for the logs of a directory: if it fails there, that goes offline; if that is, not at all."""
        return self._schedulers[path]

    def _run_later(self, directory: LogDir, action: Action) -> None:
        if directory.online:
            self.run(directory, action)

    def on_dir_failure(self, listener: DirFailure) -> None:
        """`listener(directory, partitions)` is called when a directory goes offline, once."""
        self._listeners.append(listener)

    def run(self, directory: LogDir, act: Callable[[], T]) -> T | None:
        """Do something in a directory; an I/O error takes it offline and gives None.

        A `StorageError` without a disk error behind it is about a file's contents and is raised: the disk is well.
        """
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
        registry = self._registry
        del registry.partition_counts[directory.path]
        lost: list[TopicPartition] = []
        for logs in (registry.logs, registry.future):
            for tp, log in list(logs.items()):
                if log.dir.parent == directory.path:
                    del logs[tp]
                    self._let_go(tp)
                    log.release()
                    if logs is registry.logs:  # a copy that is gone is no loss
                        lost.append(tp)
        for listener in self._listeners:
            listener(directory, lost)
