"""A broker with nothing but its data plane: logs, replicas, purgatories and sockets; topics are made by hand.

What needs the controller, the store or the coordinators is tested with the whole broker instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.coordinator.transaction.coordinator import TransactionCoordinator
from tidelog.broker.handlers.records.fetch_sessions import FetchSessionCache
from tidelog.broker.handlers.records.services import RecordServices
from tidelog.broker.handlers.takers import record_takers
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.control_messages import UpdateMetadata
from tidelog.broker.metadata.images import BrokerImage, PartitionState, TopicImage
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.broker.metrics import BrokerMetrics
from tidelog.broker.network.dispatcher import Dispatcher
from tidelog.broker.network.server import SocketServer
from tidelog.broker.purgatory.purgatories import Purgatories
from tidelog.broker.replication.follower import FollowerState
from tidelog.broker.replication.isr_changes import AlterIsr
from tidelog.broker.replication.manager import ReplicaManager
from tidelog.broker.workers import Workers, worker_threads
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.rng import seeded_rng
from tidelog.common.types import TopicPartition
from tidelog.log.manager.manager import LogManager

NODE = 1


class RoomsOfRecords:
    """The services of the only room that a data plane has. Others have none: ApiVersions needs none, the rest fails."""

    def __init__(self, services: RecordServices) -> None:
        self._services = services

    def of(self, room: str) -> RecordServices | None:
        return self._services if room == "records" else None


def _no_coordinator() -> TransactionCoordinator:
    raise AssertionError("a broker with nothing but its data plane has no coordinators")


class RecordedFetchers:
    """Writes down what followers ask for."""

    def __init__(self) -> None:
        self.asked: list[tuple[TopicPartition, FollowerState | None]] = []

    def begin(self, tp: TopicPartition, state: FollowerState) -> None:
        self.asked.append((tp, state))

    def end(self, tp: TopicPartition) -> None:
        self.asked.append((tp, None))


class MiniBroker:
    def __init__(
        self,
        path: Path,
        settings: Mapping[str, str] | None = None,
        clock: Any = SYSTEM_CLOCK,
        fs: FileSystem = LOCAL_FS,
    ) -> None:
        self.node_id = NODE
        self.clock = clock
        self.rng = seeded_rng(7)
        self.config = BrokerConfig(
            {
                "log.dirs": str(path),
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "node.id": str(NODE),
                "transaction.partition.verification.enable": "false",  # there is no coordinator to ask
                **(settings or {}),
            }
        )
        self.configs = TopicConfigs(self.config)
        self.metadata = MetadataCache()
        self.metrics = BrokerMetrics()
        self.log_manager = LogManager([path], fs=fs, clock=clock, rng=self.rng)
        self.coordinators = None
        #: Takes the leaders' wishes for their in-sync replicas, if a test sets it.
        self.controller: AlterIsr | None = None
        self.fetchers = RecordedFetchers()
        self.host, self.port = "127.0.0.1", 0

    async def start(self) -> None:
        self.log_manager.open()
        self.log_manager.load(self.configs.log_config)
        self.purgatories = Purgatories(self.clock, asyncio.get_running_loop())
        self.replicas = ReplicaManager(
            node_id=NODE,
            config=self.config,
            topic_configs=self.configs,
            logs=self.log_manager,
            metadata=self.metadata,
            purgatories=self.purgatories,
            alter_isr=self._alter_isr,
            fetchers=self.fetchers,
            clock=self.clock,
            spawn=lambda name, coroutine: asyncio.get_running_loop().create_task(coroutine, name=name),
        )
        workers = Workers(worker_threads(self.config), self.config[keys.QUEUED_MAX_REQUESTS])
        self.services = RecordServices(
            replicas=self.replicas,
            metadata=self.metadata,
            config=self.config,
            clock=self.clock,
            workers=workers,
            purgatories=self.purgatories,
            sessions=FetchSessionCache(self.rng),
            transactions=_no_coordinator,
        )
        rooms = RoomsOfRecords(self.services)
        dispatcher = Dispatcher(rooms, self.metrics)
        self.network = SocketServer(self.config, self.clock, workers, dispatcher)
        self.network.sink.set_takers(record_takers(self.replicas, self.purgatories, self.clock))
        ((_, self.host, self.port),) = await self.network.start()
        self._tell()

    async def _alter_isr(
        self, tp: TopicPartition, *, leader_epoch: int, isr: tuple[int, ...], partition_epoch: int
    ) -> PartitionState:
        if self.controller is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "There is none: replicas in sync are set by hand.")
        return await self.controller(tp, leader_epoch=leader_epoch, isr=isr, partition_epoch=partition_epoch)

    async def stop(self) -> None:
        await self.network.stop()
        self.purgatories.stop()
        await self.replicas.flusher.stop()
        self.replicas.shutdown()
        self.log_manager.shutdown()

    async def __aenter__(self) -> MiniBroker:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def _tell(self, *topics: TopicImage) -> None:
        here = BrokerImage(NODE, {"PLAINTEXT": (self.host, self.port)})
        self.metadata.update(UpdateMetadata(NODE, 0, [here], topics))

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
        *,
        leader: int = NODE,
        leader_epoch: int = 0,
        isr: tuple[int, ...] = (NODE,),
        replicas: tuple[int, ...] = (NODE,),
    ) -> bytes:
        """Make (or change) a topic; returns its id."""
        known = self.metadata.topic_id(name)
        topic_id = known if any(known) else os.urandom(16)
        self.configs.set(name, dict(config or {}))
        states = [
            PartitionState(name, index, topic_id, leader, leader_epoch, isr, replicas) for index in range(partitions)
        ]
        self._tell(TopicImage(name, topic_id, states, False))
        failures = self.replicas.apply_leader_and_isr(states)
        assert not failures
        return topic_id

    def delete_topic(self, name: str) -> None:
        """In the controller's order: out of the metadata, then the replicas."""
        here = BrokerImage(NODE, {"PLAINTEXT": (self.host, self.port)})
        self.metadata.update(UpdateMetadata(NODE, 0, [here], deleted=[name]))
        assert not self.replicas.stop_replicas(
            [partition.tp for partition in self.replicas.topic(name).values()], delete=True
        )
