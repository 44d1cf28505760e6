"""What a transaction needs of other brokers: markers on partitions that they lead, and answers of other coordinators.

One connection per broker, opened when it is first needed, to the listener that brokers use among themselves. An error
closes it; whoever asked tries again later, and a new one is opened.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tidelog.broker.coordinator.transaction.machine import MarkerJob, ProducerIdentity
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.common.hashing import partition_for_id
from tidelog.common.types import TRANSACTION_STATE_TOPIC, TopicPartition
from tidelog.net.node_client import NodeClient
from tidelog.protocol.messages import AddPartitionsToTxnRequest, WriteTxnMarkersRequest

if TYPE_CHECKING:
    from tidelog.broker.metadata.cache import MetadataCache


class Peers:
    """Connections to the other brokers of the cluster."""

    def __init__(self, metadata: MetadataCache, listener: str) -> None:
        self._metadata = metadata
        self._listener = listener
        self._nodes: dict[int, NodeClient] = {}

    async def _node(self, node_id: int) -> NodeClient:
        node = self._nodes.get(node_id)
        if node is not None:
            return node
        broker = self._metadata.brokers.get(node_id)
        endpoint = None if broker is None else broker.endpoints.get(self._listener)
        if endpoint is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} has no listener {self._listener}")
        node = self._nodes[node_id] = await NodeClient.connect(*endpoint, client_id="transaction-coordinator")
        return node

    async def _drop(self, node_id: int) -> None:
        node = self._nodes.pop(node_id, None)
        if node is not None:
            await node.close()

    async def write_markers(
        self, node_id: int, job: MarkerJob, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """WriteTxnMarkers to the leader of the partitions; what it answered for each."""
        marker = WriteTxnMarkersRequest.WritableTxnMarker(
            producer_id=job.producer_id,
            producer_epoch=job.epoch,
            transaction_result=job.committed,
            topics=[
                WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=topic, partition_indexes=indexes)
                for topic, indexes in _by_topic(partitions).items()
            ],
            coordinator_epoch=job.coordinator_epoch,
            transaction_version=job.client_version,
        )
        try:
            node = await self._node(node_id)
            response = await node.send(WriteTxnMarkersRequest(markers=[marker]))
        except (KafkaError, ProtocolError, OSError):
            await self._drop(node_id)
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        return {
            TopicPartition(topic.name, entry.partition_index): ErrorCode(entry.error_code)
            for result in response.markers
            for topic in result.topics
            for entry in topic.partitions
        }

    async def add_partition(
        self, transactional_id: str, producer: ProducerIdentity, tp: TopicPartition, verify_only: bool
    ) -> ErrorCode:
        """AddPartitionsToTxn to the coordinator of the id: may its transaction write to the partition?"""
        count = self._metadata.partition_count(TRANSACTION_STATE_TOPIC)
        home = TopicPartition(TRANSACTION_STATE_TOPIC, partition_for_id(transactional_id, count)) if count else None
        state = None if home is None else self._metadata.partition(home)
        if state is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            verify_only=verify_only,
            topics=[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=tp.topic, partitions=[tp.partition])],
        )
        try:
            node = await self._node(state.leader)
            response = await node.send(AddPartitionsToTxnRequest(transactions=[transaction]))
        except (KafkaError, ProtocolError, OSError):
            await self._drop(state.leader)
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        result = response.results_by_transaction[0].topic_results[0].results_by_partition[0]
        return ErrorCode(result.partition_error_code)

    async def stop(self) -> None:
        for node_id in list(self._nodes):
            await self._drop(node_id)


def _by_topic(partitions: Collection[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics
