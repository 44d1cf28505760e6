"""The cluster itself: its brokers and controller, its metadata quorum, and taking brokers and voters out or in.

The quorum is KRaft's: the controllers that keep the cluster's state as a log. Clusters that ZooKeeper coordinates, as
Tidelog's and Kafka's before 4.0, have none, and say UNSUPPORTED_VERSION.

A voter is a controller whose agreement counts for a majority; observers (the brokers) only follow the log. Since
KIP-853 voters can be added and removed while the cluster runs, one at a time, if it was not set up with
`controller.quorum.voters` in its properties files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.admin.acl_types import AclOperation
from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check
from tidelog.client.admin.routes import ANYBODY
from tidelog.client.admin.shapes import entries, id_bytes, id_text, operations, or_none
from tidelog.client.values import Node
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol import messages

_METADATA_TOPIC = "__cluster_metadata"


class ClusterDescription(NamedTuple):
    """Who is there. `controller` is the broker to ask for changes (with KRaft: one that passes them on); `fenced` are
    the ids of registered brokers that are not at work, if they were asked for.
    """

    cluster_id: str | None
    controller: Node | None
    nodes: tuple[Node, ...]
    fenced: frozenset[int] = frozenset()
    authorized_operations: frozenset[AclOperation] | None = None


class Endpoint(NamedTuple):
    """Where a controller listens, and the name of that listener."""

    name: str
    host: str
    port: int


class QuorumReplica(NamedTuple):
    """A copy of the metadata log; times in ms, None where they are not known."""

    id: int
    directory_id: str
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


class Quorum(NamedTuple):
    """The controllers: who leads, who has a vote, who only follows (brokers), and where they listen."""

    leader: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    endpoints: Mapping[int, tuple[Endpoint, ...]]


class ClusterAdmin(AdminBase):
    """The part of the Admin that is about the cluster as a whole."""

    async def describe_cluster(
        self, *, authorized_operations: bool = False, fenced_brokers: bool = False, timeout: float | None = None
    ) -> ClusterDescription:
        """The brokers, the controller and the cluster's id. `fenced_brokers`: also those that are registered but not
        at work (Kafka 4.0 on).
        """
        call = self._call(timeout)
        request = messages.DescribeClusterRequest(
            include_cluster_authorized_operations=authorized_operations, include_fenced_brokers=fenced_brokers
        )

        def read(response: Any) -> ClusterDescription:
            check(response.error_code, response.error_message, "describing the cluster")
            nodes = {b.broker_id: Node(b.broker_id, b.host, b.port, b.rack) for b in response.brokers}
            fenced = frozenset(broker.broker_id for broker in response.brokers if broker.is_fenced)
            allowed = operations(response.cluster_authorized_operations)
            controller = nodes.get(response.controller_id)
            return ClusterDescription(response.cluster_id, controller, tuple(nodes.values()), fenced, allowed)

        def read_metadata(response: Any) -> ClusterDescription:
            nodes = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
            allowed = operations(response.cluster_authorized_operations)
            controller = nodes.get(response.controller_id)
            return ClusterDescription(
                response.cluster_id, controller, tuple(nodes.values()), authorized_operations=allowed
            )

        try:
            return await call.one(ANYBODY, request, read)
        except KafkaError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION or fenced_brokers:
                raise
        older = messages.MetadataRequest(topics=[], include_cluster_authorized_operations=authorized_operations)
        return await call.one(ANYBODY, older, read_metadata, highest=10)

    async def unregister_broker(self, broker: int, *, timeout: float | None = None) -> None:
        """Forget a broker that is gone for good (KRaft only). One that still runs registers itself anew.

        Its partitions are not moved by this: `alter_partition_reassignments` gives them other brokers first.
        """
        await self._call(timeout).one(
            ANYBODY, messages.UnregisterBrokerRequest(broker_id=broker), _checked("unregistering")
        )

    async def describe_metadata_quorum(self, *, timeout: float | None = None) -> Quorum:
        """The state of the controllers' quorum (KRaft only)."""
        partition = messages.DescribeQuorumRequest.PartitionData(partition_index=0)
        topic = messages.DescribeQuorumRequest.TopicData(topic_name=_METADATA_TOPIC, partitions=[partition])

        def read(response: Any) -> Quorum:
            check(response.error_code, response.error_message, "describing the quorum")
            ((_, found),) = entries(response.topics, name="topic_name")
            check(found.error_code, found.error_message, "describing the quorum")
            endpoints = {
                node.node_id: tuple(Endpoint(each.name, each.host, each.port) for each in node.listeners)
                for node in response.nodes
            }
            return Quorum(
                found.leader_id,
                found.leader_epoch,
                found.high_watermark,
                tuple(map(_quorum_replica, found.current_voters)),
                tuple(map(_quorum_replica, found.observers)),
                endpoints,
            )

        return await self._call(timeout).one(ANYBODY, messages.DescribeQuorumRequest(topics=[topic]), read)

    async def add_raft_voter(
        self,
        voter: int,
        directory_id: str,
        endpoints: Iterable[Endpoint],
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Give a controller a vote (KIP-853). It must run, and have caught up; `directory_id` is that of its
        meta.properties. `cluster_id`: only if the cluster has this id.
        """
        call = self._call(timeout)
        listeners = [messages.AddRaftVoterRequest.Listener(name=e.name, host=e.host, port=e.port) for e in endpoints]
        request = messages.AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=call.timeout_ms,
            voter_id=voter,
            voter_directory_id=id_bytes(directory_id),
            listeners=listeners,
        )
        await call.one(ANYBODY, request, _checked(f"voter {voter}"))

    async def remove_raft_voter(
        self, voter: int, directory_id: str, *, cluster_id: str | None = None, timeout: float | None = None
    ) -> None:
        """Take a controller's vote away (KIP-853)."""
        request = messages.RemoveRaftVoterRequest(
            cluster_id=cluster_id, voter_id=voter, voter_directory_id=id_bytes(directory_id)
        )
        await self._call(timeout).one(ANYBODY, request, _checked(f"voter {voter}"))


def _checked(about: str) -> Any:
    """Reads an answer that is an error or nothing."""
    return lambda response: check(response.error_code, response.error_message, about)


def _quorum_replica(found: Any) -> QuorumReplica:
    """Before version 1 the leader told no times, before version 2 no directories."""
    return QuorumReplica(
        found.replica_id,
        id_text(found.replica_directory_id),
        found.log_end_offset,
        or_none(found.last_fetch_timestamp, -1),
        or_none(found.last_caught_up_timestamp, -1),
    )
