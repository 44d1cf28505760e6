"""A node: everything of a broker below its sockets, started in order and stopped in order.

Start:  log directories locked → store opened → identity settled → (an Apache Kafka's directory adopted) → dynamic
        configs read → logs loaded → registered → controller in office: brokers and images read, leaders elected,
        replicas made → coordinators and background work begun.
Stop:   as the stages of `closers.py` say: changes under way ended → coordinators → background → replicas and logs
        flushed, checkpointed, marked clean → store.

A `Broker` (`server.py`) is a node that listens. A node alone runs on any asyncio loop, also on one whose time is
virtual and whose threads are none (`tidelog.testing.loop`): with the same clock, disk and seed it does the same things
in the same order. That is what the simulation stands on, and why nothing here imports the network.

Whatever a node holds hangs on this object, and nothing on modules: any number of them live in one process. The parts
themselves never see it: each is handed what it uses, here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.broker import config as keys
from tidelog.broker import parts
from tidelog.broker.adoption.guard import guard_unknown, guard_unreadable
from tidelog.broker.adoption.scan import scan_directories
from tidelog.broker.closers import Closers, StopStage
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.config.endpoints import Endpoint
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.controller import Controller
from tidelog.broker.controller.loading import load_topic_ids
from tidelog.broker.controller.producer_ids import ProducerIds
from tidelog.broker.controller.propagation import LocalPropagation
from tidelog.broker.dynamic_configs import DynamicConfigs, load_dynamic
from tidelog.broker.identity import settle_identity
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.registration import Registration
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.broker.metrics import BrokerMetrics
from tidelog.broker.store import paths
from tidelog.broker.store.api import Store, ensure_paths
from tidelog.broker.store.local import FILE_NAME, LocalStore
from tidelog.broker.supervisor import Supervisor
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import StorageError, TidelogError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.rng import Rng, system_rng
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.log.manager.manager import LogManager
from tidelog.net.pauses import breathe

if TYPE_CHECKING:
    from tidelog.broker.adoption.adopt import Adoption
    from tidelog.broker.background import Background
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.handlers.services import HandlerServices
    from tidelog.broker.peers.connections import PeerConnections
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.manager import ReplicaManager
    from tidelog.broker.replication.movers import ReplicaMovers
    from tidelog.broker.workers import Workers

logger = logging.getLogger(__name__)


class BrokerCore:
    """`async with BrokerCore({...}) as node:` starts and stops it."""

    # In the order in which they come to be; a start that fails half way leaves the later ones unset.
    log_manager: LogManager
    store: Store
    purgatories: Purgatories
    replicas: ReplicaManager
    dynamic_configs: DynamicConfigs
    changes: Changes
    producer_ids: ProducerIds
    controller: Controller
    registration: Registration
    background: Background

    def __init__(
        self,
        config: BrokerConfig | Mapping[str, str],
        *,
        clock: Clock = SYSTEM_CLOCK,
        fs: FileSystem = LOCAL_FS,
        rng: Rng | None = None,
        store: LocalStore | None = None,
    ) -> None:
        """`store`: one that is shared with other nodes of this process, and not this one's to close."""
        self.config = config if isinstance(config, BrokerConfig) else BrokerConfig(config)
        self.clock = clock
        self.fs = fs
        self.rng = rng or system_rng()
        self.metadata = MetadataCache()
        self.metrics = BrokerMetrics()
        self.configs = TopicConfigs(self.config)
        self.node_id = -1
        self.group_configs: dict[str, Mapping[str, str]] = {}  # of single groups, by group id
        self.supervisor = Supervisor()
        self._closers = Closers()
        self._shared_store = store
        self._own_store: LocalStore | None = None
        self._coordinators: Coordinators | None = None
        self._peers: PeerConnections | None = None
        self._movers: ReplicaMovers | None = None

    # -- life --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start, or leave nothing behind: a start that fails stops what it has begun."""
        try:
            await self._start()
            if self.supervisor.stopping:
                raise TidelogError("The node was stopped while it started.")
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        """The order of steps. Whoever listens has a step more, between being able to answer and being known."""
        await self._rule()
        await self._register(self.config.advertised)
        self._begin_work()

    async def stop(self) -> None:
        """Stop cleanly; safe to call twice, at the same time too, while it starts, and after a start that failed half
        way. When this returns, it has stopped, whoever stopped it.

        What fails from here on is no failure of the node: parts lose each other on their way out.
        """
        again, self.supervisor.stopping = self.supervisor.stopping, True
        try:
            await self._closers.stop()
        finally:
            self.supervisor.end()
        if self.node_id >= 0 and not again:
            logger.info("Node %d has stopped", self.node_id)

    async def __aenter__(self) -> BrokerCore:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    @property
    def failure(self) -> BaseException | None:
        """Why it cannot go on, if it cannot."""
        return self.supervisor.failure

    def begun_coordinators(self) -> Coordinators:
        """Groups and transactions: begun when somebody needs them, or at the start when there is state to load.

        A broker that only ever serves records (no groups, no transactions) goes without their modules and their timers.
        Their common requests can be served from bytes only once there are shards to ask, so the sink learns of it here.
        """
        if self._coordinators is None:
            self._coordinators = parts.Coordinators(
                node_id=self.node_id,
                config=self.config,
                group_configs=self.group_configs,
                metadata=self.metadata,
                replicas=self.replicas,
                purgatories=self.purgatories,
                peers=self.peers,
                next_producer_id=self.producer_ids.next,
                clock=self.clock,
                rng=self.rng,
                scheduler=asyncio.get_running_loop(),
            )
            self._closers.add(StopStage.COORDINATORS, "coordinators", self._coordinators.stop)
            self._coordinators.start()
            self._coordinators_begun(self._coordinators)
        return self._coordinators

    coordinators = property(begun_coordinators)

    def _coordinators_begun(self, coordinators: Coordinators) -> None:
        """For what listens: requests of groups may be served by compiled code from now on."""

    @property
    def peers(self) -> PeerConnections:
        """Connections to other brokers: a broker alone goes without their modules."""
        if self._peers is None:
            name = f"broker-{self.node_id}"
            self._peers = parts.PeerConnections(self.metadata, self.config.inter_broker_listener, name)
            self._closers.add(StopStage.PEERS, "peers", self._peers.stop)
        return self._peers

    @property
    def movers(self) -> ReplicaMovers:
        """Made by the end of the start, or by a request that comes before: listeners are open by then."""
        if self._movers is None:
            self._movers = parts.ReplicaMovers(
                logs=self.log_manager, replicas=self.replicas, config=self.config, timer=self.purgatories.timer
            )
            self._closers.add(StopStage.BACKGROUND, "moves", self._movers.stop)
        return self._movers

    def handler_services(self, workers: Workers) -> HandlerServices:
        """What the handlers of requests use of this node. One that listens has them made once, and hands them to its
        dispatcher; without sockets, a simulation calls handlers by these."""
        return parts.HandlerServices(
            node_id=self.node_id,
            config=self.config,
            clock=self.clock,
            rng=self.rng,
            fs=self.fs,
            metadata=self.metadata,
            topic_configs=self.configs,
            store=self.store,
            changes=self.changes,
            controller=self.controller,
            log_manager=self.log_manager,
            replicas=self.replicas,
            purgatories=self.purgatories,
            workers=workers,
            coordinators=self.begun_coordinators,
            move_replica=lambda partition, directory: self.movers.move(partition, directory),
            apply_broker_config=self.dynamic_configs.broker_changed,
            apply_entity_config=self.dynamic_configs.entity_changed,
        )

    # -- steps of the start ------------------------------------------------------------------------------------------

    async def _rule(self) -> None:
        """Everything up to the point where requests can be answered.

        The order is one of needs. The store lies in a log directory; who the node is stands in the directories and in
        the store; an adoption writes under that name what the configs are read from; a log is opened with its topic's
        configs; and the controller elects leaders among logs that are there.
        """
        self.config.warn_of_what_has_no_effect()
        await self._open_disks()
        identity = await settle_identity(self.store, self.log_manager, self.config.node_id, self.rng)
        self.node_id, self.metadata.cluster_id = identity
        self.config.settle_node_id(self.node_id)
        adoption = await self._adopt()
        await self._load_configs()
        self.purgatories = parts.Purgatories(self.clock, asyncio.get_running_loop())
        self._closers.add(StopStage.REPLICAS, "purgatories", self.purgatories.stop)
        self.log_manager.load(self.configs.log_config, await load_topic_ids(self.store))
        self.log_manager.on_dir_failure(lambda directory, partitions: self._on_dir_failure())
        if adoption is not None:
            await adoption.reserve_producer_ids()
        self._make_replicas()
        self._make_controller()
        office = asyncio.get_running_loop().create_task(self.controller.take_office())
        try:
            await breathe()  # until the store's thread writes and syncs: there is something to do meanwhile
            self._meanwhile()
            await self.registration.announce(self.config.advertised)
        except BaseException:  # it must not go on while everything that it uses is stopped
            office.cancel()
            await asyncio.gather(office, return_exceptions=True)
            raise
        await office
        await self.controller.start(self._uncertain())

    def _meanwhile(self) -> None:
        """What the loop can do while it would only wait for the disk."""

    async def _open_disks(self) -> None:
        """Lock the log directories, then open the store in the first of them: the lock keeps others off it, too."""
        dirs = [Path(name) for name in self.config.log_dirs]
        self.log_manager = LogManager(
            dirs,
            self.config.explicit_values(),
            fs=self.fs,
            clock=self.clock,
            rng=self.rng,
            scheduler=asyncio.get_running_loop(),
        )
        self._closers.add(StopStage.LOGS, "logs", lambda: self.log_manager.shutdown())
        self.log_manager.open()
        store = self._shared_store
        if store is None:
            store = self._own_store = LocalStore(dirs[0] / FILE_NAME)
            self._closers.add(StopStage.STORE, "store", store.close)
        self.store = store.session()
        self._closers.add(StopStage.STORE, "session", self.store.close)
        self.store.on_lost(lambda: self.supervisor.fatal(TidelogError("The session on the store is lost.")))
        await ensure_paths(self.store, paths.PERSISTENT)

    async def _adopt(self) -> Adoption | None:
        """Take over what an Apache Kafka left; something is still to be done for it once the logs are loaded."""
        scan = await scan_directories(self.store, self.log_manager, self.config[keys.METADATA_LOG_DIR])
        if scan is None:
            return None
        adoption = parts.Adoption(self.store, self.log_manager, self.config, self.node_id, self.rng)
        await adoption.take_over(scan)
        return adoption

    async def _load_configs(self) -> None:
        """Before any log is opened: what retention or compaction by the wrong configs removes is gone for good."""
        unreadable = await load_dynamic(self.store, self.node_id, self.config, self.configs, self.group_configs)
        guard_unreadable(self.configs, unreadable)
        self.log_manager.reconfigure(self.config.explicit_values())
        accepted = self.config[keys.TIDELOG_ADOPT_ACCEPT_DEFAULTS]
        await guard_unknown(self.store, self.configs, accept_defaults=accepted)

    def _make_replicas(self) -> None:
        """The replicas ask the controller for changes of their in-sync sets, and the controller tells the replicas what
        they are to be. One of them is made first: it is given a way to the other, to be taken when it is there."""
        self.replicas = parts.ReplicaManager(
            node_id=self.node_id,
            config=self.config,
            topic_configs=self.configs,
            logs=self.log_manager,
            metadata=self.metadata,
            purgatories=self.purgatories,
            alter_isr=lambda tp, **wish: self.controller.alter_isr(tp, **wish),
            fetchers=parts.NoFetchers(),
            clock=self.clock,
            spawn=self.supervisor.spawn,
        )
        self._closers.add(StopStage.REPLICAS, "replicas", self._stop_replicas)
        self._closers.add(StopStage.TASKS, "tasks", self.supervisor.stop)
        self.dynamic_configs = DynamicConfigs(
            self.config, self.configs, self.group_configs, self.metadata, self.replicas, self.log_manager
        )

    async def _stop_replicas(self) -> None:
        """Syncs first: their outcome moves recovery points, which the logs write down when they are closed."""
        await self.replicas.flusher.stop()
        self.replicas.shutdown()

    def _make_controller(self) -> None:
        """The queue of changes is the broker's, not the controller's: producer ids and configs go through it, too, and
        it is stopped before anything that its changes act upon."""
        self.changes = Changes(self.supervisor.fatal)
        self._closers.add(StopStage.CHANGES, "changes", self.changes.stop)
        self.producer_ids = ProducerIds(self.changes, self.store, self.node_id)
        self.controller = Controller(
            node_id=self.node_id,
            store=self.store,
            changes=self.changes,
            config=self.config,
            topic_configs=self.configs,
            propagation=LocalPropagation(
                self.node_id, parts.ControlRequests(self.replicas, self.metadata, self.configs)
            ),
            clock=self.clock,
            rng=self.rng,
        )
        self.registration = Registration(self.store, self.node_id, self.config[keys.BROKER_RACK], self.clock)

    async def _register(self, endpoints: Sequence[Endpoint]) -> None:
        """Be known to the cluster, and to clients, under these addresses."""
        if await self.registration.announce(endpoints):  # a port was left to the system
            await self.controller.brokers_changed()
        logger.info(
            "Node %d of cluster %s serves %d partitions on %s",
            self.node_id,
            self.metadata.cluster_id,
            self.metadata.partition_total,
            ", ".join(map(str, endpoints)),
        )

    def _begin_work(self) -> None:
        """What goes on by itself. Coordinators begin in the loop's next turn when there is state of theirs to load:
        whoever waits for the start does not wait for that; who asks them meanwhile is told that they are loading."""
        self.background = parts.Background(
            self.config,
            self.log_manager,
            self.replicas,
            self.clock,
            self.purgatories.timer,
            self.metrics,
            self.supervisor.spawn,
        )
        self._closers.add(StopStage.BACKGROUND, "background", self.background.stop)
        self.background.start()
        self.movers.resume()
        if INTERNAL_TOPICS & self.metadata.topics.keys():
            asyncio.get_running_loop().call_soon(self.begun_coordinators)

    def _uncertain(self) -> set[TopicPartition]:
        """Partitions of directories that were not closed properly: a crash may have taken their last records.

        Kafka learns of that by a new leader elsewhere. A broker alone is its own next leader, and raises the epoch
        itself: a consumer that has read what is gone is told so (KIP-320) and does not read others in its place.
        """
        manager = self.log_manager
        return {tp for tp, log in manager.logs.items() if not manager.dir_of(log).was_clean}

    def _on_dir_failure(self) -> None:
        """A broker whose last log directory is gone serves nothing: it ends, and whoever runs it sees that."""
        if not self.log_manager.live_dirs:
            failed = "; ".join(f"{directory.path}: {directory.error}" for directory in self.log_manager.dirs)
            self.supervisor.fatal(StorageError(f"every log directory has failed ({failed})"))
