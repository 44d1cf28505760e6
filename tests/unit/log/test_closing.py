"""The stop of many logs: synced by several threads at a time, each file and name before the marker of a clean stop."""

from __future__ import annotations

import threading
from pathlib import Path

from support.managed_logs import append, open_manager
from tidelog.common.types import TopicPartition
from tidelog.log.loading import CLOSING_THREADS
from tidelog.log.names import LEADER_EPOCH_FILE, PARTITION_METADATA_FILE
from tidelog.testing.fs_hooks import HookedFileSystem, Operation


class WatchedDisk(HookedFileSystem):
    """Lets a sync of a segment go on only when as many others have come as there shall be threads."""

    def __init__(self) -> None:
        super().__init__()
        self.meeting = threading.Barrier(CLOSING_THREADS)
        self.closing = False
        self.synced: list[Path] = []

    def before(self, operation: Operation) -> None:
        if self.closing and operation.kind == "sync" and operation.path.suffix == ".log":
            self.meeting.wait(20)

    def after(self, operation: Operation) -> None:
        if self.closing and operation.kind in ("sync", "sync_dir"):
            self.synced.append(operation.path)


def test_logs_are_closed_side_by_side_and_everything_new_is_synced(tmp_path: Path) -> None:
    disk = WatchedDisk()
    manager = open_manager(tmp_path / "data", fs=disk)
    logs = [
        manager.create(TopicPartition("orders", number), manager.config_of(), topic_id=bytes(range(16)))
        for number in range(2 * CLOSING_THREADS)
    ]
    for log in logs:
        append(log, [(b"k", b"v")])
    disk.closing = True
    manager.shutdown()
    for log in logs:
        of_log = [path for path in disk.synced if path == log.dir or path.parent == log.dir]
        names = {path.name.removesuffix(".tmp") for path in of_log}
        assert {PARTITION_METADATA_FILE, LEADER_EPOCH_FILE, log.dir.name} <= names
        assert {path.suffix for path in of_log} >= {".log", ".index", ".timeindex", ".snapshot"}
        assert max(map(disk.synced.index, of_log)) < len(disk.synced) - 1, "the marker comes last"
    assert tmp_path / "data" in disk.synced
