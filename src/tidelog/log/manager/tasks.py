"""Disk work that runs on any thread, and what came of it: the owner makes a task, a thread runs it, the owner hears.

A task takes down everything it needs when it is made, and `run` does system calls only: it may run beside the owner,
who goes on appending. It never raises; what went wrong is kept for the owner, who alone may take a directory offline. A
task that was made and not run has changed nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.log.directory.log_dir import LogDir, Snapshot

if TYPE_CHECKING:
    from tidelog.log.partition.flush import FlushJob
    from tidelog.log.partition.partition_log import PartitionLog


class FlushTask:
    """Made of a `flush_job` on the owner's thread; `run` it anywhere, then hand it to `LogManager.flushed`."""

    __slots__ = ("error", "job", "log")

    def __init__(self, log: PartitionLog, job: FlushJob) -> None:
        self.log = log
        self.job = job
        self.error: OSError | None = None

    def run(self) -> None:
        try:
            self.job.run()
        except OSError as error:
            self.error = error


class CheckpointTask:
    """Made by `LogManager.checkpoint_tasks`; `run` it anywhere, then hand it to `checkpointed`."""

    __slots__ = ("directory", "error", "snapshot")

    def __init__(self, directory: LogDir, snapshot: Snapshot) -> None:
        self.directory = directory
        self.snapshot = snapshot
        self.error: OSError | None = None

    def run(self) -> None:
        try:
            self.directory.write(self.snapshot)
        except OSError as error:
            self.error = error
