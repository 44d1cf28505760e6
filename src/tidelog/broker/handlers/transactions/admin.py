"""DescribeTransactions (version 0) and ListTransactions (versions 0 to 2): transactions as an administrator sees them
(KIP-664).

Both speak of the coordinator's state; what is in the logs is told by DescribeProducers, and a difference between the
two is what makes a transaction hang. A broker lists the ids that it coordinates. Filters by state and producer id came
with version 0, by duration with version 1 (KIP-994), by a pattern of the id with version 2 (KIP-1152).
"""

from __future__ import annotations

from tidelog.broker.coordinator.group.consumer.regex import compile_regex
from tidelog.broker.coordinator.transaction.metadata import Transaction
from tidelog.broker.coordinator.transaction.states import STATE_BY_NAME
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.transactions.services import TransactionServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

Described = DescribeTransactionsResponse.TransactionState


async def describe(
    services: TransactionServices, ctx: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    """Id by id: TRANSACTIONAL_ID_NOT_FOUND for one that nobody uses, NOT_COORDINATOR for another broker's."""
    states = []
    for transactional_id in request.transactional_ids:
        try:
            states.append(_described(await _find(services, transactional_id)))
        except KafkaError as error:
            states.append(Described(transactional_id=transactional_id, error_code=error.code))
    return DescribeTransactionsResponse(transaction_states=states)


async def _find(services: TransactionServices, transactional_id: str) -> Transaction:
    """The transaction of an id, from the shard that has it. An empty id is INVALID_REQUEST."""
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    found: Transaction = await services.coordinators().transaction.read(
        transactional_id, lambda machine: machine.describe(transactional_id)
    )
    return found


def _described(transaction: Transaction) -> Described:
    """What the coordinator knows of an id, its partitions sorted by topic."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(partition)
    return Described(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.value,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=[
            DescribeTransactionsResponse.TopicData(topic=topic, partitions=partitions)
            for topic, partitions in topics.items()
        ],
    )


async def list_transactions(
    services: TransactionServices, ctx: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    """While a shard loads the list would be wrong: COORDINATOR_LOAD_IN_PROGRESS, for the whole answer.

    State names that this broker does not know are sent back, so that a tool can say so; if it knows none of them,
    nothing is listed. A pattern that is no regular expression is INVALID_REGULAR_EXPRESSION.
    """
    runtime = services.coordinators().transaction.runtime
    if runtime.loading:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    states = {STATE_BY_NAME[name] for name in request.state_filters if name in STATE_BY_NAME}
    unknown = [name for name in request.state_filters if name not in STATE_BY_NAME]
    if request.state_filters and not states:
        return ListTransactionsResponse(unknown_state_filters=unknown)
    try:
        pattern = compile_regex(request.transactional_id_pattern) if request.transactional_id_pattern else None
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code)
    found = []
    for shard in runtime.active_shards():
        for transaction in shard.machine.list(
            request.producer_id_filters,
            states,
            request.duration_filter,
            None if pattern is None else lambda name: pattern.fullmatch(name) is not None,
        ):
            found.append(
                ListTransactionsResponse.TransactionState(
                    transactional_id=transaction.transactional_id,
                    producer_id=transaction.producer_id,
                    transaction_state=transaction.state.value,
                )
            )
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=found)
