"""Logs on their way out: deleted with their topic, replaced by their future replica, or set aside as stray.

A log is retired by renaming its directory, which is atomic: `orders-0.<unique>-delete` (or `-stray`). From then on no
start takes it for a replica, and its name is free for a new one at once. The files go after `file.delete.delay.ms`, so
that whoever reads from them can finish. Stray replicas, which the cluster does not know, are left for the operator:
that the metadata is wrong is as likely as that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.common.errors import StorageError
from tidelog.common.fs import FileSystem
from tidelog.common.rng import Rng
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import TopicPartition
from tidelog.log.cleaner.cleaner import LogCleaner
from tidelog.log.manager.checkpoints import Checkpoints
from tidelog.log.manager.failures import DirectoryGuard
from tidelog.log.manager.registry import LogRegistry
from tidelog.log.names import delete_dir_name, stray_dir_name

if TYPE_CHECKING:
    from tidelog.log.partition.partition_log import PartitionLog


def unique(rng: Rng) -> str:
    """What keeps a topic that is made and deleted again apart from itself, in the names of its directories."""
    return f"{rng.getrandbits(128):032x}"


class Retirement:
    """See the module's text. A log is out of the registry before anything happens to its files, so that nobody can find
    it half-way; whoever has it already (a reader, a flush on a thread) is let finish, and finds it marked deleted."""

    def __init__(
        self,
        registry: LogRegistry,
        guard: DirectoryGuard,
        checkpoints: Checkpoints,
        cleaner: LogCleaner,
        *,
        fs: FileSystem,
        rng: Rng,
        scheduler: Scheduler,
    ) -> None:
        self._registry = registry
        self._guard = guard
        self._checkpoints = checkpoints
        self._cleaner = cleaner
        self._fs = fs
        self._rng = rng
        self._scheduler = scheduler

    def delete_many(self, partitions: Iterable[TopicPartition], *, future: bool = False) -> list[TopicPartition]:
        """Delete several partitions in every form, or only the copies that are being made of them (`future`); with one
        write of the checkpoints for all. Returns those that were there."""
        registry = self._registry
        kinds = [registry.future] if future else [registry.logs, registry.future]
        wanted = list(partitions)
        gone = [(tp, logs.pop(tp)) for logs in kinds for tp in wanted if tp in logs]
        directories = {registry.dir_of(log): None for _, log in gone}
        for tp, log in gone:
            self._retire(tp, log, delete_dir_name, remove=True)
        for directory in directories:
            if directory.online:
                self._guard.run(directory, partial(self._checkpoints.forget, directory, [tp for tp, _ in gone]))
        return list(dict.fromkeys(tp for tp, _ in gone))

    def mark_stray(self, tp: TopicPartition) -> None:
        """Set a replica aside that the cluster does not know: its directory stays, under a `-stray` name."""
        log = self._registry.logs.pop(tp, None)
        if log is None:
            return
        directory = self._registry.dir_of(log)
        self._registry.stray.append(self._retire(tp, log, stray_dir_name, remove=False))
        self._guard.run(directory, partial(self._checkpoints.forget, directory, [tp]))

    def set_aside(self, tp: TopicPartition, log: PartitionLog, *, delete: bool) -> None:
        """A log that is not the partition's: a copy goes, anything else is left for the operator."""
        target = self._retire(tp, log, delete_dir_name if delete else stray_dir_name, remove=delete)
        directory = self._registry.dir_of(log)
        if not delete:
            self._registry.stray.append(target)
        if directory.online:
            self._guard.run(directory, lambda: self._fs.sync_dir(directory.path))

    def replace_current_with_future(self, tp: TopicPartition) -> PartitionLog:
        """The moved replica has caught up: it takes the place of the present one, which goes.

        Raises StorageError when its disk fails at this: then the present one stays.
        """
        # The order is Kafka's: a crash in between leaves the partition in both directories, and the next start
        # chooses. The other order could leave it in neither.
        registry = self._registry
        future, current = registry.future[tp], registry.logs.get(tp)
        target = registry.dir_of(future)
        self._guard.run(target, lambda: future.rename(str(tp)))
        if not target.online:
            raise StorageError(f"{target.path} failed: {target.error}")
        registry.logs[tp] = registry.future.pop(tp)
        if current is not None:
            source = registry.dir_of(current)
            self._guard.run(target, lambda: self._cleaner.moved(tp, source, target))
            self._retire(tp, current, delete_dir_name, remove=True)
            self._guard.run(source, lambda: self._fs.sync_dir(source.path))
        self._checkpoints.write()
        return future

    def _retire(
        self, tp: TopicPartition, log: PartitionLog, rename: Callable[[TopicPartition, str], str], *, remove: bool
    ) -> Path:
        """Rename a log's directory; the caller writes the checkpoints and syncs the name."""
        directory = self._registry.dir_of(log)
        target = directory.path / rename(tp, unique(self._rng))
        self._registry.partition_counts[directory.path] -= 1
        self._cleaner.abort(tp)

        def act() -> None:
            log.rename(target.name, sync=False)
            log.mark_deleted()
            log.release()  # what a reader still holds is closed when it is done
            if remove:
                self.remove_later(target, log.config.file_delete_delay_ms, log)

        self._guard.run(directory, act)
        return target

    def remove_later(self, path: Path, delay_ms: int, log: PartitionLog | None = None) -> None:
        """Remove a `-delete` directory with all that is in it, after a delay."""
        self._scheduler.call_later(delay_ms / 1000, lambda: self._remove_tree(path, log))

    def _remove_tree(self, path: Path, log: PartitionLog | None) -> None:
        """The delay is over. Nothing is synced: a directory that comes back after a power loss still has its `-delete`
        name, and the next start removes it."""

        def act() -> None:
            if log is not None:
                log.release()  # somebody may have read from it, or synced it, since it was renamed
            if self._fs.exists(path):
                for name in self._fs.listdir(path):
                    self._fs.unlink(path / name, missing_ok=True)
                self._fs.rmdir(path)

        directory = self._registry.dir_at(path.parent)
        if directory.online:
            self._guard.run(directory, act)
