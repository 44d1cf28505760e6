"""Transactions as their coordinators see them: begin one, add to it, end it, find those that others left open.

Each function is one exchange with the coordinator of a transactional id, with retries; what only looks, or fences
others, is the Admin's. A transaction may be ended by whoever knows its id, producer id and epoch: the process that
wrote the records need not be the one that decides about them.

The protocol has two generations. In the first (Kafka 0.11 to 3.x) a producer's epoch stays the same over many
transactions; in the second (KIP-890, Kafka 4.0) it rises with every one, and only the producer that ended a transaction
learns its next epoch. A transaction that is ended by somebody else needs the first: the versions that are asked for
here stop before the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelog.client.cluster.client import ClusterClient, CoordinatorType
from tidelog.client.producer.transaction_manager import OpenTransaction
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_TIMESTAMP, TopicPartition
from tidelog.protocol.messages import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest

if TYPE_CHECKING:
    from tidelog.client.admin.aio import Admin
    from tidelog.client.admin.transactions import TransactionListing

# The newest versions of the protocol before KIP-890's second part: the epoch stays the same until the next init.
_LAST_INIT, _LAST_ADD, _LAST_END = 5, 3, 4
#: States in which a transaction holds back the readers of its partitions.
# A coordinator's names for the states of a transaction. Prepare… says that the decision is durable and its markers are
# being written, Complete… that they are.
ONGOING = "Ongoing"
COMPLETE_COMMIT = "CompleteCommit"
COMPLETE_ABORT = "CompleteAbort"
PREPARE_COMMIT = "PrepareCommit"


class DescribedTransaction(NamedTuple):
    """What the coordinator knows of a transactional id, whether or not a transaction of it is open."""

    transactional_id: str
    producer_id: int
    epoch: int
    state: str
    timeout_ms: int
    start_ms: int
    partitions: tuple[TopicPartition, ...]


async def init_producer_id(cluster: ClusterClient, transactional_id: str | None, timeout_ms: int) -> tuple[int, int]:
    """A producer id and epoch. For a transactional id: fences its older producers, aborts what they left open."""
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)
    if transactional_id is None:

        async def ask_any() -> tuple[int, int]:
            response = await (await cluster.any_node()).send(request, highest=_LAST_INIT)
            if response.error_code:
                raise KafkaError(response.error_code)
            return response.producer_id, response.producer_epoch

        return await cluster.retry(ask_any)
    response = await cluster.ask_coordinator(CoordinatorType.TRANSACTION, transactional_id, request, highest=_LAST_INIT)
    return response.producer_id, response.producer_epoch


async def add_partitions(
    cluster: ClusterClient, transaction: OpenTransaction, partitions: Iterable[TopicPartition]
) -> None:
    """Tell the coordinator which partitions the transaction is going to write to."""
    by_topic: dict[str, list[int]] = {}
    for tp in partitions:
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transaction.transactional_id,
        v3_and_below_producer_id=transaction.producer_id,
        v3_and_below_producer_epoch=transaction.epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name, partitions=numbers)
            for name, numbers in by_topic.items()
        ],
    )

    def first_error(response: object) -> int:
        topics = response.results_by_topic_v3_and_below  # type: ignore[attr-defined]  # a message
        codes = [int(entry.partition_error_code) for topic in topics for entry in topic.results_by_partition]
        blamed = (code for code in codes if code and code != ErrorCode.OPERATION_NOT_ATTEMPTED)
        return next(blamed, codes[0] if codes else int(ErrorCode.UNKNOWN_SERVER_ERROR))

    kind = CoordinatorType.TRANSACTION
    await cluster.ask_coordinator(kind, transaction.transactional_id, request, highest=_LAST_ADD, error_of=first_error)


async def end_transaction(cluster: ClusterClient, transaction: OpenTransaction, *, committed: bool) -> None:
    """Commit or abort. Repeating what was done before is no error."""
    request = EndTxnRequest(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        committed=committed,
    )
    kind = CoordinatorType.TRANSACTION
    await cluster.ask_coordinator(kind, transaction.transactional_id, request, highest=_LAST_END)


async def fence(cluster: ClusterClient, transactional_id: str) -> None:
    """Abort whatever the id has open, and keep its producers from writing on."""
    (await _admin(cluster).fence_producers([transactional_id])).result()


async def list_transactions(
    cluster: ClusterClient, *, prefix: str = "", states: Iterable[str] = ()
) -> list[TransactionListing]:
    """The transactions of all coordinators, by the prefix of their id and by state.

    Each broker goes through all ids that it remembers (seven days of them): not for every day.
    """
    found = await _admin(cluster).list_transactions(states=states)
    return [each for each in found if each.transactional_id.startswith(prefix)]


async def describe_transaction(cluster: ClusterClient, transactional_id: str) -> DescribedTransaction:
    """What the coordinator knows of the id; KafkaError TRANSACTIONAL_ID_NOT_FOUND if nothing."""
    found = (await _admin(cluster).describe_transactions([transactional_id])).of(transactional_id)
    return DescribedTransaction(
        transactional_id,
        found.producer_id,
        found.producer_epoch,
        str(found.state),
        found.timeout_ms,
        NO_TIMESTAMP if found.start_ms is None else found.start_ms,
        tuple(sorted(found.partitions)),
    )


def _admin(cluster: ClusterClient) -> Admin:
    """The Admin over these connections; imported with its first use, for whoever only writes."""
    from tidelog.client.admin.aio import Admin

    return Admin.over(cluster)
