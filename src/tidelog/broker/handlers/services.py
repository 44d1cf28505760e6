"""The services of every room of handlers, made in this one place.

A handler gets the services of its room and nothing else: the fields of `RecordServices` are all that a handler of
records can touch, and mypy sees each use. So a test of a handler makes the few objects that its room names, and what a
room can break is written in its `services.py`.

The first request of a room makes its services, so that a broker starts without the modules that they need, and one that
only serves records never loads most of them. What handlers keep between requests (fetch sessions, encoded answers) is
made with them and lives as long as the broker; it hangs on no module, as any number of brokers live in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from tidelog.broker import config as keys

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.controller.changes import Changes
    from tidelog.broker.controller.controller import Controller
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.handlers.cluster.services import ClusterServices
    from tidelog.broker.handlers.configs.services import ConfigServices
    from tidelog.broker.handlers.groups.services import GroupServices
    from tidelog.broker.handlers.records.services import RecordServices
    from tidelog.broker.handlers.security.services import SecurityServices
    from tidelog.broker.handlers.topics.services import TopicServices
    from tidelog.broker.handlers.transactions.services import TransactionServices
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.metadata.topic_configs import TopicConfigs
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.manager import ReplicaManager
    from tidelog.broker.replication.partition import Partition
    from tidelog.broker.store.api import Store
    from tidelog.broker.workers import Workers
    from tidelog.common.clock import Clock
    from tidelog.common.fs import FileSystem
    from tidelog.common.rng import Rng
    from tidelog.log.directory.log_dir import LogDir
    from tidelog.log.manager.manager import LogManager


class Services(Protocol):
    """All that the dispatcher asks for."""

    def of(self, room: str) -> Any:
        """The services of a room of handlers, the same object every time."""


class HandlerServices:
    """A whole node's services, room by room.

    Two kinds of collaborators are asked for by a call instead of being handed over. Coordinators begin with the first
    request that needs them. And whatever moves replicas is made after the listeners are open, when the first request
    may be here already.
    """

    def __init__(
        self,
        *,
        node_id: int,
        config: BrokerConfig,
        clock: Clock,
        rng: Rng,
        fs: FileSystem,
        metadata: MetadataCache,
        topic_configs: TopicConfigs,
        store: Store,
        changes: Changes,
        controller: Controller,
        log_manager: LogManager,
        replicas: ReplicaManager,
        purgatories: Purgatories,
        workers: Workers,
        coordinators: Callable[[], Coordinators],
        move_replica: Callable[[Partition, LogDir], None],
        apply_broker_config: Callable[[frozenset[str]], None],
        apply_entity_config: Callable[[str, str, Mapping[str, str]], None],
    ) -> None:
        self._node_id = node_id
        self._config = config
        self._clock = clock
        self._rng = rng
        self._fs = fs
        self._metadata = metadata
        self._topic_configs = topic_configs
        self._store = store
        self._changes = changes
        self._controller = controller
        self._log_manager = log_manager
        self._replicas = replicas
        self._purgatories = purgatories
        self._workers = workers
        self._coordinators = coordinators
        self._move_replica = move_replica
        self._apply_broker_config = apply_broker_config
        self._apply_entity_config = apply_entity_config
        self._made: dict[str, Any] = {}
        self._makers: dict[str, Callable[[], Any]] = {
            "records": self._records,
            "groups": self._groups,
            "transactions": self._transactions,
            "topics": self._topics,
            "configs": self._configs,
            "cluster": self._cluster,
            "security": self._security,
        }

    def of(self, room: str) -> Any:
        """Made by the room's first request; every later one, on whatever connection, gets the same object."""
        services = self._made.get(room)
        if services is None:
            services = self._made[room] = self._makers[room]()
        return services

    def _records(self) -> RecordServices:
        """The only room that needs no controller and no store: tests make it of a data plane alone."""
        from tidelog.broker.handlers.records.fetch_sessions import FetchSessionCache
        from tidelog.broker.handlers.records.services import RecordServices

        return RecordServices(
            replicas=self._replicas,
            metadata=self._metadata,
            config=self._config,
            clock=self._clock,
            workers=self._workers,
            purgatories=self._purgatories,
            sessions=FetchSessionCache(self._rng, self._config[keys.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS]),
            transactions=lambda: self._coordinators().transaction,
        )

    def _groups(self) -> GroupServices:
        """Coordinators stay a call: FindCoordinator and the oldest commits do without them."""
        from tidelog.broker.handlers.groups.services import GroupServices

        return GroupServices(
            coordinators=self._coordinators,
            metadata=self._metadata,
            config=self._config,
            controller=self._controller,
            changes=self._changes,
            store=self._store,
        )

    def _transactions(self) -> TransactionServices:
        from tidelog.broker.handlers.transactions.services import TransactionServices

        return TransactionServices(
            coordinators=self._coordinators, metadata=self._metadata, controller=self._controller
        )

    def _topics(self) -> TopicServices:
        from tidelog.broker.handlers.topics.kept_answers import KeptAnswers
        from tidelog.broker.handlers.topics.services import TopicServices

        return TopicServices(
            metadata=self._metadata,
            config=self._config,
            topic_configs=self._topic_configs,
            controller=self._controller,
            kept_answers=KeptAnswers(),
        )

    def _configs(self) -> ConfigServices:
        """Of the controller only the two steps that change configs: topics' and those of all other entities."""
        from tidelog.broker.handlers.configs.services import ConfigServices

        return ConfigServices(
            node_id=self._node_id,
            config=self._config,
            topic_configs=self._topic_configs,
            metadata=self._metadata,
            store=self._store,
            entity_configs=self._controller.entity_configs,
            change_topic_config=self._controller.change_topic_config,
            apply_broker_config=self._apply_broker_config,
            apply_entity_config=self._apply_entity_config,
        )

    def _cluster(self) -> ClusterServices:
        from tidelog.broker.handlers.cluster.services import ClusterServices
        from tidelog.broker.handlers.cluster.telemetry_clients import TelemetryClients

        return ClusterServices(
            node_id=self._node_id,
            config=self._config,
            clock=self._clock,
            rng=self._rng,
            fs=self._fs,
            metadata=self._metadata,
            store=self._store,
            log_manager=self._log_manager,
            replicas=self._replicas,
            workers=self._workers,
            move_replica=self._move_replica,
            telemetry_clients=TelemetryClients(),
        )

    def _security(self) -> SecurityServices:
        from tidelog.broker.handlers.security.services import SecurityServices

        return SecurityServices(store=self._store, entity_configs=self._controller.entity_configs)
