"""AddPartitionsToTxn, versions 0 to 5: partitions become part of a transaction before anything is written to them.

The coordinator remembers them, so that it knows where to write markers when the transaction ends. All or none: if one
partition does not exist, the others are OPERATION_NOT_ATTEMPTED. Versions 0 to 3 are a producer's own request for one
transaction. From version 4 on (KIP-890) it is a request of brokers, for many transactions: they add partitions on
behalf of producers that write right away, or only verify that a partition belongs to an open transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from tidelog.broker.coordinator.transaction.machine import ProducerIdentity
from tidelog.broker.coordinator.transaction.metadata import EPOCH_BUMP_VERSION
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.transactions.fencing import FENCED_VERSION, fenced_code
from tidelog.broker.handlers.transactions.services import TransactionServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.protocol.messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse

#: From here on it is a request of brokers, for many transactions.
BROKER_VERSION = 4

TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
PartitionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult


async def handle(
    services: TransactionServices, ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    """Up to version 3 one transaction of the client that asks; from version 4 on many, added to or only verified.

    A client may not name internal topics (TOPIC_AUTHORIZATION_FAILED): their part in a transaction comes by
    AddOffsetsToTxn. Brokers may.
    """
    version = ctx.header.api_version
    if version < BROKER_VERSION:
        producer = ProducerIdentity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        codes = await _add(
            services, ctx, request.v3_and_below_transactional_id, producer, request.v3_and_below_topics, 0
        )
        codes = {tp: fenced_code(code, version >= FENCED_VERSION) for tp, code in codes.items()}
        results_by_topic = _results(request.v3_and_below_topics, codes)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results_by_topic)
    results = []
    for transaction in request.transactions:
        producer = ProducerIdentity(transaction.producer_id, transaction.producer_epoch)
        if transaction.verify_only:
            codes = await _verify(services, ctx, transaction.transactional_id, producer, transaction.topics)
            topic_results = _merged(codes)
        else:
            codes = await _add(
                services, ctx, transaction.transactional_id, producer, transaction.topics, EPOCH_BUMP_VERSION
            )
            topic_results = _results(transaction.topics, codes)
        results.append(
            AddPartitionsToTxnResponse.AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id, topic_results=topic_results
            )
        )
    return AddPartitionsToTxnResponse(results_by_transaction=results)


async def _asked(
    services: TransactionServices,
    ctx: RequestContext,
    topics: Iterable[Any],
    ask: Callable[[list[TopicPartition]], Awaitable[dict[TopicPartition, ErrorCode]]],
) -> dict[TopicPartition, ErrorCode]:
    """What the coordinator says of each partition, in the order of the topics, unless it need not be asked at all. An
    error of its own holds for all of them.
    """
    partitions = [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions]
    refused = _refusals(services, ctx, partitions)
    if refused:
        return refused
    try:
        return await ask(partitions)
    except KafkaError as error:
        return dict.fromkeys(partitions, error.code)


async def _add(
    services: TransactionServices,
    ctx: RequestContext,
    transactional_id: str,
    producer: ProducerIdentity,
    topics: Iterable[Any],
    version: int,
) -> dict[TopicPartition, ErrorCode]:
    """All partitions of one transaction, or none."""

    async def add(partitions: list[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        transactions = services.coordinators().transaction
        await transactions.add_partitions(transactional_id, producer, partitions, version=version)
        return dict.fromkeys(partitions, ErrorCode.NONE)

    return await _asked(services, ctx, topics, add)


def _refusals(
    services: TransactionServices, ctx: RequestContext, partitions: list[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """All or none: if one partition does not exist or is not for clients, the others are not attempted.

    A transaction that has only some of the partitions that its producer believes in would leave records without an end.
    """
    refused = {tp: code for tp in partitions if (code := _refusal(services, ctx, tp))}
    return {tp: refused.get(tp, ErrorCode.OPERATION_NOT_ATTEMPTED) for tp in partitions} if refused else {}


def _refusal(services: TransactionServices, ctx: RequestContext, tp: TopicPartition) -> ErrorCode:
    """Why a partition cannot be part of a transaction at all."""
    if ctx.header.api_version < BROKER_VERSION and tp.topic in INTERNAL_TOPICS:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE if services.metadata.partition(tp) is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def _verify(
    services: TransactionServices,
    ctx: RequestContext,
    transactional_id: str,
    producer: ProducerIdentity,
    topics: Iterable[Any],
) -> dict[TopicPartition, ErrorCode]:
    """Whether each partition belongs to the open transaction of this very producer."""

    async def verify(partitions: list[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        return await services.coordinators().transaction.verify_partitions(transactional_id, producer, partitions)

    return await _asked(services, ctx, topics, verify)


def _merged(codes: dict[TopicPartition, ErrorCode]) -> list[TopicResult]:
    """Results by topic, each partition once: the answer to what was only verified, or refused before the coordinator
    saw it.
    """
    topics: dict[str, list[PartitionResult]] = {}
    for tp, code in codes.items():
        topics.setdefault(tp.topic, []).append(PartitionResult(partition_index=tp.partition, partition_error_code=code))
    return [TopicResult(name=name, results_by_partition=results) for name, results in topics.items()]


def _results(topics: Iterable[Any], codes: dict[TopicPartition, ErrorCode]) -> list[TopicResult]:
    """In the order of the request. What was refused before the coordinator saw it is put together by topic, as Kafka
    does there.
    """
    refused = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if any(code in refused for code in codes.values()):
        return _merged(codes)
    return [
        TopicResult(
            name=topic.name,
            results_by_partition=[
                PartitionResult(
                    partition_index=partition, partition_error_code=codes[TopicPartition(topic.name, partition)]
                )
                for partition in topic.partitions
            ],
        )
        for topic in topics
    ]
