"""What brokers ask of the controller, wherever it is.

Handlers, coordinators and replicas hold a `ClusterController` and never learn whether it is an object in this process
or a connection to another broker. What is asked is therefore made of values only: topics, partitions, epochs. One that
is asked and is not the controller (any more) answers NOT_CONTROLLER; whoever asked looks up who is, and asks again.

Configs are not among it. Kafka's brokers write config nodes themselves, by version, and leave a note for the others
(`entity_configs.py`); only ISR changes, topics and producer ids go to the controller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidelog.broker.controller.election import Reason
from tidelog.broker.controller.topic_plans import Deletion, NewTopic, TopicPlan
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.store.znodes import ProducerIdBlock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition


class ClusterController(Protocol):
    """Every method raises KafkaError where the whole of what was asked is refused."""

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[TopicPlan | KafkaError]:
        """Create what can be created; the answer to each topic, in their order."""
        ...

    async def ensure_topic(self, name: str) -> None:
        """Create a topic that somebody asked for in passing, unless it is there."""
        ...

    async def delete_topics(self, names: Sequence[str] = (), ids: Sequence[bytes] = ()) -> list[Deletion]:
        """Delete topics, by name or by id; what became of each."""
        ...

    async def create_partitions(
        self, name: str, count: int, assignments: Sequence[Sequence[int]] | None, *, validate_only: bool = False
    ) -> None:
        """Let a topic grow to `count` partitions."""
        ...

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition], reason: Reason
    ) -> dict[TopicPartition, ErrorCode]:
        """Elect; the answer to each partition."""
        ...

    async def alter_isr(
        self, tp: TopicPartition, *, leader_epoch: int, isr: tuple[int, ...], partition_epoch: int
    ) -> PartitionState:
        """A leader's wish to change its in-sync set: the state that came of it."""
        ...

    async def allocate_producer_ids(self) -> ProducerIdBlock:
        """A block of producer ids that nobody else has."""
        ...
