"""The extra work of the member that leads a classic group: share out, and notice when there is more to share.

The coordinator makes one member the leader and sends it everybody's subscription. The leader needs the partitions of
all topics that *anybody* subscribes to, so it keeps an eye on topics that it does not read itself. When one of them
appears, is deleted or gets more partitions, the leader asks for a rebalance; nobody else would (KIP-848 moved all this
to the broker).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.consumer.assignors.assignor import Assignment, Assignor, Members, PartitionRacks, RebalanceProtocol
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition

logger = logging.getLogger("tidelog.client.consumer")

#: A topic's id with its partitions and their racks: a topic that is deleted and made anew is another one.
Snapshot = Mapping[str, tuple[bytes, tuple[PartitionRacks, ...]]]


class GroupLeader:
    """Leads one generation. `snapshot` is what the assignment was made from."""

    def __init__(self, cluster: ClusterClient, members: Members) -> None:
        self._cluster = cluster
        self._members = members
        self._topics = frozenset().union(*(said.topics for said in members.values()))
        self._snapshot: Snapshot = {}

    async def look(self) -> None:
        """Have metadata of all topics; those that do not exist are asked for each time."""
        await self._cluster.ensure_topics(self._topics)

    async def take_snapshot(self) -> None:
        await self._cluster.retry(self.look)
        self._snapshot = self._current()

    def changed(self) -> bool:
        """Whether what metadata says now would be shared out differently."""
        return self._current() != self._snapshot

    def assign(self, assignor: Assignor, protocol: RebalanceProtocol) -> Mapping[str, Assignment]:
        """Everybody's part. An assignor that breaks the rules of a cooperative group is stopped here: two members
        would read the same partition.
        """
        topics = {topic: partitions for topic, (_, partitions) in self._snapshot.items()}
        parts = assignor.assign(topics, self._members)
        unknown = parts.keys() - self._members.keys()
        if unknown:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{assignor.name} assigned to strangers: {unknown}")
        if protocol is RebalanceProtocol.COOPERATIVE:
            self._check_cooperative(assignor, parts)
        logger.info("leader of %d members shares out %d topics by %s", len(self._members), len(topics), assignor.name)
        return {member: parts.get(member, Assignment(())) for member in self._members}

    def _check_cooperative(self, assignor: Assignor, parts: Mapping[str, Assignment]) -> None:
        added: set[TopicPartition] = set()
        revoked: set[TopicPartition] = set()
        for member, said in self._members.items():
            mine = set(parts[member].partitions) if member in parts else set()
            added |= mine.difference(said.owned)
            revoked |= set(said.owned) - mine
        if early := added & revoked:
            names = ", ".join(str(tp) for tp in sorted(early))
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                f"the cooperative assignor {assignor.name} gave away partitions that others still own: {names}",
            )

    def _current(self) -> Snapshot:
        racks = {node.id: node.rack for node in self._cluster.metadata.nodes.values()}
        found = {}
        for name in self._topics:
            info = self._cluster.metadata.topics.get(name)
            if info is None or info.error or not info.partitions:
                continue
            found[name] = (
                info.id,
                tuple(
                    PartitionRacks(index, frozenset(r for node in entry.replicas if (r := racks.get(node)) is not None))
                    for index, entry in sorted(info.partitions.items())
                ),
            )
        return found
