"""What a transaction needs of other brokers: markers on partitions that they lead, and answers of other coordinators.

Partitions of one transaction are led by many brokers, and its coordinator is one of them. When the transaction ends,
the coordinator asks each leader to write the markers (WriteTxnMarkers); when a producer writes to a partition, the
partition's leader asks the coordinator whether its transaction may, or adds it (AddPartitionsToTxn, which brokers send
since version 4, KIP-890). Both may be repeated: a second marker does no harm, and a partition is added once. So an
error of the network is an answer here, and who asked tries again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tidelog.broker.coordinator.transaction.machine import MarkerJob, ProducerIdentity
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.hashing import partition_for_id
from tidelog.common.types import TRANSACTION_STATE_TOPIC, TopicPartition
from tidelog.protocol.messages import AddPartitionsToTxnRequest, WriteTxnMarkersRequest

if TYPE_CHECKING:
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.peers.connections import PeerConnections


class TransactionPeers:
    """Requests of transaction coordinators to other brokers, over the listener that brokers use among themselves."""

    def __init__(self, metadata: MetadataCache, connections: PeerConnections) -> None:
        self._metadata = metadata
        self._connections = connections

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
            response = await self._connections.send(node_id, WriteTxnMarkersRequest(markers=[marker]))
        except KafkaError:
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
            request = AddPartitionsToTxnRequest(transactions=[transaction])
            response = await self._connections.send(state.leader, request)
        except KafkaError:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        result = response.results_by_transaction[0].topic_results[0].results_by_partition[0]
        return ErrorCode(result.partition_error_code)


def _by_topic(partitions: Collection[TopicPartition]) -> dict[str, list[int]]:
    """As requests list partitions: topics in order, each with its numbers."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics
