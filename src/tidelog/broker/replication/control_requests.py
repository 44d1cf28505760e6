"""What a broker does when its controller says so: the receiving side of LeaderAndIsr, StopReplica and UpdateMetadata.

The highest controller epoch that was seen counts; whoever says less has been replaced and is refused, before anything
is done. Making files takes time (a millisecond each on an ordinary disk), and a request may be about thousands of
partitions: they are taken on in chunks, with a breath of the event loop in between, so that those that are served
already go on being served.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidelog.broker.metadata.control_messages import LeaderAndIsr, StopReplica, UpdateMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.net.pauses import breathe

if TYPE_CHECKING:
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.metadata.images import PartitionState
    from tidelog.broker.metadata.topic_configs import TopicConfigs
    from tidelog.broker.replication.manager import ReplicaManager

#: How many partitions are made between two breaths of the event loop.
CHUNK = 32
#: So many partitions of a new topic are made before its creation is answered, and all of an internal one: whoever finds
#: a coordinator expects it to be there.
AT_ONCE = 64
#: Larger than when they are made: each chunk ends with checkpoints to write and a directory to sync.
DELETE_CHUNK = 256


class ControlRequests:
    def __init__(self, replicas: ReplicaManager, metadata: MetadataCache, topic_configs: TopicConfigs) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._topic_configs = topic_configs
        self._controller_epoch = 0

    async def leader_and_isr(self, message: LeaderAndIsr) -> Mapping[TopicPartition, ErrorCode]:
        """Lead and follow as told; the partitions that cannot be served here, with the reason."""
        self._obey(message.controller_epoch)
        new = [state for state in message.states if state.is_new and state.topic not in INTERNAL_TOPICS]
        if len(new) <= AT_ONCE:
            return await self._take_on(message.states)
        later = {state.tp for state in new[AT_ONCE:]}
        failures = await self._take_on([state for state in message.states if state.tp not in later])
        self._replicas.expect(new[AT_ONCE:])
        return failures

    async def _take_on(self, states: Sequence[PartitionState]) -> dict[TopicPartition, ErrorCode]:
        failures: dict[TopicPartition, ErrorCode] = {}
        for start in range(0, len(states), CHUNK):
            failures |= self._replicas.apply_leader_and_isr(states[start : start + CHUNK])
            if start + CHUNK < len(states):
                await breathe()
        return failures

    async def stop_replica(self, message: StopReplica) -> Mapping[TopicPartition, ErrorCode]:
        """Hold these replicas no more; those that could not be deleted, with the reason."""
        self._obey(message.controller_epoch)
        failures: dict[TopicPartition, ErrorCode] = {}
        for start in range(0, len(message.partitions), DELETE_CHUNK):
            chunk = message.partitions[start : start + DELETE_CHUNK]
            failures |= self._replicas.stop_replicas(chunk, delete=message.delete)
            await breathe()
        return failures

    async def update_metadata(self, message: UpdateMetadata) -> None:
        """Know what the controller knows: from here on, clients are told so."""
        self._obey(message.controller_epoch)
        self._metadata.update(message)

    def topic_config(self, topic: str, overrides: Mapping[str, str] | None) -> None:
        """What is set for a topic is this from now on, in every log that is there; None: the topic is gone.

        A guard over an adopted topic's unknown configs ends with it: now they are known.
        """
        self._topic_configs.forget(topic)
        if overrides is not None:
            self._topic_configs.set(topic, overrides)
            self._replicas.update_topic_config(topic, self._topic_configs.log_config(topic))

    def _obey(self, epoch: int) -> None:
        if epoch < self._controller_epoch:
            text = f"controller epoch {epoch} is older than {self._controller_epoch}"
            raise KafkaError(ErrorCode.STALE_CONTROLLER_EPOCH, text)
        self._controller_epoch = epoch
