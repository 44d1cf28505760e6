"""DescribeProducers, version 0 (KIP-664): the idempotent producers that a partition remembers, and their open
transactions.

Made for hanging transactions: an administrator looks for a producer with an old timestamp and a
`current_txn_start_offset` (-1 if none is open), which holds up the last stable offset, and aborts it by
WriteTxnMarkers. For that the epochs of the producer and of the coordinator come along. Only the leader answers; the
state is what it would check the producer's next batch against, and a producer that has been silent for
`producer.id.expiration.ms` is not in it any more.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.records.services import RecordServices
from tidelog.broker.metadata.names import is_valid_topic_name
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import DescribeProducersRequest, DescribeProducersResponse

TopicAnswer = DescribeProducersResponse.TopicResponse
Answer = DescribeProducersResponse.PartitionResponse
ProducerState = DescribeProducersResponse.ProducerState


def handle(
    services: RecordServices, ctx: RequestContext, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicAnswer(
                name=topic.name,
                partitions=[_answer(services, TopicPartition(topic.name, index)) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _answer(services: RecordServices, tp: TopicPartition) -> Answer:
    """One partition. A name that no topic can have is INVALID_TOPIC_EXCEPTION; where somebody else leads there is no
    message, as the client only has to ask again elsewhere.
    """
    if not is_valid_topic_name(tp.topic):
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return Answer(partition_index=tp.partition, error_code=code, error_message=code.text, active_producers=[])
    partition = services.replicas.leader_or_error(tp)
    if isinstance(partition, ErrorCode):
        known = tp.topic in services.metadata.topics
        text = None if known else partition.text
        return Answer(partition_index=tp.partition, error_code=partition, error_message=text, active_producers=[])
    return Answer(
        partition_index=tp.partition,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.txn_first_offset,
            )
            for entry in partition.log.producers.entries.values()
        ],
    )
