"""Moving a replica to another log directory while it serves (AlterReplicaLogDirs).

A copy is made beside the present log, in the other directory, as `<topic>-<partition>.<unique>-future`. A task reads
the present log and appends to the copy as a follower would, chunk by chunk, the reads on a thread. When the copy has
everything, it takes the present log's place, on the event loop and without a breath in between: no append can slip
past. The old directory goes the way of a deleted one. A restart finds the `-future` directory and goes on.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tidelog.broker import config as keys
from tidelog.common.errors import ErrorCode, KafkaError, StorageError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.broker.replication.partition import Partition
    from tidelog.broker.server import Broker
    from tidelog.log.file_slice import FileSlice
    from tidelog.log.log_dir import LogDir
    from tidelog.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

CHUNK_BYTES = 4 << 20


class ReplicaMovers:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}

    def resume(self) -> None:
        """Go on with the moves that the last stop cut off."""
        for tp in list(self._broker.log_manager.future):
            if self._broker.replicas.partition(tp) is not None:
                self._begin(tp)

    def move(self, partition: Partition, target: LogDir) -> None:
        """Begin to move; to where it is already, ends a move that is under way. Raises KafkaError."""
        manager, tp = self._broker.log_manager, partition.tp
        future = manager.get(tp, future=True)
        if future is not None:
            if manager.dir_of(future) is target:
                return
            self._cancel(tp)
            manager.delete(tp, future=True)
        if manager.dir_of(partition.log) is target:
            return
        copy = manager.create(tp, partition.log.config, partition.topic_id, target.path, future=True)
        if partition.log.log_start_offset > 0:
            copy.truncate_fully_and_start_at(partition.log.log_start_offset)
        self._begin(tp)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for tp in list(self._tasks):
            self._cancel(tp)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, tp: TopicPartition) -> None:
        self._broker.log_manager.cleaner.pause(tp)
        self._tasks[tp] = asyncio.get_running_loop().create_task(self._run(tp), name=f"move {tp}")

    def _cancel(self, tp: TopicPartition) -> None:
        task = self._tasks.pop(tp, None)
        if task is not None:
            task.cancel()

    async def _run(self, tp: TopicPartition) -> None:
        """A move that fails leaves the present log as it was; the disk that is to blame goes offline by itself."""
        try:
            while (copied := await self._copy_some(tp)) is not None:
                rate = self._broker.config[keys.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND]
                await asyncio.sleep(copied / max(rate, 1))
            logger.info("%s moved to %s", tp, self._finish(tp))
        except (KafkaError, OSError) as error:
            logger.error("%s could not be moved: %s", tp, error)
            self._blame(tp, error)
        finally:
            self._broker.log_manager.cleaner.resume(tp)
            self._tasks.pop(tp, None)

    async def _copy_some(self, tp: TopicPartition) -> int | None:
        """Copy a chunk; its bytes, or None when the copy is complete (then nothing has run since it was looked at)."""
        current, copy = self._logs(tp)
        if copy.log_end_offset < current.log_start_offset:
            copy.truncate_fully_and_start_at(current.log_start_offset)
        found = current.read(copy.log_end_offset, CHUNK_BYTES)
        if found.slice is None:
            return None if copy.log_end_offset >= current.log_end_offset else 0
        data = await asyncio.get_running_loop().run_in_executor(None, _read, found.slice)
        _, copy = self._logs(tp)
        copy.append_as_follower(data)
        return len(data)

    def _finish(self, tp: TopicPartition) -> str:
        broker = self._broker
        current, copy = self._logs(tp)
        copy.advance_high_watermark(current.high_watermark)
        if current.log_start_offset > copy.log_start_offset:
            copy.advance_log_start(current.log_start_offset)
        log = broker.log_manager.replace_current_with_future(tp)
        broker.replicas.replace_log(tp, log)
        return str(log.dir.parent)

    def _logs(self, tp: TopicPartition) -> tuple[PartitionLog, PartitionLog]:
        manager = self._broker.log_manager
        current, copy = manager.get(tp), manager.get(tp, future=True)
        if current is None or copy is None:
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, "it is no longer here")
        return current, copy

    def _blame(self, tp: TopicPartition, error: KafkaError | OSError) -> None:
        copy = self._broker.log_manager.get(tp, future=True)
        cause = error if isinstance(error, OSError) else error.__cause__
        if copy is not None and isinstance(error, (OSError, StorageError)) and isinstance(cause, OSError):
            self._broker.log_manager.fail_dir(self._broker.log_manager.dir_of(copy), cause)


def _read(piece: FileSlice) -> bytes:
    try:
        return piece.read()
    finally:
        piece.release()
