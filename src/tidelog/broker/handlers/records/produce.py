"""Produce, versions 0 to 13: append records to partitions.

The common kind of request never gets here (`_produce.pyx`). What does: compressed batches, old message sets,
what begins a transaction, acks that must wait for other replicas, and everything that is wrong.

Each partition succeeds or fails by itself. Long work (unpacking, packing anew, converting) is done on a thread; the
connection's next request waits, so the order of a producer's batches stays. With acks=0 there is no answer: an
error closes the connection, which is all that such a producer can notice.
"""

from __future__ import annotations

from typing import Any

from tidelog.broker.coordinator.transaction.coordinator import IMPLICIT_ADD_PRODUCE_VERSION
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.records.leaders import leader_hint
from tidelog.broker.handlers.records.preparation import fit, prepare_at_once, prepare_on_thread
from tidelog.broker.handlers.records.records_field import MisshapenRecords, is_transactional, one_batch
from tidelog.broker.handlers.records.refusals import UnverifiedError, close_unanswered, foreseen, reasons
from tidelog.broker.handlers.records.services import RecordServices
from tidelog.broker.handlers.records.versions import Produce
from tidelog.broker.replication.partition import Partition
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.log.producers.verification import VerificationGuard
from tidelog.protocol.messages import ProduceRequest, ProduceResponse
from tidelog.records.kernel._batches import BatchRun

TopicResponse = ProduceResponse.TopicProduceResponse
PartitionResponse = ProduceResponse.PartitionProduceResponse
RecordError = ProduceResponse.BatchIndexAndErrorMessage

#: How often a coordinator is asked when markers of earlier transactions come between its answer and the append.
VERIFICATIONS = 3
ADMIN_CLIENT_ID = "__admin_client"


async def handle(services: RecordServices, ctx: RequestContext, request: ProduceRequest) -> ProduceResponse | None:
    """Append each partition's records, wait for the replicas if acks=-1 asks for it, answer.

    Partitions are appended one after the other, in the order of the request, and each has an error of its own. Only
    then is waited for followers, once for all of them: what is in the log stays there if they do not come in time, and
    the producer is told REQUEST_TIMED_OUT of those partitions. An idempotent producer may then send the same batch
    again; it is recognized by its sequence and answered with the offsets of the first time.

    A transactional batch without a transactional id in the request is refused as a whole: Kafka checks the right to use
    the id first, and a missing one is nobody's to use.
    """
    if request.transactional_id is None and _has_transactional(request):
        return _refuse_all(services, ctx, request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    by_id = ctx.header.api_version >= Produce.TOPIC_IDS
    response = ProduceResponse(responses=[])
    waiting: dict[TopicPartition, tuple[Partition, int]] = {}
    answers: dict[TopicPartition, PartitionResponse] = {}
    for topic in request.topic_data:
        answer = TopicResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=[])
        if topic.partition_data:
            response.responses.append(answer)
        for part in topic.partition_data:
            # Looked up for each: while the one before was appended, a topic of the same name may have taken its place.
            name = services.metadata.topic_name(topic.topic_id) if by_id else topic.name
            tp = TopicPartition(name or "", part.index)
            try:
                if name is None:
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
                result = await _append(services, ctx, request, tp, part.records, waiting)
            except Exception as error:  # noqa: BLE001  # one partition's failure is not that of the others
                result = _failure(services, tp, foreseen(error, tp))
            answers[tp] = result
            answer.partition_responses.append(result)
    if request.acks == -1 and waiting:
        codes = await services.replicas.appends.commit_codes(waiting, request.timeout_ms)
        for tp, code in codes.items():
            if code:
                answers[tp].error_code = code
    return _finish(services, ctx, request, response, answers)


def _has_transactional(request: ProduceRequest) -> bool:
    """Whether any batch of the request belongs to a transaction, by the bit in its attributes."""
    return any(is_transactional(part.records) for topic in request.topic_data for part in topic.partition_data)


def _refuse_all(
    services: RecordServices, ctx: RequestContext, request: ProduceRequest, code: ErrorCode
) -> ProduceResponse | None:
    """The same error for every partition, before any of them was looked up."""
    response = ProduceResponse(responses=[])
    answers: dict[TopicPartition, PartitionResponse] = {}
    for topic in request.topic_data:
        parts = [PartitionResponse(index=part.index, error_code=code, base_offset=-1) for part in topic.partition_data]
        response.responses.append(TopicResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=parts))
        answers.update({TopicPartition(topic.name, part.index): part for part in parts})
    return _finish(services, ctx, request, response, answers)


async def _append(
    services: RecordServices,
    ctx: RequestContext,
    request: ProduceRequest,
    tp: TopicPartition,
    records: Any,
    waiting: dict[TopicPartition, tuple[Partition, int]],
) -> PartitionResponse:
    """One partition's records into its log; notes in `waiting` what acks=-1 has to wait for.

    The order of the checks is Kafka's, as a request may be wrong in several ways and producers treat codes differently:
    acks, the shape of the records, who leads, internal topics, enough in-sync replicas, and last the records
    themselves. Between checking and appending the coordinator may be asked, and the loop runs: `fit` makes sure that
    what was prepared still fits the log's end.
    """
    version = ctx.header.api_version
    if request.acks not in (-1, 0, 1):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    records = one_batch(records, version, tp)
    partition = services.replicas.leader_or_error(tp)
    if isinstance(partition, ErrorCode):
        raise KafkaError(partition)
    if tp.topic in INTERNAL_TOPICS and ctx.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {tp.topic}")
    if request.acks == -1:
        partition.require_min_isr()
    if not records:
        return PartitionResponse(
            index=tp.partition, base_offset=-1, log_append_time_ms=-1, log_start_offset=partition.log.log_start_offset
        )
    at_once = prepare_at_once(partition, records, version)
    validated = at_once or await prepare_on_thread(services.workers, partition, records, version)
    guard = None
    if is_transactional(records):
        guard = await _verify(services, ctx, request, tp, partition, validated.run)
    if not partition.still_fits(validated):
        validated = await fit(services.workers, partition, records, version, validated)
    info = partition.append_checked(validated.run, verification=guard)
    await services.replicas.appends.written(partition, info)
    waiting[tp] = (partition, info.last_offset + 1)
    return PartitionResponse(
        index=tp.partition,
        base_offset=info.first_offset,
        log_append_time_ms=info.log_append_time,
        log_start_offset=info.log_start_offset,
    )


async def _verify(
    services: RecordServices,
    ctx: RequestContext,
    request: ProduceRequest,
    tp: TopicPartition,
    partition: Partition,
    run: BatchRun,
) -> VerificationGuard | None:
    """A transactional batch that begins a transaction here must belong to one that its coordinator knows (KIP-890).

    Without that a batch that was delayed on the way could open a transaction that nobody will ever end, and hold up the
    last stable offset for good. The log hands out a guard before the coordinator is asked; a marker that arrives in
    between takes it away, and the append would be refused. Later batches of the same transaction need no question: the
    log knows that it is open. From version 12 on the question also adds the partition to the transaction.
    """
    header = run.header(0)
    if not header.is_transactional:
        return None
    log, version = partition.log, ctx.header.api_version
    for _ in range(VERIFICATIONS):
        guard = log.start_verification(header.producer_id, header.base_sequence, header.producer_epoch)
        asks = version >= IMPLICIT_ADD_PRODUCE_VERSION or log.verifications.required
        if guard is None or request.transactional_id is None or not asks:
            return guard
        code = await services.transactions().verify(
            request.transactional_id, header.producer_id, header.producer_epoch, tp, produce_version=version
        )
        if code:
            raise UnverifiedError(code)
        if log.verifications.accepts(header.producer_id, guard):
            break
        # A marker came meanwhile and took the guard with it: of the transaction before, for whose end the coordinator
        # has let this one wait. Only an answer that no marker follows tells that the transaction is open: ask again.
    return guard


def _failure(services: RecordServices, tp: TopicPartition, error: KafkaError) -> PartitionResponse:
    """The answer to a partition that was refused. It tells the log's start where Kafka tells it: not for what was
    refused before a log was looked up. Single records that are wrong are listed from version 8 on (KIP-467).
    """
    partition = services.replicas.partition(tp)
    record_errors, message = reasons(error)
    return PartitionResponse(
        index=tp.partition,
        error_code=error.code,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1
        if partition is None or isinstance(error, (MisshapenRecords, UnverifiedError))
        else partition.log_start_for_error(error.code),
        record_errors=[RecordError(batch_index=index, batch_index_error_message=text) for index, text in record_errors],
        error_message=message,
    )


def _finish(
    services: RecordServices,
    ctx: RequestContext,
    request: ProduceRequest,
    response: ProduceResponse,
    answers: dict[TopicPartition, PartitionResponse],
) -> ProduceResponse | None:
    """The answer, or none: with acks=0 a failure closes the connection, which is all that such a producer can notice.

    It then asks for metadata again, and sends to the right leader: without that it would write into the void for ever.
    """
    failed = {tp: answer for tp, answer in answers.items() if answer.error_code}
    if request.acks == 0:
        if failed:
            tp, answer = next(iter(failed.items()))
            close_unanswered(ctx.connection, tp, answer.error_code)
        return None
    if ctx.header.api_version >= Produce.LEADER_HINTS:
        for tp, answer in failed.items():
            if answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                leader_hint(
                    services, ctx, tp, answer.current_leader, response.node_endpoints, ProduceResponse.NodeEndpoint
                )
    return response
