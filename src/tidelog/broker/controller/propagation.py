"""From the controller to brokers: the port, its local form, and who is told what.

A controller decides for brokers that it does not run in. It reaches each of them through `Propagation`, which carries
the three messages of a controller to a broker by its id. Here is the form within one process, where the only broker is
this one: what would be a request is a call. A remote form puts the same values into LeaderAndIsr, StopReplica and
UpdateMetadata requests; neither the controller nor the receiving side notices the difference.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tidelog.broker.controller.context import ControllerContext
from tidelog.broker.metadata.control_messages import LeaderAndIsr, StopReplica, UpdateMetadata
from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition

logger = logging.getLogger(__name__)


class Propagation(Protocol):
    """Tells one broker, and waits for its answer. Raises KafkaError: it cannot be reached, or obeys another."""

    async def leader_and_isr(self, node: int, message: LeaderAndIsr) -> Mapping[TopicPartition, ErrorCode]:
        """The broker's answer: the partitions that it could not take on, and why."""
        ...

    async def stop_replica(self, node: int, message: StopReplica) -> Mapping[TopicPartition, ErrorCode]:
        """The broker's answer: the replicas that it could not delete, and why."""
        ...

    async def update_metadata(self, node: int, message: UpdateMetadata) -> None: ...

    def topic_config(self, topic: str, overrides: Mapping[str, str] | None) -> None:
        """What is set for a topic has changed; None: the topic is gone. No message of Kafka's: there every broker
        watches `/config/changes`, where the store has a note of the same change. It is told before the partitions of
        a new topic are made, so that their logs are made by it."""
        ...


class Receiver(Protocol):
    """The same on the side of the broker that is told."""

    async def leader_and_isr(self, message: LeaderAndIsr) -> Mapping[TopicPartition, ErrorCode]: ...
    async def stop_replica(self, message: StopReplica) -> Mapping[TopicPartition, ErrorCode]: ...
    async def update_metadata(self, message: UpdateMetadata) -> None: ...
    def topic_config(self, topic: str, overrides: Mapping[str, str] | None) -> None: ...


class LocalPropagation:
    """To the broker in this process, and to no other."""

    def __init__(self, node_id: int, receiver: Receiver) -> None:
        self._node_id = node_id
        self._receiver = receiver

    def _reach(self, node: int) -> Receiver:
        if node != self._node_id:
            text = f"Broker {node} cannot be reached: this controller speaks to its own broker, {self._node_id}, only."
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, text)
        return self._receiver

    async def leader_and_isr(self, node: int, message: LeaderAndIsr) -> Mapping[TopicPartition, ErrorCode]:
        return await self._reach(node).leader_and_isr(message)

    async def stop_replica(self, node: int, message: StopReplica) -> Mapping[TopicPartition, ErrorCode]:
        return await self._reach(node).stop_replica(message)

    async def update_metadata(self, node: int, message: UpdateMetadata) -> None:
        await self._reach(node).update_metadata(message)

    def topic_config(self, topic: str, overrides: Mapping[str, str] | None) -> None:
        self._receiver.topic_config(topic, overrides)


class BrokerRequests:
    """Who is told what: Kafka's ControllerBrokerRequestBatch.

    Only brokers that are alive are told. One that is not learns everything when it registers again; what it says until
    then is refused by epochs.
    """

    def __init__(self, node_id: int, context: ControllerContext, propagation: Propagation) -> None:
        self._node_id = node_id
        self._context = context
        self._propagation = propagation

    async def leader_and_isr(self, states: Sequence[PartitionState]) -> None:
        """Tell those that hold a replica of these partitions."""
        for node in list(self._context.brokers):
            theirs = [state for state in states if node in state.replicas]
            if theirs:
                message = LeaderAndIsr(self._node_id, self._context.epoch, theirs)
                for tp, code in (await self._propagation.leader_and_isr(node, message)).items():
                    logger.error("Partition %s cannot be served by broker %d: %s", tp, node, code.name)

    async def delete_replicas(self, states: Sequence[PartitionState]) -> None:
        """Have those that hold a replica of these partitions delete it."""
        for node in list(self._context.brokers):
            theirs = [state.tp for state in states if node in state.replicas]
            if theirs:
                message = StopReplica(self._node_id, self._context.epoch, theirs, delete=True)
                for tp, code in (await self._propagation.stop_replica(node, message)).items():
                    logger.error("The replica of %s on broker %d could not be deleted: %s", tp, node, code.name)

    async def update_metadata(self, topics: Iterable[TopicImage] = (), deleted: Iterable[str] = ()) -> None:
        """Tell everybody who is alive, and what has become of these topics."""
        brokers = list(self._context.brokers.values())
        message = UpdateMetadata(self._node_id, self._context.epoch, brokers, list(topics), list(deleted))
        for node in list(self._context.brokers):
            await self._propagation.update_metadata(node, message)

    def topic_config(self, topic: str, overrides: Mapping[str, str] | None) -> None:
        self._propagation.topic_config(topic, overrides)
