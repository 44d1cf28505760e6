"""Whom to ask about an item: the controller, its coordinator, its leader, a certain broker, or anybody.

A route finds the broker for a key, knows which refusals mean "ask again" (the broker that was asked is not, or not yet,
the right one), and forgets what it believed when that happens. Everything else about asking, the same for all, is in
`call`. All state is the cluster client's; routes have none and may be shared.

What "again" holds is Kafka's choice by kind of request, and narrower than the codes' own rule: that a topic is unknown
is worth another look at a leader that hears of topics late, but final from a controller, which decides about them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, Protocol, TypeVar

from tidelog.client.cluster.client import ClusterClient, CoordinatorType
from tidelog.common.errors import ErrorCode
from tidelog.common.types import NO_NODE, TopicPartition
from tidelog.net.node_client import NodeClient

K_contra = TypeVar("K_contra", contravariant=True)
R = TypeVar("R")

_E = ErrorCode


class Route(Protocol[K_contra]):
    """How to find the broker for a key."""

    @property
    def again(self) -> frozenset[ErrorCode]:
        """Refusals after which the item is looked up and asked for anew."""

    @property
    def shared(self) -> bool:
        """Whether one broker answers for all keys, so that it is looked up once."""

    async def prepare(self, cluster: ClusterClient, keys: Collection[K_contra]) -> None:
        """Learn at once what `node` will need for all of these."""

    async def node(self, cluster: ClusterClient, key: K_contra) -> NodeClient:
        """The broker to ask about it; KafkaError if there is none at present."""

    def forget(self, cluster: ClusterClient, key: K_contra) -> None:
        """What is believed about it was wrong, or its broker cannot be reached."""


class ToAnybody:
    """Whoever is connected: every broker can answer, from metadata that all of them have. What was changed a moment ago
    may not have reached this one yet.
    """

    again = frozenset({_E.COORDINATOR_LOAD_IN_PROGRESS, _E.NOT_CONTROLLER})
    shared = True

    async def prepare(self, cluster: ClusterClient, keys: Collection[object]) -> None:
        """Nothing to learn."""

    async def node(self, cluster: ClusterClient, key: object) -> NodeClient:
        return await cluster.any_node()

    def forget(self, cluster: ClusterClient, key: object) -> None:
        """Nothing was believed."""


class ToController:
    """The broker that changes the cluster's state. A change that its quota has no room for is tried again later, unless
    the caller would rather hear of it.
    """

    shared = True

    def __init__(self, *, retry_on_quota_violation: bool = True) -> None:
        quota = {_E.THROTTLING_QUOTA_EXCEEDED} if retry_on_quota_violation else set()
        self.again = frozenset({_E.NOT_CONTROLLER, _E.COORDINATOR_LOAD_IN_PROGRESS} | quota)

    async def prepare(self, cluster: ClusterClient, keys: Collection[object]) -> None:
        """`ClusterClient.controller` asks by itself."""

    async def node(self, cluster: ClusterClient, key: object) -> NodeClient:
        return await cluster.controller()

    def forget(self, cluster: ClusterClient, key: object) -> None:
        cluster.metadata.controller = NO_NODE


class ToCoordinator:
    """The broker that keeps a group, or a transactional id. `more` are refusals to wait out besides those of a
    coordinator that moves or loads.
    """

    shared = False

    def __init__(self, kind: CoordinatorType, *more: ErrorCode) -> None:
        self.kind = kind
        moving = {_E.COORDINATOR_LOAD_IN_PROGRESS, _E.COORDINATOR_NOT_AVAILABLE, _E.NOT_COORDINATOR}
        self.again = frozenset(moving | {_E.BROKER_NOT_AVAILABLE} | set(more))

    async def prepare(self, cluster: ClusterClient, keys: Collection[str]) -> None:
        """Each key has a coordinator of its own; they are looked up side by side."""

    async def node(self, cluster: ClusterClient, key: str) -> NodeClient:
        return await cluster.coordinator(self.kind, key)

    def forget(self, cluster: ClusterClient, key: str) -> None:
        cluster.forget_coordinator(self.kind, key)


class ToLeader:
    """The broker that leads a partition, by metadata that is asked for once for all."""

    shared = False
    again = frozenset(
        {
            _E.UNKNOWN_TOPIC_OR_PARTITION,
            _E.LEADER_NOT_AVAILABLE,
            _E.NOT_LEADER_OR_FOLLOWER,
            _E.REPLICA_NOT_AVAILABLE,
            _E.BROKER_NOT_AVAILABLE,
            _E.KAFKA_STORAGE_ERROR,
            _E.FENCED_LEADER_EPOCH,
            _E.UNKNOWN_LEADER_EPOCH,
            _E.OFFSET_NOT_AVAILABLE,
        }
    )

    async def prepare(self, cluster: ClusterClient, keys: Collection[TopicPartition]) -> None:
        await cluster.ensure_topics({tp.topic for tp in keys})

    async def node(self, cluster: ClusterClient, key: TopicPartition) -> NodeClient:
        return await cluster.node(cluster.metadata.leader(key).id)

    def forget(self, cluster: ClusterClient, key: TopicPartition) -> None:
        cluster.metadata.mark_stale([key.topic])


class ToBroker:
    """A certain broker, by its id: log directories, its own configs, lists that are gathered from all."""

    again = frozenset({_E.COORDINATOR_LOAD_IN_PROGRESS, _E.COORDINATOR_NOT_AVAILABLE})
    shared = False

    async def prepare(self, cluster: ClusterClient, keys: Collection[int]) -> None:
        if not set(keys) <= set(cluster.metadata.nodes):
            await cluster.refresh([])

    async def node(self, cluster: ClusterClient, key: int) -> NodeClient:
        return await cluster.node(key)

    def forget(self, cluster: ClusterClient, key: int) -> None:
        """Its id stays what it is; `NodeClient` knows that the connection is gone."""


class At(Generic[R]):
    """One key's broker for all items: the partitions of a group's offsets, which its coordinator keeps."""

    shared = True

    def __init__(self, route: Route[R], key: R) -> None:
        self.again = route.again
        self._route, self._key = route, key

    async def prepare(self, cluster: ClusterClient, keys: Collection[object]) -> None:
        await self._route.prepare(cluster, [self._key])

    async def node(self, cluster: ClusterClient, key: object) -> NodeClient:
        return await self._route.node(cluster, self._key)

    def forget(self, cluster: ClusterClient, key: object) -> None:
        self._route.forget(cluster, self._key)


#: The routes without a choice. They hold nothing, so that one of each is enough.
ANYBODY = ToAnybody()
CONTROLLER = ToController()
LEADER = ToLeader()
BROKER = ToBroker()
GROUP = ToCoordinator(CoordinatorType.GROUP)
TRANSACTION = ToCoordinator(CoordinatorType.TRANSACTION)
