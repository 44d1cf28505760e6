"""The way to any broker of a cluster: leader, coordinator, controller; retries and back-off.

One `ClusterClient` has `connections` and the cluster's metadata, and lives in one event loop. What to ask
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
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, TypeVar

from tidelog.client.cluster.backoff import Backoff
from tidelog.client.cluster.bootstrap import Bootstrap
from tidelog.client.cluster.connections import Connections
from tidelog.client.cluster.metadata import ClusterMetadata, Node, TopicInfo
from tidelog.client.config import client_config
from tidelog.client.config import common as keys
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.config import Config
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng, system_rng
from tidelog.common.types import NO_NODE, TopicPartition
from tidelog.net.node_client import NodeClient
from tidelog.net.pauses import pause
from tidelog.net.stages import ConnectError, Stage, advertised_failed
from tidelog.protocol.messages import FindCoordinatorRequest, MetadataRequest

logger = logging.getLogger("tidelog.client.cluster")
T = TypeVar("T")

#: From the next version on, FindCoordinator asks for many keys at once.
_LAST_SINGLE_FIND = 3

#: The connection that requests to group coordinators go through.
_GROUP = "group"

# After these the coordinator is looked up anew; while it loads or is busy, it is asked again where it is.
_COORDINATOR_MOVED = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NETWORK_EXCEPTION}
)


class CoordinatorType(IntEnum):
    """The key types of FindCoordinator: the same text may be a group's id and a transactional id."""

    GROUP = 0
    TRANSACTION = 1


class _OutOfTimeError(KafkaError):
    """A try that was given up because the time of its call is over."""


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
        self.clock = clock
        self.rng = rng or system_rng()
        self.metadata = ClusterMetadata(self.config[keys.METADATA_MAX_AGE_MS], self.config[keys.RETRY_BACKOFF_MS])
        self._bootstrap = Bootstrap(self.config)
        self._backoff = Backoff(
            self.config[keys.RETRY_BACKOFF_MS] / 1000, self.config[keys.RETRY_BACKOFF_MAX_MS] / 1000
        )
        self._connections = Connections(self.config, rng=self.rng, dedicated=dedicated)
        self._metadata_failing_since: float | None = None
        #: Why nobody could be reached, as it was last told; None while somebody can.
        self._unreachable: object = None
        #: The same in words; empty before anybody was tried, and again when somebody was reached.
        self.trouble = ""
        self._coordinators: dict[tuple[CoordinatorType, str], int] = {}

    async def __aenter__(self) -> ClusterClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __str__(self) -> str:
        """Who we say we are, and where we begin."""
        servers: list[str] = self.config[keys.BOOTSTRAP_SERVERS]
        return f"{self.config[keys.CLIENT_ID]} at {', '.join(servers)}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Connections belong to one process, and so does whatever stands on them."""
        raise TypeError("clients cannot be pickled: make one in each process")

    async def close(self) -> None:
        """Close every connection; requests under way fail with a network error."""
        await self._connections.close()

    def abandon(self) -> None:
        """Close every connection without waiting, for a client that was dropped. From any thread."""
        self._connections.abandon()

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection to some broker at this moment."""
        return self._connections.is_connected

    # --- whom to ask --------------------------------------------------------------------------------------------------

    async def node(self, node_id: int, *, purpose: str = "") -> NodeClient:
        """The connection to a broker that metadata names (see `connections` for purposes)."""
        known = self.metadata.nodes.get(node_id)
        if known is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not in the cluster's metadata")
        address = (known.host, known.port)
        try:
            return await self._connections.get(address, purpose=purpose)
        except ConnectError as error:
            if error.stage in (Stage.DNS, Stage.TCP) and address not in self._bootstrap:
                raise advertised_failed(node_id, error) from error
            raise

    async def any_node(self) -> NodeClient:
        """The connection with the fewest requests in flight; without any, the first broker that can be reached: those
        that metadata names in any order, then those that we were told of to begin with. Who has just failed comes last.
        """
        node = self._connections.least_loaded()
        if node is not None:
            self.trouble = ""
            return node
        failures: list[KafkaError] = []
        for address in await self._candidates():
            try:
                node = await self._connections.get(address)
                self._unreachable, self.trouble = None, ""
                return node
            except KafkaError as error:
                if not error.retriable:
                    raise  # who is refused by one broker is refused by all
                failures.append(error)
        texts = "; ".join(error.message for error in failures)
        self._warn_unreachable(failures, texts)
        if len(failures) == 1:
            raise failures[0]
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"no broker can be reached: {texts}")

    def _warn_unreachable(self, failures: list[KafkaError], texts: str) -> None:
        """Whoever asks tries again, and a `poll` or a `send` may wait for long without a word. So the log has one, when
        it begins and when it fails in another way: not at each try, of which there are many in a second.
        """
        self.trouble = texts
        kinds = frozenset(error.stage for error in failures if isinstance(error, ConnectError))
        if kinds and kinds != self._unreachable:
            self._unreachable = kinds
            logger.warning("no broker can be reached, trying on: %s", texts)

    async def _candidates(self) -> list[tuple[str, int]]:
        """Whom to try when nobody is connected. Shuffled, so that a thousand clients that lost the same broker do not
        all come to the next one in the list.
        """
        known = [(node.host, node.port) for node in self.metadata.nodes.values()]
        self.rng.shuffle(known)
        if not known or self.config[keys.METADATA_RECOVERY_STRATEGY] == "rebootstrap":
            known += await self._bootstrap.addresses()
        return self._connections.in_order(dict.fromkeys(known))

    async def leader(self, tp: TopicPartition) -> Node:
        """The partition's leader, from metadata that is fresh enough."""
        await self.ensure_topics([tp.topic])
        return self.metadata.leader(tp)

    async def coordinator(self, kind: CoordinatorType, key: str) -> NodeClient:
        """The broker that coordinates this group or transactional id."""
        node_id = self._coordinators.get((kind, key), NO_NODE)
        if node_id not in self.metadata.nodes:
            node_id = await self._find_coordinator(kind, key)
        purpose = _GROUP if kind is CoordinatorType.GROUP else ""
        return await self.node(node_id, purpose=purpose)

    def known_coordinator(self, kind: CoordinatorType, key: str) -> Node | None:
        """The coordinator that was found last, without asking anybody."""
        return self.metadata.nodes.get(self._coordinators.get((kind, key), NO_NODE))

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
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        try:
            response = await (await self.any_node()).send(request)
            if response.error_code:
                raise KafkaError(response.error_code)
        except KafkaError as error:
            await self._metadata_failed(error)
            raise
        self._metadata_failing_since = None
        self.metadata.update(response, self.clock.time_ms(), complete=wanted is None)

    async def _metadata_failed(self, error: KafkaError) -> None:
        """Begin anew with the bootstrap servers when a broker says so, or when nobody has told us anything for
        `metadata.recovery.rebootstrap.trigger.ms` (KIP-899, KIP-1102): all that we know of may have been replaced.
        """
        now = self.clock.monotonic()
        if self._metadata_failing_since is None:
            self._metadata_failing_since = now
        failing_ms = (now - self._metadata_failing_since) * 1000
        overdue = failing_ms >= self.config[keys.METADATA_REBOOTSTRAP_TRIGGER_MS]
        if self.config[keys.METADATA_RECOVERY_STRATEGY] == "rebootstrap" and (
            overdue or error.code is ErrorCode.REBOOTSTRAP_REQUIRED
        ):
            self._metadata_failing_since = None
            self.metadata.nodes = {}
            await self._connections.drop()

    async def all_topics(self) -> dict[str, TopicInfo]:
        """Every topic that we may see, freshly asked for."""
        await self.refresh(None)
        return dict(self.metadata.topics)

    # --- retries ------------------------------------------------------------------------------------------------------

    async def retry(self, operation: Callable[[], Awaitable[T]], *, timeout: float | None = None) -> T:
        """Run the operation until it succeeds. The last error is raised when it cannot be, or its time is up; a try
        that is under way then is given up, however long a broker may be silent.
        """
        limit = self.config[keys.DEFAULT_API_TIMEOUT_MS] / 1000 if timeout is None else timeout
        deadline = self.clock.monotonic() + limit
        attempt = 0
        last: KafkaError | None = None
        while True:
            try:
                return await self.until(deadline, operation())
            except KafkaError as error:
                if isinstance(error, _OutOfTimeError) and last is not None:
                    raise last from None  # what the brokers had to say, not that the last try came too late
                last, wait = error, self.wait_before_retry(attempt)
                if not error.retriable or self.clock.monotonic() + wait > deadline:
                    raise
            await pause(wait)
            attempt += 1

    async def until(self, deadline: float, operation: Awaitable[T]) -> T:
        """The outcome of one try; REQUEST_TIMED_OUT when its time is up before."""
        try:
            async with asyncio.timeout(max(deadline - self.clock.monotonic(), 0)) as trying:
                return await operation
        except TimeoutError:
            if not trying.expired():
                raise
            raise _OutOfTimeError(ErrorCode.REQUEST_TIMED_OUT, "there was no answer in time") from None

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
