"""Moving a replica to another log directory while it serves (AlterReplicaLogDirs).

A copy is made beside the present log, in the other directory, as `<topic>-<partition>.<unique>-future`. A task reads
the present log and appends to the copy as a follower would, chunk by chunk, the reads on a thread. When the copy has
everything, and has synced what the present log has, it takes that log's place, on the event loop and without a breath
in between: no append can slip past. The old directory goes the way of a deleted one. A restart finds the `-future`
directory and goes on, if it belongs to the same topic: a name alone says nothing.

A move is between two logs, not between names: after every wait it looks whether both are still those of the partition
(it may have been deleted meanwhile, and made anew), and ends if they are not.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker import config as keys
from tidelog.broker.detached import unheard
from tidelog.broker.replication.follower import truncation_offset
from tidelog.common.errors import ErrorCode, KafkaError, StorageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH, TopicPartition
from tidelog.log.directory.log_dir import disk_error
from tidelog.net.pauses import breathe

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.purgatory.timer import LoopTimer
    from tidelog.broker.replication.manager import ReplicaManager
    from tidelog.broker.replication.partition import Partition
    from tidelog.log.directory.log_dir import LogDir
    from tidelog.log.manager.manager import LogManager
    from tidelog.log.partition.partition_log import PartitionLog
    from tidelog.log.segment.file_slice import FileSlice

logger = logging.getLogger(__name__)

CHUNK_BYTES = 4 << 20
#: The timer counts in milliseconds: what is shorter is no pause, but a breath of the event loop.
SHORTEST_PAUSE = 0.001


class _Move(NamedTuple):
    """A move under way: these two logs, whatever lies under the partition's name later."""

    tp: TopicPartition
    current: PartitionLog
    copy: PartitionLog
    #: Where the present log ended when the move began. Anything below may be durable there, whatever the recovery point
    #: says: after a crash that is older than the last sync.
    end: int


class ReplicaMovers:
    def __init__(self, *, logs: LogManager, replicas: ReplicaManager, config: BrokerConfig, timer: LoopTimer) -> None:
        self._logs = logs
        self._replicas = replicas
        self._config = config
        self._timer = timer
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}

    def resume(self) -> None:
        """Go on with the moves that the last stop cut off. One that was asked for since the start is under way."""
        manager = self._logs
        for tp, copy in list(manager.future.items()):
            partition = self._replicas.partition(tp)
            if partition is None or tp in self._tasks:
                continue
            if copy.topic_id != partition.topic_id:
                logger.warning("%s was not copied from the present %s, and is removed", copy.dir, tp)
                manager.delete(tp, future=True)
            else:
                self._go_on(_Move(tp, partition.log, copy, partition.log.log_end_offset))

    def _go_on(self, move: _Move) -> None:
        """Cut from the copy what the present log has not, or has otherwise: a power loss may have taken it there."""
        current, copy = move.current, move.copy
        epoch, end = current.end_offset_for_epoch(copy.leader_epochs.latest_epoch)
        end = truncation_offset(copy, epoch, current.log_end_offset if epoch == NO_EPOCH else end)
        try:
            copy.truncate_to(end)
        except StorageError as error:
            self._blame(move, error)
        else:
            self._begin(move)

    def move(self, partition: Partition, target: LogDir) -> None:
        """Begin to move; to where it is already, ends a move that is under way. Raises KafkaError."""
        manager, tp = self._logs, partition.tp
        future = manager.get(tp, future=True)
        if future is not None:
            if manager.dir_of(future) is target:
                return
            self._cancel(tp)
            manager.delete(tp, future=True)
        if manager.dir_of(partition.log) is target:
            return
        copy = manager.create(tp, partition.log.config, partition.topic_id, target.path, future=True)
        move = _Move(tp, partition.log, copy, partition.log.log_end_offset)
        if partition.log.log_start_offset > 0:
            try:
                copy.truncate_fully_and_start_at(partition.log.log_start_offset)
            except StorageError as error:
                self._blame(move, error)
                raise
        self._begin(move)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for tp in list(self._tasks):
            self._cancel(tp)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, move: _Move) -> None:
        """The cleaner is let back in when the task has ended, however: one that is cancelled before its first step has
        not even begun to run, and would not come to a `finally` of its own."""
        self._logs.cleaner.pause(move.tp)
        task = asyncio.get_running_loop().create_task(self._run(move), name=f"move {move.tp}")
        task.add_done_callback(partial(self._ended, move.tp))
        self._tasks[move.tp] = task

    def _ended(self, tp: TopicPartition, task: asyncio.Task[None]) -> None:
        self._logs.cleaner.resume(tp)
        if self._tasks.get(tp) is task:
            del self._tasks[tp]
        unheard(task)

    def _cancel(self, tp: TopicPartition) -> None:
        task = self._tasks.pop(tp, None)
        if task is not None:
            task.cancel()

    async def _run(self, move: _Move) -> None:
        """A move that fails leaves the present log as it was; the disk that is to blame goes offline by itself."""
        try:
            while (copied := await self._copy_some(move)) is not None:
                await self._throttle(copied)
            logger.info("%s moved to %s", move.tp, self._finish(move))
        except (KafkaError, OSError) as error:
            logger.error("%s could not be moved: %s", move.tp, error)
            self._blame(move, error)

    async def _throttle(self, copied: int) -> None:
        """Hold `replica.alter.log.dirs.io.max.bytes.per.second`, by pauses between chunks; at least take a breath."""
        pause = copied / max(self._config[keys.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND], 1)
        await (self._timer.sleep(pause) if pause >= SHORTEST_PAUSE else breathe())

    async def _copy_some(self, move: _Move) -> int | None:
        """Copy a chunk; its bytes, or None when the copy is complete (then nothing has run since it was looked at)."""
        self._check(move)
        current, copy = move.current, move.copy
        if copy.log_end_offset < current.log_start_offset:
            copy.truncate_fully_and_start_at(current.log_start_offset)
        found = current.read(copy.log_end_offset, CHUNK_BYTES)
        if found.slice is None:
            return await self._sync(move)
        data = await asyncio.get_running_loop().run_in_executor(None, _read, found.slice)
        self._check(move)
        info = copy.append_as_follower(data)
        if info.flush_required:
            await self._replicas.flusher.durable(copy, info.last_offset + 1)
        return len(data)

    async def _sync(self, move: _Move) -> int | None:
        """The copy has everything: None when it has synced what the present log has, too; else it does that now."""
        current, copy = move.current, move.copy
        synced = copy.recovery_point >= max(current.recovery_point, move.end)
        if synced and copy.log_end_offset >= current.log_end_offset:
            return None
        await self._replicas.flusher.flush(copy)
        return 0

    def _finish(self, move: _Move) -> str:
        current, copy = move.current, move.copy
        for epoch, offset in current.leader_epochs.entries:
            if epoch > copy.leader_epochs.latest_epoch:  # it began, and has written nothing yet
                copy.assign_epoch(epoch, offset)
        copy.advance_high_watermark(current.high_watermark)
        if current.log_start_offset > copy.log_start_offset:
            copy.advance_log_start(current.log_start_offset)
        log = self._logs.replace_current_with_future(move.tp)
        self._replicas.replace_log(move.tp, log)
        return str(log.dir.parent)

    def _check(self, move: _Move) -> None:
        manager = self._logs
        if manager.get(move.tp) is not move.current or manager.get(move.tp, future=True) is not move.copy:
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, "it is no longer here")

    def _blame(self, move: _Move, error: KafkaError | OSError) -> None:
        manager = self._logs
        cause = disk_error(error)
        if cause is not None and manager.get(move.tp, future=True) is move.copy:
            manager.fail_dir(manager.dir_of(move.copy), cause)


def _read(piece: FileSlice) -> bytes:
    try:
        return piece.read()
    finally:
        piece.release()
