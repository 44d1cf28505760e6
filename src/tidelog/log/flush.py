"""Making a log durable, in a part that any thread can run.

The owner makes a `FlushJob`, a thread runs it (only system calls; nothing of the log's state is touched), the owner
puts the result into force: only then the recovery point moves. A failed sync is never tried again: the kernel may have
dropped the pages and would report success; the error takes the log directory offline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.log import partition_metadata
from tidelog.log.home import Home
from tidelog.log.names import LEADER_EPOCH_FILE, snapshot_name
from tidelog.log.segment import Segment


@dataclass(slots=True)
class FlushJob:
    """Everything below `offset` is durable once `run` has returned."""

    home: Home
    offset: int
    segments: tuple[Segment, ...]
    #: The leader epochs as they were, if they changed since they were last written.
    epochs: bytes | None = None
    #: Producer snapshots that were written without a sync.
    snapshots: list[int] = field(default_factory=list)
    #: Whether files were made since the last flush: their names must become durable too.
    new_names: bool = False

    def run(self) -> None:
        """Sync. Any thread, once. What the owner deletes meanwhile is left out; a renamed directory is followed."""
        for segment in self.segments:
            self._follow(segment.flush, segment)
        for offset in self.snapshots:
            self._sync_snapshot(offset)
        if self.epochs is not None or self.new_names:
            self._follow(self._sync_names)

    def _follow(self, sync: Callable[[], None], segment: Segment | None = None) -> None:
        while True:
            path = self.home.path
            try:
                sync()
                return
            except FileNotFoundError:
                if self.home.path != path:
                    continue
                if segment is None or not segment.removed:
                    raise
                return

    def _sync_names(self) -> None:
        if self.new_names:
            partition_metadata.sync(self.home.fs, self.home.path)
        if self.epochs is not None:
            self.home.fs.write_atomic(self.home.file(LEADER_EPOCH_FILE), self.epochs)  # syncs the directory, too
        elif self.new_names:
            self.home.fs.sync_dir(self.home.path)
        if self.new_names:
            self.home.fs.sync_dir(self.home.path.parent)  # the directory itself may be new

    def _sync_snapshot(self, offset: int) -> None:
        try:
            file = self.home.fs.open(self.home.file(snapshot_name(offset)))
        except FileNotFoundError:  # deleted with its segment, or its directory is on the way out
            return
        try:
            file.sync()
        finally:
            file.close()
