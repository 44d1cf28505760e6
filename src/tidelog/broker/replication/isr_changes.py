"""The leader's wishes to change its in-sync set, and what becomes of them.

A wish goes to the controller with the epochs that the leader knows; the controller compares, writes, and answers with
the new state, or refuses because something changed meanwhile. Until then the larger of both sets counts for the high
watermark: a replica that may already be in the set must have every record that is called committed.

One wish per partition is under way at a time. A refused one is forgotten; the next fetch or look wishes again.

How the controller is reached is not known here: `AlterIsr` is a port, declared below the controller and filled in by
whoever wires the broker. With a controller elsewhere it is an AlterPartition request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from tidelog.broker import config as keys
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.replication.isr import lagging, may_join
from tidelog.common.errors import TidelogError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.purgatory.timer import LoopTimer
    from tidelog.broker.purgatory.timing_wheel import TimerEntry
    from tidelog.broker.replication.leader import LeaderState
    from tidelog.broker.replication.partition import Partition
    from tidelog.common.clock import Clock

logger = logging.getLogger("tidelog.replication")


class AlterIsr(Protocol):
    """The controller's side: raises KafkaError when it refuses, or what its store says when that fails."""

    def __call__(
        self, tp: TopicPartition, *, leader_epoch: int, isr: tuple[int, ...], partition_epoch: int
    ) -> Awaitable[PartitionState]: ...


class IsrChanges:
    """`partitions` are all that are hosted; `on_changed` hears of every change of what counts for a high watermark."""

    def __init__(
        self,
        *,
        alter: AlterIsr,
        partitions: Callable[[], Iterable[Partition]],
        on_changed: Callable[[Partition], None],
        config: BrokerConfig,
        clock: Clock,
        timer: LoopTimer,
    ) -> None:
        self._alter = alter
        self._partitions = partitions
        self._on_changed = on_changed
        self._config = config
        self._clock = clock
        self._timer = timer
        self._next_look: TimerEntry | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def on_fetch(self, partition: Partition, node: int) -> None:
        """A follower has fetched: it may have caught up."""
        leading = partition.leading
        if leading is None or leading.pending_isr is not None or node in leading.isr:
            return
        follower = leading.followers.get(node)
        if follower is not None and may_join(follower, partition.log.high_watermark, leading.epoch_start):
            self._wish(partition, leading, (*leading.isr, node))

    def watch(self) -> None:
        """There are followers from now on: look after those that fall behind. A broker alone needs no timer for it."""
        if self._next_look is None:
            self._look()

    def _look(self) -> None:
        """Every half of replica.lag.time.max.ms, as Kafka does: who falls behind leaves after at most one and a half
        of it."""
        lag = self._config[keys.REPLICA_LAG_TIME_MAX_MS] / 1000
        self._shrink(self._clock.monotonic(), lag)
        self._next_look = self._timer.call_later(lag / 2, self._look)

    def _shrink(self, now: float, max_lag_seconds: float) -> None:
        """Let go of who has been behind for too long."""
        for partition in self._partitions():
            leading = partition.leading
            if leading is None or not leading.followers or leading.pending_isr is not None:
                continue
            behind = lagging(leading.isr, leading.followers, partition.log.log_end_offset, now, max_lag_seconds)
            if behind:
                self._wish(partition, leading, tuple(node for node in leading.isr if node not in behind))

    def stop(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        for task in self._tasks:
            task.cancel()

    def _wish(self, partition: Partition, leading: LeaderState, isr: tuple[int, ...]) -> None:
        logger.info("%s: in-sync replicas %s -> %s wanted", partition.tp, leading.isr, isr)
        leading.propose(isr)
        self._on_changed(partition)
        task = asyncio.get_running_loop().create_task(self._change(partition, leading, isr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _change(self, partition: Partition, leading: LeaderState, isr: tuple[int, ...]) -> None:
        """Ask, and take on what came of it, unless the wish is no longer open: then its answer is history.

        A leadership that is over does not come back by it: the partition's log may be gone by now. And where the
        controller has said something newer meanwhile, another wish may be under way, whose larger set still counts.
        """
        try:
            state = await self._alter(
                partition.tp,
                leader_epoch=partition.leader_epoch,
                isr=isr,
                partition_epoch=partition.partition_epoch,
            )
        except TidelogError as error:
            logger.warning("%s: the controller refused the in-sync replicas %s: %s", partition.tp, isr, error)
        else:
            if _is_open(partition, leading, isr) and state.partition_epoch >= partition.partition_epoch:
                partition.become(state)
        finally:
            if _is_open(partition, leading, isr):
                leading.settle()
            partition.advance_high_watermark()
            self._on_changed(partition)


def _is_open(partition: Partition, leading: LeaderState, isr: tuple[int, ...]) -> bool:
    """Whether this very wish is what the partition's leader waits for."""
    return partition.leading is leading and leading.pending_isr is isr
