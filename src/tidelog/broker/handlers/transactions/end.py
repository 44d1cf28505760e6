"""AddOffsetsToTxn (versions 0 to 4) and EndTxn (versions 0 to 5): a consumer group joins a transaction, and its end.

EndTxn is answered when the decision is durable in __transaction_state; the markers are written after that, and a
producer that begins its next transaction meanwhile is told CONCURRENT_TRANSACTIONS and tries again. From version 5 on
(KIP-890) every end bumps the producer's epoch, and the answer has the new one: what was sent before can no longer slip
into the next transaction.
"""

from __future__ import annotations

from tidelog.broker.coordinator.transaction.machine import ProducerIdentity
from tidelog.broker.coordinator.transaction.metadata import EPOCH_BUMP_VERSION
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.transactions.fencing import FENCED_VERSION, fenced_code
from tidelog.broker.handlers.transactions.services import TransactionServices
from tidelog.common.errors import KafkaError
from tidelog.common.types import GROUP_METADATA_TOPIC, TopicPartition
from tidelog.protocol.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
)

#: EndTxn: from here on every end bumps the epoch.
BUMP_VERSION = 5


async def add_offsets(
    services: TransactionServices, ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    """The group's partition of __consumer_offsets becomes part of the transaction.

    Kafka only counts that topic's partitions here, and need not have it yet: Java's producer looks for the group's
    coordinator, which makes the topic, after this answer. Our coordinator counts what there is, so it is made now.
    """
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        if services.metadata.partition_count(GROUP_METADATA_TOPIC) is None:
            await services.controller.ensure_topic(GROUP_METADATA_TOPIC)
        partition = services.coordinators().group.runtime.partition_for(request.group_id)
        tp = TopicPartition(GROUP_METADATA_TOPIC, partition)
        await services.coordinators().transaction.add_partitions(request.transactional_id, producer, (tp,))
    except KafkaError as error:
        code = fenced_code(error.code, ctx.header.api_version >= FENCED_VERSION)
        return AddOffsetsToTxnResponse(error_code=code)
    return AddOffsetsToTxnResponse()


async def end(services: TransactionServices, ctx: RequestContext, request: EndTxnRequest) -> EndTxnResponse:
    """Commit or abort. Who did not hear the answer asks again: the same outcome is confirmed once all markers are
    written (CONCURRENT_TRANSACTIONS until then), the other one is INVALID_TXN_STATE.
    """
    version = ctx.header.api_version
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        identity = await services.coordinators().transaction.end(
            request.transactional_id,
            producer,
            committed=request.committed,
            version=EPOCH_BUMP_VERSION if version >= BUMP_VERSION else 0,
        )
    except KafkaError as error:
        return EndTxnResponse(error_code=fenced_code(error.code, version >= FENCED_VERSION))
    return EndTxnResponse(producer_id=identity.producer_id, producer_epoch=identity.epoch)
