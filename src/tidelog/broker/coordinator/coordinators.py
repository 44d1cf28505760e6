"""Both coordinators of a broker: built on its log, metadata and clock, told of leadership, and swept by timers.

They are begun when somebody first needs them. From then on they hear of every partition that this broker starts or
ceases to lead, and those of the two internal topics become shards. Three things recur:

    offsets.retention.check.interval.ms                               offsets that have expired (KIP-211)
    transaction.abort.timed.out.transaction.cleanup.interval.ms       transactions that were open for too long
    transaction.remove.expired.transaction.cleanup.interval.ms        transactional ids that nobody uses
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.broker import config as keys
from tidelog.broker.coordinator.config import GroupConfig, TransactionConfig
from tidelog.broker.coordinator.group.machine import GroupMachine
from tidelog.broker.coordinator.ports import MachineFactory
from tidelog.broker.coordinator.records import GROUP_CODEC, TRANSACTION_CODEC, RecordCodec
from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.coordinator.service import Service
from tidelog.broker.coordinator.sweep import sweep
from tidelog.broker.coordinator.timers import Recurring, Timers
from tidelog.broker.coordinator.transaction.coordinator import TransactionCoordinator
from tidelog.broker.coordinator.transaction.machine import TransactionMachine
from tidelog.broker.coordinator.transaction.markers import MarkerSender, MarkerWriter
from tidelog.broker.coordinator.transaction.peers import TransactionPeers
from tidelog.broker.coordinator.wiring import CacheView, ReplicaWriter
from tidelog.broker.detached import unheard
from tidelog.common.clock import Clock
from tidelog.common.rng import Rng
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.metadata.images import TopicImage
    from tidelog.broker.peers.connections import PeerConnections
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.manager import ReplicaManager


class Coordinators:
    """`group` and `transaction` serve requests; `markers` writes the ends of transactions.

    `group_configs` are the configs of single groups, by group id, which the broker keeps up to date. `scheduler` has
    all timers: an event loop, or one whose time is moved by hand.
    """

    def __init__(
        self,
        *,
        node_id: int,
        config: BrokerConfig,
        group_configs: Mapping[str, Mapping[str, str]],
        metadata: MetadataCache,
        replicas: ReplicaManager,
        purgatories: Purgatories,
        peers: PeerConnections,
        next_producer_id: Callable[[], Awaitable[int]],
        clock: Clock,
        rng: Rng,
        scheduler: Scheduler,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._replicas = replicas
        self._clock = clock
        self._rng = rng
        self._scheduler = scheduler
        self._recurring = Recurring(scheduler)
        self._sweeps: set[asyncio.Task[None]] = set()
        self._view = CacheView(metadata)
        self._writer = ReplicaWriter(replicas, purgatories, config[keys.OFFSETS_COMMIT_TIMEOUT_MS])
        self.group_config = GroupConfig.of(config, group_configs)
        self._transaction_config = TransactionConfig.of(config)
        self.group = Service(self._runtime(GROUP_METADATA_TOPIC, self._group_machine, GROUP_CODEC))
        others = TransactionPeers(metadata, peers)
        self.transaction = TransactionCoordinator(
            self._runtime(TRANSACTION_STATE_TOPIC, self._transaction_machine, TRANSACTION_CODEC),
            self._transaction_config,
            next_producer_id,
            others.add_partition,
            scheduler,
        )
        self.markers = MarkerWriter(self._writer, self.group.runtime, clock)
        self._sender = MarkerSender(
            self.markers, metadata, node_id, self.transaction.complete, others.write_markers, scheduler
        )

    def _runtime(self, topic: str, factory: MachineFactory, codec: RecordCodec) -> Runtime:
        return Runtime(
            topic,
            factory=factory,
            codec=codec,
            writer=self._writer,
            scheduler=self._scheduler,
            clock=self._clock,
            partitions=partial(self._metadata.partition_count, topic),
        )

    def _group_machine(self, partition: int, epoch: int, timers: Timers) -> GroupMachine:
        return GroupMachine(timers=timers, clock=self._clock, rng=self._rng, view=self._view, config=self.group_config)

    def _transaction_machine(self, partition: int, epoch: int, timers: Timers) -> TransactionMachine:
        """`send_markers` looks up the sender when it is called: the two are made in a circle."""
        return TransactionMachine(
            coordinator_epoch=epoch,
            clock=self._clock,
            config=self._transaction_config,
            send_markers=lambda job: self._sender.send(job),
        )

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take over what this broker leads already, and hear of everything that changes from now on."""
        self._replicas.on_leadership(self._on_leadership)
        for partition in list(self._replicas.partitions()):
            if partition.is_leader:
                self._on_leadership(partition.tp, partition.leader_epoch)
        self._metadata.on_change(self._on_topics)
        self._recurring.every(self._config[keys.OFFSETS_RETENTION_CHECK_INTERVAL_MS], self._expire_offsets)
        self._recurring.every(self._transaction_config.abort_interval_ms, self._abort_timed_out)
        self._recurring.every(self._transaction_config.expire_interval_ms, self._expire_ids)

    async def stop(self) -> None:
        """First what starts anything new, then the shards, then what they have begun."""
        self._recurring.stop()
        for task in list(self._sweeps):
            task.cancel()
        await asyncio.gather(*self._sweeps, return_exceptions=True)
        self.group.runtime.stop()
        self.transaction.runtime.stop()
        await self._sender.stop()
        await self._writer.stop()

    # -- what happens around us ------------------------------------------------------------------------------------

    def _on_leadership(self, tp: TopicPartition, epoch: int | None) -> None:
        """Becoming the leader of a partition of an internal topic is becoming the coordinator of all keys in it."""
        runtime = self.runtime_of(tp.topic)
        if runtime is None:
            return
        if epoch is None:
            runtime.on_resigned(tp.partition)
        else:
            runtime.on_elected(tp.partition, epoch)

    def runtime_of(self, topic: str) -> Runtime | None:
        """The runtime whose topic this is; None for all other topics."""
        if topic == GROUP_METADATA_TOPIC:
            return self.group.runtime
        return self.transaction.runtime if topic == TRANSACTION_STATE_TOPIC else None

    def _on_topics(self, changed: list[TopicImage], deleted: list[TopicImage]) -> None:
        """Topics are gone: their offsets go too, or a new topic of the same name would be read from where the old one
        ended. Kafka's coordinator does so as well.
        """
        gone = [image.name for image in deleted]
        if gone:
            now = self._clock.time_ms()
            self._run(
                sweep(
                    self.group.runtime,
                    self._scheduler,
                    lambda machine: machine.state.offsets.group_ids,
                    lambda machine, groups: machine.forget_topics(gone, groups, now),
                )
            )

    # -- sweeps ----------------------------------------------------------------------------------------------------

    def _expire_offsets(self) -> None:
        """Once per interval, not once per offset: that an offset lives some minutes longer harms nobody."""
        self._run(
            sweep(
                self.group.runtime,
                self._scheduler,
                lambda machine: list(machine.state.groups),
                lambda machine, groups: machine.expire_offsets(groups),
            )
        )

    def _expire_ids(self) -> None:
        """`transactional.id.expiration.ms`, a week by default, after its last use an id is forgotten, and with it its
        producer id. A producer that comes back later gets INVALID_PRODUCER_ID_MAPPING, and starts anew.
        """
        self._run(
            sweep(
                self.transaction.runtime,
                self._scheduler,
                lambda machine: list(machine.transactions),
                lambda machine, ids: machine.expire_ids(ids),
            )
        )

    def _abort_timed_out(self) -> None:
        """The producer is gone, or stuck: readers of `read_committed` wait at its first record until somebody ends its
        transaction.
        """
        self._run(self.transaction.abort_timed_out())

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Sweeps are detached: one that fails is logged, and the next one starts in its time."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._sweeps.add(task)
        task.add_done_callback(self._sweeps.discard)
        task.add_done_callback(unheard)
