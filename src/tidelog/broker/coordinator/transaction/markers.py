"""Writing the end markers of transactions: here for partitions that this broker leads, by request for the others.

A marker (a control batch of one record, COMMIT or ABORT) ends the transaction on its partition: the last stable offset
moves on, and readers of `read_committed` get what was committed. Until then they wait, so markers are sent as soon as
the outcome is in the log.

A marker is tried until it is written or there is nothing left to write it to: a deleted partition needs none, and a
leader that knows a newer epoch (of the producer or of the coordinator) has no use for ours. Trying again does no harm:
a second marker finds no open transaction of this producer, and at most moves the log's end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from tidelog.broker.coordinator.ports import PartitionWriter
from tidelog.broker.coordinator.timers import pause
from tidelog.broker.coordinator.transaction.machine import MarkerJob
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import GROUP_METADATA_TOPIC, NO_EPOCH, TopicPartition
from tidelog.records.format.control import end_txn_marker

if TYPE_CHECKING:
    from tidelog.broker.coordinator.runtime import Runtime
    from tidelog.broker.metadata.cache import MetadataCache

logger = logging.getLogger(__name__)

RETRY_SECONDS = 0.1
#: After these there is nothing more to do for the partition.
_FINAL = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,  # of a topic in an old format, which never took the data either
    }
)

Remote = Callable[[int, MarkerJob, list[TopicPartition]], Awaitable[dict[TopicPartition, ErrorCode]]]
"""(node, job, partitions) -> what became of each."""


class MarkerWriter:
    """Markers on partitions that this broker leads. Also what the WriteTxnMarkers handler calls."""

    def __init__(self, writer: PartitionWriter, groups: Runtime, clock: Clock) -> None:
        self._writer = writer
        self._groups = groups
        self._clock = clock

    def write(self, job: MarkerJob, tp: TopicPartition, done: Callable[[ErrorCode], None]) -> None:
        """One marker. On __consumer_offsets it ends what TxnOffsetCommit left pending, so the shard of that partition
        must replay it: it is written through the shard, in line with its other writes.
        """
        batch = end_txn_marker(
            job.producer_id,
            job.epoch,
            committed=job.committed,
            coordinator_epoch=job.coordinator_epoch,
            timestamp=self._clock.time_ms(),
        )
        if tp.topic != GROUP_METADATA_TOPIC:
            self._writer.append(tp, NO_EPOCH, batch, done, transaction_version=job.client_version)
            return
        try:
            shard = self._groups.active(tp.partition)
        except KafkaError as error:
            done(error.code)
            return
        shard.append_marker(
            batch,
            (job.producer_id, job.epoch),
            committed=job.committed,
            done=lambda _, error: done(ErrorCode.NONE if error is None else error.code),
            transaction_version=job.client_version,
        )

    async def write_all(self, job: MarkerJob, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """All at once, as each may have to wait for replicas of its own; what became of each."""
        results: dict[TopicPartition, ErrorCode] = {}
        wanted = list(dict.fromkeys(partitions))
        finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(tp: TopicPartition, code: ErrorCode) -> None:
            results[tp] = code
            if len(results) == len(wanted) and not finished.done():
                finished.set_result(None)

        for tp in wanted:
            self.write(job, tp, lambda code, tp=tp: done(tp, code))  # type: ignore[misc]  # bound default
        if wanted:
            await finished
        return results


class MarkerSender:
    """Takes the jobs of the transaction machines and brings each to its end.

    A job outlasts the request that caused it: EndTxn is answered when the outcome is in the log, not when the markers
    are written (KIP-98). It is forgotten when the broker stops, and begun anew by whoever loads the transaction next.
    """

    def __init__(
        self,
        writer: MarkerWriter,
        metadata: MetadataCache,
        node_id: int,
        complete: Callable[[MarkerJob], Awaitable[None]],
        remote: Remote,
        scheduler: Scheduler,
    ) -> None:
        self._scheduler = scheduler
        self._writer = writer
        self._metadata = metadata
        self._node_id = node_id
        self._complete = complete
        self._remote = remote
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, job: MarkerJob) -> None:
        """Begin in the loop's next turn: the machine that asks is in the midst of a step, and a marker on the groups'
        topic is a write of another shard.
        """
        task = asyncio.get_running_loop().create_task(self._bring_to_end(job))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("a transaction's markers could not be written", exc_info=task.exception())

    async def _bring_to_end(self, job: MarkerJob) -> None:
        """Round after round, until no partition is left; leaders are looked up anew for each, as they may move."""
        left = set(job.partitions)
        while left:
            for tp, code in (await self._round(job, left)).items():
                if code in _FINAL:
                    left.discard(tp)
                else:
                    logger.info("%s: marker on %s: %s", job.transactional_id, tp, code.name)
            if left:
                await pause(self._scheduler, RETRY_SECONDS)
        await self._complete(job)

    async def _round(self, job: MarkerJob, partitions: set[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """One try for each partition, wherever its leader is."""
        results: dict[TopicPartition, ErrorCode] = {}
        by_leader: dict[int, list[TopicPartition]] = {}
        for tp in sorted(partitions):
            state = self._metadata.partition(tp)
            if state is None:
                results[tp] = ErrorCode.NONE  # deleted: nobody waits for its marker
            elif state.leader < 0:
                results[tp] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                by_leader.setdefault(state.leader, []).append(tp)
        for leader, tps in by_leader.items():
            if leader == self._node_id:
                results.update(await self._writer.write_all(job, tps))
            else:
                results.update(await self._remote(leader, job, tps))
        return results

    async def stop(self) -> None:
        """Give up. Whoever loads the prepared transactions next sends their markers again."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
