"""Both coordinators of a broker: built on its log, metadata and clock, told of leadership, and swept by timers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.broker import config as keys
from tidelog.broker.coordinator.config import GroupConfig, TransactionConfig
from tidelog.broker.coordinator.group.machine import GroupMachine
from tidelog.broker.coordinator.records import GROUP_CODEC, TRANSACTION_CODEC
from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.coordinator.service import Service
from tidelog.broker.coordinator.sweep import sweep
from tidelog.broker.coordinator.timers import Timers
from tidelog.broker.coordinator.transaction.coordinator import TransactionCoordinator
from tidelog.broker.coordinator.transaction.machine import TransactionMachine
from tidelog.broker.coordinator.transaction.markers import MarkerSender, MarkerWriter
from tidelog.broker.coordinator.transaction.peers import Peers
from tidelog.broker.coordinator.wiring import CacheView, ReplicaWriter
from tidelog.broker.detached import unheard
from tidelog.broker.handlers.groups._heartbeat import HeartbeatTaker
from tidelog.broker.handlers.groups._offset_commit import CommitTaker
from tidelog.broker.handlers.groups._offset_fetch import OffsetFetchTaker
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tidelog.protocol.api import ApiKey

if TYPE_CHECKING:
    from tidelog.broker.metadata.images import TopicImage
    from tidelog.broker.network._hot import RequestSink
    from tidelog.broker.server import Broker


class Coordinators:
    """`group` and `transaction` serve requests; `markers` writes the ends of transactions."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._periodic: dict[str, asyncio.TimerHandle] = {}
        self._sweeps: set[asyncio.Task[None]] = set()
        self._view = CacheView(broker.metadata)
        self._writer = ReplicaWriter(broker, broker.config[keys.OFFSETS_COMMIT_TIMEOUT_MS])
        self._group_config = GroupConfig.of(broker.config, broker.group_configs)
        self._transaction_config = TransactionConfig.of(broker.config)
        self.group = Service(
            Runtime(
                GROUP_METADATA_TOPIC,
                factory=self._group_machine,
                codec=GROUP_CODEC,
                writer=self._writer,
                scheduler=loop,
                clock=broker.clock,
                partitions=partial(broker.metadata.partition_count, GROUP_METADATA_TOPIC),
            )
        )
        self._peers = Peers(broker.metadata, broker.config.inter_broker_listener)
        self.transaction = TransactionCoordinator(
            Runtime(
                TRANSACTION_STATE_TOPIC,
                factory=self._transaction_machine,
                codec=TRANSACTION_CODEC,
                writer=self._writer,
                scheduler=loop,
                clock=broker.clock,
                partitions=partial(broker.metadata.partition_count, TRANSACTION_STATE_TOPIC),
            ),
            self._transaction_config,
            broker.producer_ids.next,
            self._peers.add_partition,
        )
        self.markers = MarkerWriter(self._writer, self.group.runtime, broker.clock)
        self._sender = MarkerSender(
            self.markers, broker.metadata, broker.node_id, self.transaction.complete, self._peers.write_markers
        )

    def _group_machine(self, partition: int, epoch: int, timers: Timers) -> GroupMachine:
        return GroupMachine(
            timers=timers,
            clock=self._broker.clock,
            rng=self._broker.rng,
            view=self._view,
            config=self._group_config,
        )

    def _transaction_machine(self, partition: int, epoch: int, timers: Timers) -> TransactionMachine:
        return TransactionMachine(
            coordinator_epoch=epoch,
            clock=self._broker.clock,
            config=self._transaction_config,
            send_markers=lambda job: self._sender.send(job),
        )

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        replicas = self._broker.replicas
        replicas.on_leadership(self._on_leadership)
        for partition in list(replicas.partitions()):
            if partition.is_leader:
                self._on_leadership(partition.tp, partition.leader_epoch)
        self._broker.metadata.on_change(self._on_topics)
        if (sink := self._broker.network.sink) is not None:
            self._take_common_requests(sink)
        config = self._broker.config
        self._every("offsets", config[keys.OFFSETS_RETENTION_CHECK_INTERVAL_MS], self._expire_offsets)
        self._every("abort", self._transaction_config.abort_interval_ms, self._abort_timed_out)
        self._every("expire", self._transaction_config.expire_interval_ms, self._expire_ids)

    def _take_common_requests(self, sink: RequestSink) -> None:
        """What consumers ask most often need not become a message first."""
        runtime, limit = self.group.runtime, self._group_config.offset_metadata_max_bytes
        sink.set_taker(ApiKey.OFFSET_COMMIT, CommitTaker(runtime, self._broker.metadata, self._broker.clock, limit))
        sink.set_taker(ApiKey.OFFSET_FETCH, OffsetFetchTaker(runtime))
        sink.set_taker(ApiKey.HEARTBEAT, HeartbeatTaker(runtime))

    async def stop(self) -> None:
        for handle in self._periodic.values():
            handle.cancel()
        for task in list(self._sweeps):
            task.cancel()
        await asyncio.gather(*self._sweeps, return_exceptions=True)
        self.group.runtime.stop()
        self.transaction.runtime.stop()
        await self._sender.stop()
        await self._writer.stop()
        await self._peers.stop()

    def _every(self, name: str, interval_ms: int, action: Callable[[], None]) -> None:
        def tick() -> None:
            action()
            self._periodic[name] = self._loop.call_later(interval_ms / 1000, tick)

        self._periodic[name] = self._loop.call_later(interval_ms / 1000, tick)

    # -- what happens around us ------------------------------------------------------------------------------------

    def _on_leadership(self, tp: TopicPartition, epoch: int | None) -> None:
        runtime = self.runtime_of(tp.topic)
        if runtime is None:
            return
        if epoch is None:
            runtime.on_resigned(tp.partition)
        else:
            runtime.on_elected(tp.partition, epoch)

    def runtime_of(self, topic: str) -> Runtime | None:
        if topic == GROUP_METADATA_TOPIC:
            return self.group.runtime
        return self.transaction.runtime if topic == TRANSACTION_STATE_TOPIC else None

    def _on_topics(self, changed: list[TopicImage], deleted: list[TopicImage]) -> None:
        gone = [image.name for image in deleted]
        if gone:
            now = self._broker.clock.time_ms()
            self._run(
                sweep(
                    self.group.runtime,
                    lambda machine: machine.state.offsets.group_ids,
                    lambda machine, groups: machine.forget_topics(gone, groups, now),
                )
            )

    # -- sweeps ----------------------------------------------------------------------------------------------------

    def _expire_offsets(self) -> None:
        self._run(
            sweep(
                self.group.runtime,
                lambda machine: list(machine.state.groups),
                lambda machine, groups: machine.expire_offsets(groups),
            )
        )

    def _expire_ids(self) -> None:
        self._run(
            sweep(
                self.transaction.runtime,
                lambda machine: list(machine.transactions),
                lambda machine, ids: machine.expire_ids(ids),
            )
        )

    def _abort_timed_out(self) -> None:
        self._run(self.transaction.abort_timed_out())

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._sweeps.add(task)
        task.add_done_callback(self._sweeps.discard)
        task.add_done_callback(unheard)
