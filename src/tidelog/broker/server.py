"""The broker: builds everything it is made of, wires it, starts it in order and stops it in reverse.

Start:  log directories locked → store opened → identity settled → (an Apache Kafka's directory adopted) → dynamic
        configs read → logs loaded → controller in office: images read, leaders elected, replicas made → listeners
        opened → registered → coordinators and background work begun.
Stop:   listeners closed → changes under way ended → coordinators → background → replicas and logs flushed,
        checkpointed, marked clean → store.

Whatever a broker holds hangs on this object, and nothing on modules: any number of brokers live in one process.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.broker import config as keys
from tidelog.broker.adoption.guard import guard_unknown, guard_unreadable
from tidelog.broker.adoption.scan import scan_directories
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.config.endpoints import ANY_ADDRESS, Endpoint
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.controller import Controller
from tidelog.broker.controller.loading import load_configs, load_topic_ids, read_configs
from tidelog.broker.controller.producer_ids import ProducerIds
from tidelog.broker.controller.propagation import LocalPropagation
from tidelog.broker.identity import settle_identity
from tidelog.broker.logging_setup import ROOT, set_level
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.images import BrokerImage
from tidelog.broker.metadata.topic_configs import BROKER_SYNONYMS, TopicConfigs, usable_overrides
from tidelog.broker.metrics import Metrics
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Create, Store
from tidelog.broker.store.local import FILE_NAME, LocalStore
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import StorageError, TidelogError, UsageError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.rng import Rng, system_rng
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.log.manager.manager import LogManager

if TYPE_CHECKING:
    from tidelog.broker.background import Background
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.handlers.services import HandlerServices
    from tidelog.broker.http import HttpServer
    from tidelog.broker.network.server import SocketServer
    from tidelog.broker.peers.connections import PeerConnections
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.movers import ReplicaMovers
    from tidelog.broker.replication.replica_manager import ReplicaManager
    from tidelog.broker.workers import Workers

logger = logging.getLogger(__name__)


class Broker:
    """One node. `async with Broker({...}) as broker:` starts and stops it."""

    replicas: ReplicaManager
    purgatories: Purgatories
    network: SocketServer
    services: HandlerServices
    background: Background
    movers: ReplicaMovers
    log_manager: LogManager
    changes: Changes
    controller: Controller
    producer_ids: ProducerIds

    def __init__(
        self,
        config: BrokerConfig | Mapping[str, str],
        *,
        clock: Clock = SYSTEM_CLOCK,
        fs: FileSystem = LOCAL_FS,
        rng: Rng | None = None,
        store: LocalStore | None = None,
    ) -> None:
        self.config = config if isinstance(config, BrokerConfig) else BrokerConfig(config)
        self.clock = clock
        self.fs = fs
        self.rng = rng or system_rng()
        self.metadata = MetadataCache()
        self.metrics = Metrics()
        self.configs = TopicConfigs(self.config)
        self.node_id = -1
        self.endpoints: list[Endpoint] = []
        self.failure: BaseException | None = None
        self.store: Store
        self._shared_store = store
        self._own_store: LocalStore | None = None
        self._http: HttpServer | None = None
        self._coordinators: Coordinators | None = None
        self._peers: PeerConnections | None = None
        self.group_configs: dict[str, Mapping[str, str]] = {}  # of single groups, by group id
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._signals: tuple[signal.Signals, ...] = ()
        self._stopping = False

    # -- life --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        from tidelog.broker.purgatory.purgatories import Purgatories
        from tidelog.broker.replication.replica_manager import ReplicaManager

        self._refuse_other_loops()
        self._refuse_what_is_not_enforced()
        self.config.warn_of_what_has_no_effect()
        dirs = [Path(name) for name in self.config.log_dirs]
        self.log_manager = LogManager(
            dirs,
            self.config.explicit_values(),
            fs=self.fs,
            clock=self.clock,
            rng=self.rng,
            scheduler=asyncio.get_running_loop(),
        )
        self.log_manager.open()
        await self._open_store(dirs[0])
        self.node_id = await settle_identity(self)
        self.config.settle_node_id(self.node_id)
        reserve_producer_ids = await self._adopt()
        await self._load_configs()
        await guard_unknown(self)
        self.purgatories = Purgatories(self.clock, asyncio.get_running_loop())
        self.log_manager.load(self.configs.log_config, await load_topic_ids(self.store))
        self.log_manager.on_dir_failure(lambda directory, partitions: self._on_dir_failure())
        if reserve_producer_ids is not None:
            await reserve_producer_ids()
        self.changes = Changes(self.fatal)
        self.producer_ids = ProducerIds(self.changes, self.store, self.node_id)
        self._advertise(self.config.advertised)
        self.controller = Controller(
            node_id=self.node_id,
            store=self.store,
            changes=self.changes,
            config=self.config,
            metadata=self.metadata,
            topic_configs=self.configs,
            propagation=LocalPropagation(lambda: self.replicas),
            clock=self.clock,
            rng=self.rng,
        )
        self.replicas = ReplicaManager(
            node_id=self.node_id,
            config=self.config,
            topic_configs=self.configs,
            logs=self.log_manager,
            metadata=self.metadata,
            purgatories=self.purgatories,
            alter_isr=self.controller.alter_isr,
            clock=self.clock,
            spawn=self.spawn,
        )
        office = asyncio.get_running_loop().create_task(self.controller.take_office())
        await asyncio.sleep(0)  # until the store's thread writes and syncs: there is something to do meanwhile
        from tidelog.broker.network.server import SocketServer
        from tidelog.broker.workers import Workers, worker_threads

        await office
        await self.controller.start(self._uncertain())
        workers = Workers(worker_threads(self.config), self.config[keys.QUEUED_MAX_REQUESTS])
        self.services = self._services(workers)
        self.network = SocketServer(self, workers, self.services)
        await self._open_listeners()
        await self._begin_background()
        if INTERNAL_TOPICS & self.metadata.topics.keys():
            asyncio.get_running_loop().call_soon(lambda: self.coordinators)

    async def stop(self) -> None:
        """Stop cleanly; safe to call twice, and after a start that failed half way."""
        if self._stopping:
            return
        self._stopping = True
        for name in ("_http", "network", "changes", "_coordinators", "_peers", "movers", "background"):
            part = getattr(self, name, None)
            if part is not None:
                await self._stop_part(name, part.stop())
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if hasattr(self, "purgatories"):
            self.purgatories.stop()
        if hasattr(self, "replicas"):
            await self.replicas.flusher.stop()
            self.replicas.shutdown()
        if hasattr(self, "log_manager"):
            self.log_manager.shutdown()
        if hasattr(self, "store"):
            await self._stop_part("store", self.store.close())
        if self._own_store is not None:
            await self._stop_part("store", self._own_store.close())
        self._ended.set()
        for number in self._signals:
            asyncio.get_running_loop().remove_signal_handler(number)
        if self.node_id >= 0:
            logger.info("Node %d has stopped", self.node_id)

    async def _stop_part(self, name: str, stopping: Coroutine[Any, Any, None]) -> None:
        """A part that cannot stop in order must not keep the others from stopping: the logs come last."""
        try:
            await stopping
        except (TidelogError, OSError) as error:
            logger.error("Stopping %s failed: %s", name.strip("_"), error)

    async def __aenter__(self) -> Broker:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def wait_ended(self) -> None:
        """Until somebody stops the broker or it fails (then `failure` says why)."""
        await self._ended.wait()

    def stop_on_signals(self) -> None:
        """Take SIGTERM and Ctrl-C for the wish to end (`wait_ended` returns), until the broker has stopped."""
        loop = asyncio.get_running_loop()
        self._signals = (signal.SIGTERM, signal.SIGINT)
        for number in self._signals:
            loop.add_signal_handler(number, self._ended.set)

    def fatal(self, error: BaseException) -> None:
        """Something died without which the broker cannot go on: say so, remember it, end."""
        if self.failure is None and not self._stopping:
            self.failure = error
            logger.critical("The broker cannot go on and stops: %s", error, exc_info=error)
            self._ended.set()

    def _on_dir_failure(self) -> None:
        """A broker whose last log directory is gone serves nothing: it ends, and whoever runs it sees that."""
        if not self.log_manager.live_dirs:
            failed = "; ".join(f"{directory.path}: {directory.error}" for directory in self.log_manager.dirs)
            self.fatal(StorageError(f"every log directory has failed ({failed})"))

    def spawn(self, name: str, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a task that must not die: its failure is the broker's."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)
        return task

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            error.add_note(f"in the background task {task.get_name()}")
            self.fatal(error)

    # -- what handlers use -------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """`host:port` of the first listener, as a client of this machine reaches it."""
        endpoint = self.endpoints[0]
        host = "127.0.0.1" if endpoint.host in ANY_ADDRESS else endpoint.host
        return f"[{host}]:{endpoint.port}" if ":" in host else f"{host}:{endpoint.port}"

    @property
    def coordinators(self) -> Coordinators:
        """Groups and transactions: begun when somebody needs them, or at the start when there is state to load.

        A broker that only ever serves records (no groups, no transactions) goes without their modules and their timers.
        Their common requests can be served from bytes only once there are shards to ask, so the sink learns of it here.
        """
        if self._coordinators is None:
            from tidelog.broker.coordinator.coordinators import Coordinators

            self._coordinators = Coordinators(
                node_id=self.node_id,
                config=self.config,
                group_configs=self.group_configs,
                metadata=self.metadata,
                replicas=self.replicas,
                completions=self.purgatories.completions,
                peers=self.peers,
                next_producer_id=self.producer_ids.next,
                clock=self.clock,
                rng=self.rng,
                scheduler=asyncio.get_running_loop(),
            )
            self._coordinators.start()
            if self.network.sink is not None:
                from tidelog.broker.handlers.takers import register_group_takers

                register_group_takers(self.network.sink, self._coordinators, self.metadata, self.clock)
        return self._coordinators

    @property
    def peers(self) -> PeerConnections:
        """Connections to other brokers: a broker alone goes without their modules."""
        if self._peers is None:
            from tidelog.broker.peers.connections import PeerConnections

            self._peers = PeerConnections(self.metadata, self.config.inter_broker_listener, f"broker-{self.node_id}")
        return self._peers

    def _services(self, workers: Workers) -> HandlerServices:
        from tidelog.broker.handlers.services import HandlerServices

        return HandlerServices(
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
            coordinators=lambda: self.coordinators,
            move_replica=lambda partition, directory: self.movers.move(partition, directory),
            apply_broker_config=self.dynamic_config_changed,
            apply_entity_config=self.entity_config_changed,
        )

    def _uncertain(self) -> set[TopicPartition]:
        """Partitions of directories that were not closed properly: a crash may have taken their last records."""
        manager = self.log_manager
        return {tp for tp, log in manager.logs.items() if not manager.dir_of(log).was_clean}

    # -- dynamic configs ---------------------------------------------------------------------------------------------

    def dynamic_config_changed(self, names: frozenset[str]) -> None:
        """Values of the broker's own keys have changed: carry into the logs what they give topics by default."""
        if names & BROKER_SYNONYMS:
            for topic in self.metadata.topics:
                self.replicas.update_topic_config(topic, self.configs.log_config(topic))
        self.log_manager.reconfigure(self.config.explicit_values())
        if keys.TIDELOG_LOG_LEVEL.name in names:
            set_level(ROOT, self.config[keys.TIDELOG_LOG_LEVEL])

    def entity_config_changed(self, root: str, name: str, values: Mapping[str, str]) -> None:
        """Configs of a group, or client metrics (which have no effect), are stored: let them be true."""
        if root == paths.GROUP_CONFIGS:
            if values:
                self.group_configs[name] = values
            else:
                self.group_configs.pop(name, None)

    # -- steps of the start ------------------------------------------------------------------------------------------

    def _refuse_other_loops(self) -> None:
        """Connections are compiled classes: uvloop asks what they can do, asyncio which class they inherit from."""
        import uvloop

        loop = asyncio.get_running_loop()
        if not isinstance(loop, uvloop.Loop):
            raise UsageError(
                f"A broker runs on uvloop only, and this event loop is {type(loop).__qualname__}: "
                "start it by uvloop.run(main()), not asyncio.run(main())"
            )

    def _refuse_what_is_not_enforced(self) -> None:
        """A broker that was told to be secure, and is not, would be worse than none."""
        for endpoint in self.config.listeners:
            if endpoint.protocol != "PLAINTEXT":
                raise UsageError(
                    f"Listener {endpoint} asks for {endpoint.protocol}; this version serves PLAINTEXT only"
                )
        if self.config[keys.AUTHORIZER_CLASS_NAME]:
            raise UsageError(
                "authorizer.class.name is set, but this version enforces no ACLs: start with "
                "--set authorizer.class.name= to serve everything to everybody"
            )

    async def _open_store(self, directory: Path) -> None:
        store = self._shared_store
        if store is None:
            store = self._own_store = LocalStore(directory / FILE_NAME)
        self.store = store.session()
        self.store.on_lost(lambda: self.fatal(TidelogError("The session on the store is lost.")))
        wanted = dict.fromkeys(part for path in paths.PERSISTENT for part in _with_parents(path))
        found = await self.store.get_many(list(wanted))
        missing = [Create(path) for path, item in zip(wanted, found, strict=True) if item is None]
        if missing:
            await self.store.multi(missing)

    async def _adopt(self) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Take over what an Apache Kafka left; returns what is still to do for it once the logs are loaded."""
        scan = await scan_directories(self.store, self.log_manager, self.config[keys.METADATA_LOG_DIR])
        if scan is None:
            return None
        from tidelog.broker.adoption.adopt import adopt, reserve_producer_ids

        metadata = await adopt(self, scan)
        return lambda: reserve_producer_ids(self, metadata)

    async def _load_configs(self) -> None:
        topics = await read_configs(self.store, paths.TOPIC_CONFIGS)
        for topic, overrides in topics.items():
            self.configs.set(topic, overrides or {})
        guard_unreadable(self, [topic for topic, overrides in topics.items() if overrides is None])
        stored = await load_configs(self.store, paths.BROKER_CONFIGS)
        self.config.apply_dynamic(stored.get(str(self.node_id), {}), stored.get(paths.DEFAULT_ENTITY, {}))
        self.log_manager.reconfigure(self.config.explicit_values())
        groups = await load_configs(self.store, paths.GROUP_CONFIGS)
        if groups:
            from tidelog.broker.controller.config_changes import GROUP_KEYS

            for group_id, values in ((paths.unsanitize(part), values) for part, values in groups.items()):
                self.group_configs[group_id] = usable_overrides(values, f"group {group_id}", GROUP_KEYS)

    async def _open_listeners(self) -> None:
        bound = await self.network.start()
        self.endpoints = [endpoint._replace(host=host, port=port) for endpoint, host, port in bound]
        ports = {endpoint.name: port for endpoint, _, port in bound}
        advertised = [
            endpoint._replace(port=ports[endpoint.name]) if endpoint.port == 0 else endpoint
            for endpoint in self.config.advertised
        ]
        self._advertise(advertised)
        first = advertised[0]
        data = znodes.encode_broker(
            [str(endpoint) for endpoint in advertised],
            {endpoint.name: endpoint.protocol for endpoint in advertised},
            first.host,
            first.port,
            self.config[keys.BROKER_RACK],
            self.clock.time_ms(),
        )
        await self.store.create(paths.broker(self.node_id), data, ephemeral=True)
        logger.info(
            "Node %d of cluster %s serves %d partitions on %s",
            self.node_id,
            self.metadata.cluster_id,
            self.metadata.partition_total,
            ", ".join(map(str, advertised)),
        )

    def _advertise(self, endpoints: list[Endpoint]) -> None:
        image = BrokerImage(
            self.node_id,
            {endpoint.name: (endpoint.host, endpoint.port) for endpoint in endpoints},
            self.config[keys.BROKER_RACK],
            self.metadata.controller_epoch,
        )
        self.metadata.set_brokers([image], self.node_id)

    async def _begin_background(self) -> None:
        from tidelog.broker.background import Background
        from tidelog.broker.replication.movers import ReplicaMovers

        self.background = Background(self)
        self.background.start()
        self.movers = ReplicaMovers(
            logs=self.log_manager, replicas=self.replicas, config=self.config, timer=self.purgatories.timer
        )
        self.movers.resume()
        listener = self.config[keys.TIDELOG_HTTP_LISTENER]
        if listener is not None:
            from tidelog.broker.http import HttpServer

            self._http = HttpServer(self, listener)
            await self._http.start()


def _with_parents(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]
