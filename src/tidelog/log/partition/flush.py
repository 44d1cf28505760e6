"""Making a log durable, in a part that any thread can run.

The owner makes a `FlushJob`, a thread runs it (only system calls; nothing of the log's state is touched), the owner
puts the result into force: only then the recovery point moves, and only then the list of what is not durable
(`unsynced.py`) gets shorter. A failed sync is never tried again: the kernel may have dropped the pages and would report
success; the error takes the log directory offline, and every later sync of the log fails with it.

The order of the syncs: data and indexes, then the producers' snapshots, then the leader epochs and the names. Only when
all of them have succeeded does the recovery point say that a start may believe what it finds below it.

Meanwhile the owner goes on: segments are deleted (then there is nothing to sync), the directory is renamed (then the
file is found under its new name), the log is cut. After a cut the job's offset means nothing any more: what lies below
it now may have been written since. That is what `cuts` tells.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tidelog.log import checkpoint, partition_metadata
from tidelog.log.names import LEADER_EPOCH_FILE, snapshot_name
from tidelog.log.segment.home import Home
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.unsynced import Taken


@dataclass(slots=True)
class FlushJob:
    """Everything below `offset` is durable once `run` has returned, and so is what was `taken`."""

    home: Home
    offset: int
    #: How often the log had been cut when the job was made.
    cuts: int
    segments: tuple[Segment, ...]
    taken: Taken
    #: The leader epochs as they were, if they changed since they were last written.
    epochs: bytes | None = None

    def run(self) -> None:
        """Sync. Any thread, once. What the owner deletes meanwhile is left out; a renamed directory is followed."""
        if self.home.failed is not None:
            raise self.home.failed
        try:
            self._run()
        except OSError as error:
            self.home.failed = error
            raise

    def _run(self) -> None:
        for segment in {**dict.fromkeys(self.segments), **self.taken.segments}:
            if not segment.removed:
                self._follow(segment.flush, segment)
            if segment.removed:  # perhaps meanwhile
                segment.release()
        for offset in self.taken.snapshots:
            with contextlib.suppress(FileNotFoundError):  # deleted with its segment, or its directory is on the way out
                self._follow(partial(self._sync_snapshot, offset))
        if self.epochs is not None or self.taken.names:
            self._follow(self._sync_names)

    def stage(self) -> None:
        """Write what else has to be written before the whole file system is synced in the place of `run`."""
        if self.home.failed is not None:
            raise self.home.failed
        if self.epochs is not None:
            checkpoint.stage(self.home.fs, self.home.file(LEADER_EPOCH_FILE), self.epochs)

    def publish(self) -> bool:
        """What was staged is durable: let it take its name. Whether there was any; then the name is to be synced."""
        if self.epochs is None:
            return False
        checkpoint.publish(self.home.fs, self.home.file(LEADER_EPOCH_FILE))
        return True

    def _follow(self, sync: Callable[[], None], segment: Segment | None = None) -> None:
        """Sync something by its path, again if the directory was renamed on the way."""
        while True:
            path = self.home.path
            try:
                sync()
                return
            except FileNotFoundError:
                if self.home.renaming or self.home.path != path:  # in this order: the path is there before it ends
                    continue
                if segment is None or not segment.removed:
                    raise
                return

    def _sync_names(self) -> None:
        """The small files, then the directory that names everything, then the one that names the directory."""
        fs, path = self.home.fs, self.home.path
        if self.taken.names:
            partition_metadata.sync(fs, path)
        if self.epochs is not None:
            fs.write_atomic(path / LEADER_EPOCH_FILE, self.epochs)  # syncs the directory, too
        elif self.taken.names:
            fs.sync_dir(path)
        if self.taken.names:
            fs.sync_dir(path.parent)  # the directory itself may be new

    def _sync_snapshot(self, offset: int) -> None:
        """A snapshot is written without a sync (rolling a segment must not wait for the disk): that is made up here."""
        file = self.home.fs.open(self.home.file(snapshot_name(offset)))
        try:
            file.sync()
        finally:
            file.close()
