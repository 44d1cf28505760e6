"""An fsync that runs on any thread, and what came of it."""

from __future__ import annotations

from tidelog.log.flush import FlushJob
from tidelog.log.partition_log import PartitionLog


class FlushTask:
    """Made by `LogManager.flush_due` on the owner's thread; `run` it anywhere, then hand it to `flushed`."""

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
