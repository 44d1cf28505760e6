"""Transactions and their producers: list, describe, and end what somebody has left hanging.

Two sides know of a transaction: its coordinator (state, time-out, partitions) and the leaders of the partitions that it
writes to (producer, first offset). They agree, unless something went wrong: a transaction that a leader holds open and
no coordinator knows of hangs for ever, and keeps `read_committed` readers waiting. `abort_transaction` ends such a one
at the leader; `fence_producers` is the way to end one that has a coordinator.

    EMPTY → ONGOING → PREPARE_COMMIT → COMPLETE_COMMIT → ONGOING ...
                    └→ PREPARE_ABORT  → COMPLETE_ABORT  ┘

Fencing works by epochs: the coordinator gives the transactional id a higher one, and brokers refuse what producers of
lower ones write. Whoever was fenced gets INVALID_PRODUCER_EPOCH or PRODUCER_FENCED with its next request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import BROKER, LEADER, TRANSACTION, At, Route, ToCoordinator
from tidelog.client.admin.shapes import by_topic, entries, items, or_none
from tidelog.client.admin.words import TextWord
from tidelog.client.cluster.client import CoordinatorType
from tidelog.common.errors import ErrorCode
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages

#: A transaction that is ending must be over before its id can be fenced.
_FENCING = ToCoordinator(CoordinatorType.TRANSACTION, ErrorCode.CONCURRENT_TRANSACTIONS)
#: The id is not going to be used again: any time-out that every broker allows.
_FENCE_TIMEOUT_MS = 1_000
#: The newest InitProducerId without two-phase commit.
_LAST_INIT = 5


class TransactionState(TextWord):
    """Where a transaction is. Prepare…: the decision is durable, and its markers are being written."""

    UNKNOWN = "Unknown"
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


class TransactionListing(NamedTuple):
    """A row of the list of transactions."""

    transactional_id: str
    producer_id: int
    state: TransactionState


class TransactionDescription(NamedTuple):
    """What the coordinator knows of a transactional id. `start_ms` is None where no transaction is open."""

    coordinator: int | None
    state: TransactionState
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    partitions: frozenset[TopicPartition]


class ProducerState(NamedTuple):
    """A producer that has written to a partition. `transaction_start_offset` is None where it has no transaction open
    there.
    """

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    transaction_start_offset: int | None


class ProducerEpoch(NamedTuple):
    """A producer id and its epoch: those of older epochs are refused."""

    producer_id: int
    epoch: int


class TransactionAdmin(AdminBase):
    """The part of the Admin that is about transactions."""

    async def list_transactions(
        self,
        *,
        states: Iterable[TransactionState | str] = (),
        producer_ids: Iterable[int] = (),
        longer_than_ms: int = -1,
        id_pattern: str | None = None,
        timeout: float | None = None,
    ) -> list[TransactionListing]:
        """The transactions that all coordinators know of (Kafka 3.0 on): in these states, of these producers, running
        for longer (3.8 on), with an id that matches (RE2, 4.1 on).

        PartialError if some broker does not answer: `found` of it has the transactions of the others.
        """
        request = messages.ListTransactionsRequest(
            state_filters=list(map(str, items(states))),
            producer_id_filters=items(producer_ids),
            duration_filter=longer_than_ms,
            transactional_id_pattern=id_pattern,
        )

        def read(response: Any) -> list[TransactionListing]:
            check(response.error_code, about="listing transactions")
            return [
                TransactionListing(each.transactional_id, each.producer_id, TransactionState(each.transaction_state))
                for each in response.transaction_states
            ]

        return await self._call(timeout).every_broker("listing transactions", request, read)

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, TransactionDescription]:
        """What the coordinators know of these ids (Kafka 3.0 on)."""
        call = self._call(timeout)

        def ask(keys: list[str]) -> messages.DescribeTransactionsRequest:
            return messages.DescribeTransactionsRequest(transactional_ids=keys)

        def read(response: Any, keys: list[str]) -> Answers[str, TransactionDescription]:
            for each in response.transaction_states:
                node = call.cluster.known_coordinator(CoordinatorType.TRANSACTION, each.transactional_id)
                found = TransactionDescription(
                    None if node is None else node.id,
                    TransactionState(each.transaction_state),
                    each.producer_id,
                    each.producer_epoch,
                    each.transaction_timeout_ms,
                    or_none(each.transaction_start_time_ms, -1),
                    frozenset(TopicPartition(topic.topic, n) for topic in each.topics for n in topic.partitions),
                )
                yield each.transactional_id, outcome(found, each.error_code, about=each.transactional_id)

        return await call.each(transactional_ids, TRANSACTION, ask, read)

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], *, broker: int | None = None, timeout: float | None = None
    ) -> Outcomes[TopicPartition, list[ProducerState]]:
        """The producers that have written to each partition lately (Kafka 3.0 on), as its leader knows them, or the
        replica on a certain broker.
        """

        def ask(keys: list[TopicPartition]) -> messages.DescribeProducersRequest:
            Topic = messages.DescribeProducersRequest.TopicRequest
            topics = [Topic(name=name, partition_indexes=numbers) for name, numbers in by_topic(keys).items()]
            return messages.DescribeProducersRequest(topics=topics)

        def read(response: Any, keys: list[TopicPartition]) -> Answers[TopicPartition, list[ProducerState]]:
            for tp, each in entries(response.topics):
                found = [_producer(state) for state in each.active_producers]
                yield tp, outcome(found, each.error_code, each.error_message, tp)

        route: Route[TopicPartition] = LEADER if broker is None else At(BROKER, broker)
        return await self._call(timeout).each(partitions, route, ask, read)

    async def abort_transaction(
        self,
        partition: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int = 0,
        *,
        timeout: float | None = None,
    ) -> None:
        """Write an abort marker to one partition: ends a transaction there that no coordinator will ever end.
        `describe_producers` tells the numbers (a coordinator epoch of None is 0 here).

        For hanging transactions only: if its coordinator commits the transaction later, it is aborted here and
        committed elsewhere.
        """
        topic = messages.WriteTxnMarkersRequest.WritableTxnMarkerTopic(
            name=partition.topic, partition_indexes=[partition.partition]
        )
        marker = messages.WriteTxnMarkersRequest.WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction_result=False,
            topics=[topic],
            coordinator_epoch=coordinator_epoch,
        )

        def read(response: Any, keys: list[TopicPartition]) -> Answers[TopicPartition, None]:
            for each in response.markers:
                for tp, entry in entries(each.topics):
                    yield tp, outcome(None, entry.error_code, about=tp)

        request = messages.WriteTxnMarkersRequest(markers=[marker])
        (await self._call(timeout).each([partition], LEADER, lambda _: request, read)).result()

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, ProducerEpoch]:
        """Abort whatever these ids have open, and keep their producers from writing on. The outcome has the first
        epoch that is not refused.
        """

        def ask(keys: list[str]) -> messages.InitProducerIdRequest:
            return messages.InitProducerIdRequest(transactional_id=keys[0], transaction_timeout_ms=_FENCE_TIMEOUT_MS)

        def read(response: Any, keys: list[str]) -> Answers[str, ProducerEpoch]:
            found = ProducerEpoch(response.producer_id, response.producer_epoch)
            return [(keys[0], outcome(found, response.error_code, about=keys[0]))]

        return await self._call(timeout).each(transactional_ids, _FENCING, ask, read, alone=True, highest=_LAST_INIT)

    async def force_terminate_transaction(self, transactional_id: str, *, timeout: float | None = None) -> None:
        """End the transaction of one id, whoever runs it: `fence_producers` of one."""
        (await self.fence_producers([transactional_id], timeout=timeout)).result()


def _producer(found: Any) -> ProducerState:
    """From an answer, where -1 stands for what there is not."""
    return ProducerState(
        found.producer_id,
        found.producer_epoch,
        found.last_sequence,
        found.last_timestamp,
        or_none(found.coordinator_epoch, -1),
        or_none(found.current_txn_start_offset, -1),
    )
