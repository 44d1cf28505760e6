"""What is to be waited for after an append, until it may be acknowledged.

    in the log → synced, where `flush.messages` asks for it (`written`) → in every in-sync replica, for acks=all
    (`commit_codes`)

Kafka acknowledges what is in the page cache of all in-sync replicas, and syncs later: replication is what makes records
durable there. A topic that sets `flush.messages` wants the disk as well, and then a record that is not synced yet is
neither shown to consumers nor counted for the high watermark.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.broker.detached import outcome_of
from tidelog.broker.replication.flusher import Flusher
from tidelog.broker.replication.waiting import DelayedProduce

if TYPE_CHECKING:
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.partition import Partition
    from tidelog.broker.replication.waking import Waking
    from tidelog.common.errors import ErrorCode
    from tidelog.common.types import TopicPartition
    from tidelog.log.append import AppendInfo


class Appends:
    def __init__(self, flusher: Flusher, waking: Waking, purgatories: Purgatories) -> None:
        self._flusher = flusher
        self._waking = waking
        self._purgatories = purgatories
        #: Those that are in the log and count when they are synced.
        self._syncing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many are in a log and wait for its sync."""
        return len(self._syncing)

    async def written(self, partition: Partition, info: AppendInfo) -> None:
        """Until an append counts as written (`flush.messages`), and tell who waits for it. Raises KafkaError.

        The records are in the log, whether their producer waits on or leaves: others are to see them all the same.
        """
        if not info.flush_required:
            self._waking.on_moved(partition)
            return
        task = asyncio.get_running_loop().create_task(self._synced(partition, info), name=f"sync of {partition.tp}")
        self._syncing.add(task)
        task.add_done_callback(self._syncing.discard)
        await outcome_of(task)

    async def _synced(self, partition: Partition, info: AppendInfo) -> None:
        await self._flusher.durable(partition.log, info.last_offset + 1)
        partition.advance_high_watermark()
        self._waking.on_moved(partition)

    async def commit_codes(
        self, required: dict[TopicPartition, tuple[Partition, int]], timeout_ms: int
    ) -> dict[TopicPartition, ErrorCode]:
        """Wait for acks=all: until everything before these offsets is committed, or cannot be; what came of each."""
        operation = DelayedProduce(required)
        if not self._purgatories.produce.try_or_watch(operation, required, timeout_ms):
            await operation.done
        return operation.results
