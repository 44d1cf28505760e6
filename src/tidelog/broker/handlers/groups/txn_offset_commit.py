"""TxnOffsetCommit, versions 0 to 5: offsets that count when the producer's transaction commits (KIP-98).

They are written to __consumer_offsets as part of the transaction: pending until its marker comes, dropped if it aborts.
So the group's partition of that topic must belong to the transaction. Up to version 4 the producer adds it itself
(AddOffsetsToTxn) and it is only verified here; from version 5 on this request adds it (KIP-890). Since version 3
(KIP-447) a consumer's generation comes along, so that one that was thrown out of its group cannot commit.
"""

from __future__ import annotations

from typing import Any

from tidelog.broker.coordinator.group.offsets.commits import commit_error
from tidelog.broker.coordinator.transaction.coordinator import IMPLICIT_ADD_COMMIT_VERSION
from tidelog.broker.coordinator.transaction.machine import ProducerIdentity
from tidelog.broker.coordinator.transaction.metadata import EPOCH_BUMP_VERSION
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.groups.known_topics import add_failures, split_known
from tidelog.broker.handlers.groups.membership import require_group
from tidelog.broker.handlers.groups.services import GroupServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import GROUP_METADATA_TOPIC, TopicPartition
from tidelog.protocol.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse

#: The first version that understands TRANSACTION_ABORTABLE.
ABORTABLE_VERSION = 4


async def handle(
    services: GroupServices, ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse:
    """Note the offsets as part of the transaction, for the partitions that exist.

    An error of the transaction or the group is that of every partition: nothing was noted then.
    """
    known, unknown = split_known(services.metadata, request.topics)
    response = TxnOffsetCommitResponse()
    if known:
        request.topics = known
        try:
            require_group(request.group_id)
            if not request.transactional_id and ctx.header.api_version < IMPLICIT_ADD_COMMIT_VERSION:
                raise KafkaError(ErrorCode.INVALID_REQUEST)
            await _verify(services, ctx, request)
            response = await services.coordinators().group.write(
                request.group_id, lambda machine: machine.commit_in_transaction(request)
            )
        except KafkaError as error:
            response = _failed(known, _error(error.code, ctx.header.api_version))
    add_failures(response, _failed(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION).topics)
    return response


async def _verify(services: GroupServices, ctx: RequestContext, request: TxnOffsetCommitRequest) -> None:
    """The offsets partition must be part of the transaction; from version 5 on it joins by this request (KIP-890).

    The shard of the group is looked up first: who is not its coordinator, or still loads, must say so before the
    transaction is changed. A producer that was fenced is told INVALID_PRODUCER_EPOCH, the code that this API has for
    it.
    """
    coordinators = services.coordinators()
    partition = coordinators.group.runtime.partition_for(request.group_id)
    tp = TopicPartition(GROUP_METADATA_TOPIC, partition)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    coordinators.group.runtime.active(partition)
    try:
        if ctx.header.api_version >= IMPLICIT_ADD_COMMIT_VERSION:
            await coordinators.transaction.add_partitions(
                request.transactional_id, producer, (tp,), version=EPOCH_BUMP_VERSION
            )
            return
        verified = await coordinators.transaction.verify_partitions(request.transactional_id, producer, (tp,))
    except KafkaError as error:
        if error.code is ErrorCode.PRODUCER_FENCED:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH) from error
        raise
    if verified[tp] is not ErrorCode.NONE:
        raise KafkaError(verified[tp])


def _error(code: ErrorCode, version: int) -> ErrorCode:
    """What a client of this version makes sense of.

    TRANSACTION_ABORTABLE (abort, and go on) came with version 4; older producers get INVALID_TXN_STATE, which ends
    them.
    """
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_VERSION:
        return ErrorCode.INVALID_TXN_STATE
    if version < 3 and code in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID):
        return ErrorCode.INVALID_TXN_STATE  # before KIP-447 there was no group in this request
    return commit_error(code)


def _failed(topics: list[Any], code: ErrorCode) -> TxnOffsetCommitResponse:
    """The same error for every partition of these topics."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(
                        partition_index=entry.partition_index, error_code=code
                    )
                    for entry in topic.partitions
                ],
            )
            for topic in topics
        ]
    )
