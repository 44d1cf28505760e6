"""Making a log durable, in a part that any thread can run.

The owner makes a `FlushJob`, a thread runs it (only system calls; nothing of the log's state is touched), the owner
puts the result into force: only then the recovery point moves. A failed sync is never tried again: the kernel may have
dropped the pages and would report success; the error takes the log directory offline.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.log import partition_metadata
from tidelog.log.home import Home
from tidelog.log.names import DELETED, LEADER_EPOCH_FILE, snapshot_name
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
        """Sync. Any thread, once."""
        for segment in self.segments:
            try:
                segment.flush()
            except FileNotFoundError:
                if segment.suffix != DELETED:
                    raise
        for offset in self.snapshots:
            self._sync_snapshot(offset)
        if self.epochs is not None:
            self.home.fs.write_atomic(self.home.file(LEADER_EPOCH_FILE), self.epochs)
        if self.new_names:
            partition_metadata.sync(self.home.fs, self.home.path)
            self.home.fs.sync_dir(self.home.path)
            self.home.fs.sync_dir(self.home.path.parent)  # the directory itself may be new

    def _sync_snapshot(self, offset: int) -> None:
        path = self.home.file(snapshot_name(offset))
        if not self.home.fs.exists(path):  # deleted with its segment
            return
        file = self.home.fs.open(path)
        try:
            file.sync()
        finally:
            file.close()
