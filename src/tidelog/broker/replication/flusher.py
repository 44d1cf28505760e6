"""Syncs logs beside the event loop: for whoever waits for `flush.messages`, and for the background.

A log is synced by one thread at a time; appends that come meanwhile share the next sync. Waiting belongs to the
request and may be given up at any time; the sync itself does not, and its outcome is always put into force: the
recovery point moves, or the log directory goes offline. Nobody is told that something is written which then is not,
and nothing is synced a second time after a failure.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.broker.detached import outcome_of
from tidelog.common.errors import StorageError

if TYPE_CHECKING:
    from tidelog.log.manager.manager import LogManager
    from tidelog.log.manager.tasks import FlushTask
    from tidelog.log.partition.partition_log import PartitionLog


class Flusher:
    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._running: dict[PartitionLog, asyncio.Task[None]] = {}

    async def durable(self, log: PartitionLog, offset: int) -> None:
        """Until everything before `offset` is synced; StorageError when the disk failed or the log is gone."""
        while log.recovery_point < min(offset, log.log_end_offset):
            if log.deleted or not self._manager.dir_of(log).online:
                raise StorageError(f"{log.topic_partition} was not synced: its log directory is offline, or it is gone")
            await self.flush(log)

    async def flush(self, log: PartitionLog, up_to: int | None = None) -> None:
        """Sync a log, or wait for the sync that is under way. A failure takes the directory offline."""
        running = self._running.get(log)
        if running is None:
            task = self._manager.flush_task(log, up_to)
            if task is None:
                return
            running = self._running[log] = asyncio.get_running_loop().create_task(
                self._run(task), name=f"sync of {log.topic_partition}"
            )
        await outcome_of(running)

    async def _run(self, task: FlushTask) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, task.run)
        finally:
            del self._running[task.log]
        self._manager.flushed(task)

    async def stop(self) -> None:
        """Wait for what is under way: the logs are about to be closed."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)
