"""The way to any broker of a cluster: leader, coordinator, controller; retries and back-off.

One `ClusterClient` holds one connection per broker and the cluster's metadata, and lives in one event loop. What to ask
is the business of its users (`offsets`, `topics`, `transaction_requests`, `consumer`, `producer`); whom to ask, and
whether to ask again, is decided here. `retry` runs an operation until it succeeds, fails for good, or its time is up;
an operation reports what went wrong as a `KafkaError`, whose code says whether another try may help.

A request has to go to the right broker: reads and writes to the partition's leader, groups and transactional ids to
their coordinator, changes of topics to the controller, anything else to whoever is connected. All four may move at any
time. The broker that is asked wrongly says so (NOT_LEADER_OR_FOLLOWER, NOT_COORDINATOR, NOT_CONTROLLER); the client
forgets what it knew and looks it up anew, which is all the failover that Kafka's protocol needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, TypeVar

from tidelog.client.cluster.backoff import Backoff
from tidelog.client.cluster.metadata import ClusterMetadata, Node, TopicInfo
from tidelog.client.cluster.security import authenticator, tls_context
from tidelog.client.config import client_config
from tidelog.client.config import common as keys
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.config import Config
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng, system_rng
from tidelog.common.types import NO_NODE, TopicPartition
from tidelog.net.node_client import NodeClient
from tidelog.net.pauses import pause
from tidelog.protocol.messages import FindCoordinatorRequest, MetadataRequest

T = TypeVar("T")

#: From the next version on, FindCoordinator asks for many keys at once.
_LAST_SINGLE_FIND = 3

#: The connection that requests to group coordinators go through.
_GROUP_LANE = "group"

# After these the coordinator is looked up anew; while it loads or is busy, it is asked again where it is.
_COORDINATOR_MOVED = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NETWORK_EXCEPTION}
)


class CoordinatorType(IntEnum):
    """The key types of FindCoordinator: the same text may be a group's id and a transactional id."""

    GROUP = 0
    TRANSACTION = 1


class ClusterClient:
    """Connections and metadata of one cluster. Not thread-safe; use it from one event loop.

    `dedicated`: that loop serves nobody else, so that large answers may be received in one go.
    """

    def __init__(
        self,
        raw: Mapping[str, object] | Config,
        *,
        clock: Clock = SYSTEM_CLOCK,
        rng: Rng | None = None,
        dedicated: bool = False,
    ) -> None:
        self.config = raw if isinstance(raw, Config) else client_config(raw)
        self._dedicated = dedicated
        self.clock = clock
        self.rng = rng or system_rng()
        self.metadata = ClusterMetadata(self.config[keys.METADATA_MAX_AGE_MS])
        self._bootstrap = keys.bootstrap_addresses(self.config)
        self._backoff = Backoff(
            self.config[keys.RETRY_BACKOFF_MS] / 1000, self.config[keys.RETRY_BACKOFF_MAX_MS] / 1000
        )
        self._nodes: dict[tuple[str, int, str], NodeClient] = {}
        self._connecting: dict[tuple[str, int, str], asyncio.Lock] = {}
        self._coordinators: dict[tuple[CoordinatorType, str], int] = {}

    async def __aenter__(self) -> ClusterClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; requests under way fail with a network error."""
        nodes, self._nodes = self._nodes, {}
        for node in nodes.values():
            await node.close()

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection to some broker at this moment."""
        return any(node.is_open for node in self._nodes.values())

    # --- whom to ask --------------------------------------------------------------------------------------------------

    async def node(self, node_id: int, *, lane: str = "") -> NodeClient:
        """The connection to a broker that metadata names (see `_connect` for lanes)."""
        known = self.metadata.nodes.get(node_id)
        if known is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not in the cluster's metadata")
        return await self._connect(known.host, known.port, lane=lane)

    async def any_node(self) -> NodeClient:
        """An open connection if there is one; else the first broker that can be reached."""
        for (_, _, lane), open_node in self._nodes.items():
            if open_node.is_open and not lane:
                return open_node
        addresses = [(n.host, n.port) for n in self.metadata.nodes.values()] + self._bootstrap
        failure: KafkaError | None = None
        for host, port in dict.fromkeys(addresses):
            try:
                return await self._connect(host, port)
            except KafkaError as error:
                failure = error
        assert failure is not None
        raise failure

    async def leader(self, tp: TopicPartition) -> Node:
        """The partition's leader, from metadata that is fresh enough."""
        await self.ensure_topics([tp.topic])
        return self.metadata.leader(tp)

    async def coordinator(self, kind: CoordinatorType, key: str) -> NodeClient:
        """The broker that coordinates this group or transactional id."""
        node_id = self._coordinators.get((kind, key), NO_NODE)
        if node_id not in self.metadata.nodes:
            node_id = await self._find_coordinator(kind, key)
        lane = _GROUP_LANE if kind is CoordinatorType.GROUP else ""
        return await self.node(node_id, lane=lane)

    def forget_coordinator(self, kind: CoordinatorType, key: str) -> None:
        """Look it up anew next time: the broker that was asked says that it is not (or no longer) the one."""
        self._coordinators.pop((kind, key), None)

    async def controller(self) -> NodeClient:
        """The broker that changes the cluster's state. Brokers coordinated by KRaft forward such requests themselves
        and name any broker here, so that asking this one is right for both.
        """
        if self.metadata.controller not in self.metadata.nodes:
            await self.refresh([])
        if self.metadata.controller not in self.metadata.nodes:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "the cluster has no controller at present")
        return await self.node(self.metadata.controller)

    # --- metadata -----------------------------------------------------------------------------------------------------

    async def ensure_topics(self, topics: Iterable[str]) -> None:
        """Make sure that the metadata of these topics is there, young enough, and knows leaders for all partitions."""
        missing = self.metadata.missing(topics, self.clock.time_ms())
        if missing:
            await self.refresh(missing)

    async def refresh(self, topics: Iterable[str] | None, *, create: bool = False) -> None:
        """Ask for these topics' metadata (None: of all topics). `create`: brokers may make those that are missing."""
        wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
        node = await self.any_node()
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        self.metadata.update(await node.send(request), self.clock.time_ms(), complete=wanted is None)

    async def all_topics(self) -> dict[str, TopicInfo]:
        """Every topic that we may see, freshly asked for."""
        await self.refresh(None)
        return dict(self.metadata.topics)

    # --- retries ------------------------------------------------------------------------------------------------------

    async def retry(self, operation: Callable[[], Awaitable[T]], *, timeout: float | None = None) -> T:
        """Run the operation until it succeeds. The last error is raised when it cannot be, or its time is up."""
        limit = self.config[keys.DEFAULT_API_TIMEOUT_MS] / 1000 if timeout is None else timeout
        deadline = self.clock.monotonic() + limit
        attempt = 0
        while True:
            try:
                return await operation()
            except KafkaError as error:
                wait = self.wait_before_retry(attempt)
                if not error.retriable or self.clock.monotonic() + wait > deadline:
                    raise
            await pause(wait)
            attempt += 1

    def wait_before_retry(self, attempt: int) -> float:
        """How long to wait after so many failures, by `retry.backoff.ms` and `retry.backoff.max.ms`."""
        return self._backoff.wait(attempt, self.rng)

    async def ask_coordinator(
        self,
        kind: CoordinatorType,
        key: str,
        request: Any,
        *,
        highest: int | None = None,
        error_of: Callable[[Any], int] = lambda response: int(response.error_code),
        timeout: float | None = None,
    ) -> Any:
        """Send a request to the coordinator of `key`, again while it moves, loads or is busy; raise its error."""

        async def once() -> Any:
            try:
                node = await self.coordinator(kind, key)
                response = await node.send(request, highest=highest)
                if error_of(response):
                    raise KafkaError(error_of(response))
            except KafkaError as error:
                if error.code in _COORDINATOR_MOVED:
                    self.forget_coordinator(kind, key)
                raise
            return response

        return await self.retry(once, timeout=timeout)

    # --- connections --------------------------------------------------------------------------------------------------

    async def _connect(self, host: str, port: int, *, lane: str = "") -> NodeClient:
        """The connection to an address, made if there is none. One lock per address: of ten tasks that want the same
        broker, one connects and the others use what it got.

        A broker answers a connection's requests in their order, so what waits at the broker (a JoinGroup for minutes, a
        Fetch for half a second) makes all that follows wait. `lane` names another connection to the same broker: groups
        have one, so that heartbeats and commits never queue behind a fetch, nor fetches behind a rebalance.
        """
        address = (host, port, lane)
        node = self._nodes.get(address)
        if node is not None and node.is_open:
            return node
        async with self._connecting.setdefault(address, asyncio.Lock()):
            node = self._nodes.get(address)
            if node is None or not node.is_open:
                node = self._nodes[address] = await NodeClient.connect(
                    host,
                    port,
                    client_id=self.config[keys.CLIENT_ID],
                    request_timeout=self.config[keys.REQUEST_TIMEOUT_MS] / 1000,
                    connect_timeout=self.config[keys.CONNECTION_SETUP_TIMEOUT_MS] / 1000,
                    tls=tls_context(self.config),
                    authenticate=authenticator(self.config),
                    dedicated=self._dedicated,
                )
        return node

    async def _find_coordinator(self, kind: CoordinatorType, key: str) -> int:
        """Ask any broker. A coordinator that metadata does not name yet has just joined: then
        metadata is asked for, which has the addresses of all.
        """
        node = await self.any_node()
        request = FindCoordinatorRequest(key=key, key_type=int(kind))
        found = await node.send(request, highest=_LAST_SINGLE_FIND)
        if found.error_code:
            raise KafkaError(found.error_code, found.error_message)
        if found.node_id not in self.metadata.nodes:
            await self.refresh([])
        self._coordinators[kind, key] = int(found.node_id)
        return int(found.node_id)
