"""WriteTxnMarkers, versions 0 to 2: write the ends of transactions into partitions that are led here.

From other brokers' coordinators, and from administrators who abort a hanging transaction (`kafka-transactions.sh
abort`). A marker is a control record in the partition's log, with the coordinator's epoch in it: one of an older epoch
than the last is TRANSACTION_COORDINATOR_FENCED. Each partition has an error of its own.

Once a marker is in the log the transaction is over there: its records become stable or aborted, and the last stable
offset goes on. In partitions of __consumer_offsets it also decides what becomes of pending commits. A marker that comes
twice does no harm. From version 2 on it says by which protocol the transaction ends (KIP-1228).
"""

from __future__ import annotations

from tidelog.broker.coordinator.transaction.machine import MarkerJob
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.transactions.services import TransactionServices
from tidelog.common.errors import ErrorCode
from tidelog.common.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from tidelog.protocol.messages import WriteTxnMarkersRequest, WriteTxnMarkersResponse

Marker = WriteTxnMarkersRequest.WritableTxnMarker
Result = WriteTxnMarkersResponse.WritableTxnMarkerResult


async def handle(
    services: TransactionServices, ctx: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    """One marker after the other; one without partitions is not answered at all, as in Kafka."""
    results = []
    for marker in request.markers:
        partitions = [
            TopicPartition(topic.name, partition) for topic in marker.topics for partition in topic.partition_indexes
        ]
        if partitions:
            codes = await _write(services, marker, partitions)
            results.append(_result(marker, codes))
    return WriteTxnMarkersResponse(markers=results)


async def _write(
    services: TransactionServices, marker: Marker, partitions: list[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """The outcome of each partition. A marker of no producer is none, which Kafka notices only as it writes it."""
    if marker.producer_id == NO_PRODUCER_ID or marker.producer_epoch == NO_PRODUCER_EPOCH:
        return {
            tp: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if services.metadata.partition(tp) is None
            else ErrorCode.UNKNOWN_SERVER_ERROR
            for tp in partitions
        }
    job = MarkerJob(
        "",
        marker.producer_id,
        marker.producer_epoch,
        marker.transaction_result,
        frozenset(partitions),
        marker.coordinator_epoch,
        getattr(marker, "transaction_version", 0),
    )
    return await services.coordinators().markers.write_all(job, partitions)


def _result(marker: Marker, codes: dict[TopicPartition, ErrorCode]) -> Result:
    return Result(
        producer_id=marker.producer_id,
        topics=[
            WriteTxnMarkersResponse.WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult(
                        partition_index=partition, error_code=codes[TopicPartition(topic.name, partition)]
                    )
                    for partition in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )
