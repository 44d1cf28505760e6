"""The leader's wishes to change its in-sync set, and what becomes of them.

A wish goes to the controller with the epochs that the leader knows; the controller compares, writes, and answers with
the new state, or refuses because something changed meanwhile. Until then the larger of both sets counts for the high
watermark: a replica that may already be in the set must have every record that is called committed.

One wish per partition is under way at a time. A refused one is forgotten; the next fetch or look wishes again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.replication.isr import lagging, may_join
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.broker.replication.partition import Partition

logger = logging.getLogger("tidelog.replication")


class AlterIsr(Protocol):
    """The controller's side: raises KafkaError when it refuses."""

    def __call__(
        self, tp: TopicPartition, *, leader_epoch: int, isr: tuple[int, ...], partition_epoch: int
    ) -> Awaitable[PartitionState]: ...


class IsrChanges:
    def __init__(self, alter: AlterIsr, on_changed: Callable[[Partition], None]) -> None:
        self._alter = alter
        self._on_changed = on_changed
        self._tasks: set[asyncio.Task[None]] = set()

    def on_fetch(self, partition: Partition, node: int) -> None:
        """A follower has fetched: it may have caught up."""
        follower = partition.followers.get(node)
        if follower is None or node in partition.isr or partition.pending_isr is not None:
            return
        if may_join(follower, partition.log.high_watermark, partition.leader_epoch_start):
            self._wish(partition, (*partition.isr, node))

    def shrink(self, partitions: Iterable[Partition], now: float, max_lag_seconds: float) -> None:
        """Let go of who has been behind for too long."""
        for partition in partitions:
            if not partition.is_leader or not partition.followers or partition.pending_isr is not None:
                continue
            behind = lagging(partition.isr, partition.followers, partition.log.log_end_offset, now, max_lag_seconds)
            if behind:
                self._wish(partition, tuple(node for node in partition.isr if node not in behind))

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _wish(self, partition: Partition, isr: tuple[int, ...]) -> None:
        logger.info("%s: in-sync replicas %s -> %s wanted", partition.tp, partition.isr, isr)
        partition.pending_isr = isr
        self._on_changed(partition)
        task = asyncio.get_running_loop().create_task(self._change(partition, isr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _change(self, partition: Partition, isr: tuple[int, ...]) -> None:
        try:
            state = await self._alter(
                partition.tp,
                leader_epoch=partition.leader_epoch,
                isr=isr,
                partition_epoch=partition.partition_epoch,
            )
        except KafkaError as error:
            logger.warning("%s: the controller refused the in-sync replicas %s: %s", partition.tp, isr, error)
        else:
            if state.leader_epoch == partition.leader_epoch and state.partition_epoch >= partition.partition_epoch:
                partition.become(state)
        finally:
            partition.pending_isr = None
            if partition.is_leader:
                partition.advance_high_watermark()
            self._on_changed(partition)
