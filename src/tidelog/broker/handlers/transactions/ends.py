"""AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.broker.coordinator.transaction.machine import MarkerJob, ProducerIdentity
from tidelog.broker.coordinator.transaction.metadata import EPOCH_BUMP_VERSION
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.transactions.init_producer_id import fenced_code
from tidelog.broker.handlers.transactions.services import TransactionServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import (
    GROUP_METADATA_TOPIC,
    INTERNAL_TOPICS,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TopicPartition,
)
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

#: The first versions that tell PRODUCER_FENCED from INVALID_PRODUCER_EPOCH.
FENCED_VERSION = 2
#: AddPartitionsToTxn: from here on it is a request of brokers, for many transactions.
BROKER_VERSION = 4
#: EndTxn: from here on every end bumps the epoch.
BUMP_VERSION = 5

TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
PartitionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult


# -- AddPartitionsToTxn --------------------------------------------------------------------------------------------


async def add_partitions(
    services: TransactionServices, ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
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


def _partitions(topics: Iterable[Any]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions]


async def _add(
    services: TransactionServices,
    ctx: RequestContext,
    transactional_id: str,
    producer: ProducerIdentity,
    topics: Iterable[Any],
    version: int,
) -> dict[TopicPartition, ErrorCode]:
    partitions = _partitions(topics)
    refused = _refusals(services, ctx, partitions)
    if refused:
        return refused
    try:
        await services.coordinators().transaction.add_partitions(
            transactional_id, producer, partitions, version=version
        )
    except KafkaError as error:
        return dict.fromkeys(partitions, error.code)
    return dict.fromkeys(partitions, ErrorCode.NONE)


def _refusals(
    services: TransactionServices, ctx: RequestContext, partitions: list[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """All or none: if one partition does not exist or is not for clients, the others are not attempted."""
    refused = {tp: code for tp in partitions if (code := _refusal(services, ctx, tp))}
    return {tp: refused.get(tp, ErrorCode.OPERATION_NOT_ATTEMPTED) for tp in partitions} if refused else {}


def _refusal(services: TransactionServices, ctx: RequestContext, tp: TopicPartition) -> ErrorCode:
    from_client = ctx.header.api_key == ApiKey.ADD_PARTITIONS_TO_TXN and ctx.header.api_version < BROKER_VERSION
    if from_client and tp.topic in INTERNAL_TOPICS:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE if services.metadata.partition(tp) is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def _verify(
    services: TransactionServices,
    ctx: RequestContext,
    transactional_id: str,
    producer: ProducerIdentity,
    topics: Iterable[Any],
) -> dict[TopicPartition, ErrorCode]:
    partitions = _partitions(topics)
    refused = _refusals(services, ctx, partitions)
    if refused:
        return refused
    try:
        return await services.coordinators().transaction.verify_partitions(transactional_id, producer, partitions)
    except KafkaError as error:
        return dict.fromkeys(partitions, error.code)


def _merged(codes: dict[TopicPartition, ErrorCode]) -> list[TopicResult]:
    """The answer to partitions that were refused before the coordinator saw them: each once."""
    topics: dict[str, list[PartitionResult]] = {}
    for tp, code in codes.items():
        topics.setdefault(tp.topic, []).append(PartitionResult(partition_index=tp.partition, partition_error_code=code))
    return [TopicResult(name=name, results_by_partition=results) for name, results in topics.items()]


def _results(topics: Iterable[Any], codes: dict[TopicPartition, ErrorCode]) -> list[TopicResult]:
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


# -- AddOffsetsToTxn, EndTxn ---------------------------------------------------------------------------------------


async def add_offsets(
    services: TransactionServices, ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    """The group's partition of __consumer_offsets becomes part of the transaction."""
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        partition = services.coordinators().group.runtime.partition_for(request.group_id)
        tp = TopicPartition(GROUP_METADATA_TOPIC, partition)
        await services.coordinators().transaction.add_partitions(request.transactional_id, producer, (tp,))
    except KafkaError as error:
        code = fenced_code(error.code, ctx.header.api_version >= FENCED_VERSION)
        return AddOffsetsToTxnResponse(error_code=code)
    return AddOffsetsToTxnResponse()


async def end(services: TransactionServices, ctx: RequestContext, request: EndTxnRequest) -> EndTxnResponse:
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


# -- WriteTxnMarkers -----------------------------------------------------------------------------------------------


async def write_markers(
    services: TransactionServices, ctx: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    """From other brokers' coordinators, and from administrators who abort a hanging transaction."""
    results = []
    for marker in request.markers:
        partitions = [
            TopicPartition(topic.name, partition) for topic in marker.topics for partition in topic.partition_indexes
        ]
        if not partitions:
            continue
        job = MarkerJob(
            "",
            marker.producer_id,
            marker.producer_epoch,
            marker.transaction_result,
            frozenset(partitions),
            marker.coordinator_epoch,
            getattr(marker, "transaction_version", 0),
        )
        if marker.producer_id == NO_PRODUCER_ID or marker.producer_epoch == NO_PRODUCER_EPOCH:
            codes = {tp: _refusal(services, ctx, tp) or ErrorCode.UNKNOWN_SERVER_ERROR for tp in partitions}
        else:
            codes = await services.coordinators().markers.write_all(job, partitions)
        results.append(
            WriteTxnMarkersResponse.WritableTxnMarkerResult(
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
        )
    return WriteTxnMarkersResponse(markers=results)
