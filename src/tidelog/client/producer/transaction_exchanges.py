"""Transactions: the exchanges with coordinators behind `init`, `begin`, `commit`, `abort` and offsets in a transaction.

What is allowed when is `TransactionManager`'s; what is sent to whom is here. There are two protocols, and the cluster
says which (its feature `transaction.version`; KIP-890):

    first    A partition is added by the producer (AddPartitionsToTxn) before its first batch, a group by
             AddOffsetsToTxn. The epoch stays the same over many transactions. A transaction that lost a batch leaves
             sequence numbers that nobody can rely on: after its abort the coordinator is asked for a new epoch.
    second   A Produce adds its partition by itself, a TxnOffsetCommit its group. Every end gives a new epoch, so that
             what was late in one transaction cannot slip into the next, and sequence numbers start at 0 again.

The producer id and epoch are always what a coordinator has answered; nothing is guessed.

Why epochs: a transactional id outlives processes. When a new process asks for an id under it, the coordinator raises
the epoch; whoever still writes with the older one is refused everywhere (fenced), and what it left open is aborted. So
two processes that both believe to be "billing-1" cannot both write, however long one of them was asleep.

What a failure means:

- A batch that is lost, a partition or a group that cannot be added: the transaction can only be aborted. Nothing more
  of it is sent; futures of what was not sent fail with the reason, and every call but `abort` raises it.
- Fenced, not authorized, or a coordinator that sees another state than we do: the producer is of no more use.
- A time-out of the end itself: nobody knows whether it was decided. The same call may be made again, for the
  coordinator recognises a repeated end; the opposite one is refused here, as it could contradict what was decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidelog.client.cluster.client import ClusterClient, CoordinatorType
from tidelog.client.producer._partition_batches import PartitionBatches
from tidelog.client.producer.produce_requests import LAST_BY_NAME, LAST_EXPLICIT
from tidelog.client.producer.recovery import Recovery
from tidelog.client.producer.sender import Sender
from tidelog.client.producer.transaction_manager import FATAL, OpenTransaction, State, TransactionManager
from tidelog.client.transaction_requests import add_partitions, end_transaction
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata, position_of
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import (
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

_FEATURE = "transaction.version"
_SECOND = 2
# The newest versions that every broker knows before the second protocol, and the first of the second.
_LAST_INIT, _LAST_OFFSETS, _END, _OFFSETS = 5, 4, 5, 5


class Transactions:
    """One producer's transactions, and its id, which an idempotent producer without transactions has, too."""

    def __init__(
        self,
        cluster: ClusterClient,
        manager: TransactionManager,
        recovery: Recovery,
        *,
        timeout_ms: int,
        idempotent: bool,
        second: bool | None = None,
    ) -> None:
        """`second` settles which protocol is used; None: as the cluster says."""
        self.manager = manager
        self.second = False
        self.idempotent = idempotent
        self.sender: Sender | None = None
        #: Called when what is allowed has changed.
        self.changed: Callable[[], None] = lambda: None
        self._forced = second
        self._cluster = cluster
        self._recovery = recovery
        self._timeout_ms = timeout_ms
        #: Partitions that are to be added, and those that the coordinator is being told of.
        self._adding: set[PartitionBatches] = set()
        self._told: set[PartitionBatches] = set()
        self._addition: asyncio.Task[None] | None = None
        self._renewing = False
        self._groups: set[str] = set()
        #: The coordinator was asked to add something; whether it has heard of it nobody knows before it answers.
        self._perhaps_told = False
        #: The transaction has ended, and its sequence numbers may be gone: the next epoch is still to be asked for.
        self._renumbering = False

    @property
    def ready(self) -> bool:
        """Whether batches may leave at all: without idempotence always, else when the producer has an id."""
        return not self.idempotent or self.manager.producer_id >= 0

    @property
    def producer_id(self) -> int:
        return self.manager.producer_id

    @property
    def epoch(self) -> int:
        return self.manager.epoch

    @property
    def is_transactional(self) -> bool:
        return self.manager.transactional_id is not None

    # --- the producer id ----------------------------------------------------------------------------------------------

    async def init(self) -> None:
        """Get an id and an epoch; fences older producers of the transactional id and aborts what they left open."""
        self._check_transactional()
        self.manager.check_not_failed()  # one that is fenced must not fence the one that took over
        # -1 asks as somebody new: the coordinator raises the epoch, whoever had the id before.
        await self._identify(-1, -1)
        # Which protocol: as the coordinator told when it was connected to. It may be upgraded later; a producer that
        # began with the first goes on with it, which every broker serves.
        node = await self._cluster.coordinator(CoordinatorType.TRANSACTION, str(self.manager.transactional_id))
        offered = node.features.get(_FEATURE, 0) >= _SECOND
        self.second = offered if self._forced is None else self._forced
        assert self.sender is not None
        self.sender.highest = LAST_BY_NAME if self.second else LAST_EXPLICIT

    def _check_transactional(self) -> None:
        if not self.is_transactional:
            raise UsageError("transactions need a transactional.id")

    async def _identify(self, producer_id: int, epoch: int) -> None:
        """Ask for an id, or for the next epoch of the one that we have."""
        request = InitProducerIdRequest(
            transactional_id=self.manager.transactional_id,
            transaction_timeout_ms=self._timeout_ms if self.is_transactional else 0x7FFFFFFF,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        if self.manager.transactional_id is not None:
            key, kind = self.manager.transactional_id, CoordinatorType.TRANSACTION
            with self.manager.fencing():
                answer = await self._cluster.ask_coordinator(kind, key, request, highest=_LAST_INIT)
        else:
            answer = await self._cluster.retry(lambda: self._ask_any(request))
        self._became(answer.producer_id, answer.producer_epoch)

    async def _ask_any(self, request: InitProducerIdRequest) -> Any:
        answer = await (await self._cluster.any_node()).send(request, highest=_LAST_INIT)
        if answer.error_code:
            raise KafkaError(answer.error_code)
        return answer

    def _became(self, producer_id: int, epoch: int) -> None:
        """Go on under this id and epoch, which have written nothing."""
        self.manager.initialized(producer_id, epoch)
        assert self.sender is not None
        self._recovery.renewed(list(self.sender.readiness.queues()))

    def attend(self) -> None:
        """In a turn of the sender: see to a producer id where one is needed and nothing stands against it."""
        assert self.sender is not None
        if self.is_transactional or not self.idempotent or self._renewing:
            return
        # A new id may be asked for once nothing is under way, and nothing is in doubt any more: see `recovery`.
        wanted = self._recovery.wanted is not None and not self.sender.in_flight and not self._doubts()
        if wanted or (self.manager.producer_id < 0 and self.sender.pending):
            self._renewing = True
            self.sender.start(self._renew())

    def _doubts(self) -> bool:
        """Whether some batch must still be settled under the present id."""
        assert self.sender is not None
        return any(
            batch.in_doubt for queue in self.sender.readiness.queues() for batch in [*queue.waiting, *queue.returned]
        )

    async def _renew(self) -> None:
        """Get an id, or another one. While no broker can be reached this is tried again with the next turn; batches
        have until `delivery.timeout.ms`. What no broker will ever grant is the end of the producer.
        """
        assert self.sender is not None
        try:
            await self._identify(-1, -1)
        except KafkaError as error:
            if not error.retriable:
                self.manager.die(error)
                self.sender.fail_all(error)
                return
        finally:
            self._renewing = False
        self.sender.look_anew()

    # --- transactions -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Nobody hears of it: the coordinator does with the first partition that is written to."""
        self._check_transactional()
        self.manager.begin()
        self._groups.clear()
        self._perhaps_told = False

    def admits(self, queue: PartitionBatches) -> bool:
        """Whether the transaction may write to the partition now. In the first protocol the coordinator must know of
        it: only partitions that it knows of get a marker, and one without would hold back its readers for ever.
        """
        if not self.is_transactional or queue.in_transaction:
            return True
        if self.manager.state in (State.ABORTABLE_ERROR, State.ABORTING, State.FATAL_ERROR):
            return False
        if self.second:
            self._joined([queue])
            return True
        assert self.sender is not None
        if queue not in self._told:
            self._adding.add(queue)
        if self._addition is None:
            self._addition = self.sender.start(self._add())
        return False

    async def _add(self) -> None:
        """Tell the coordinator of all partitions that wait to be added, as long as there are any."""
        assert self.sender is not None
        try:
            while self._adding and self.manager.state in (State.IN_TRANSACTION, State.COMMITTING):
                queues, self._adding = self._adding, set()
                self._told = queues
                partitions = [queue.topic_partition for queue in queues]
                self._perhaps_told = True
                with self.manager.fencing():
                    await add_partitions(self._cluster, self.manager.transaction, partitions)
                self._joined(queues)
                for queue in queues:
                    self.sender.readiness.mark(queue)
                self.sender.turn()
        except KafkaError as error:
            self.failed(error)
        finally:
            self._adding.clear()
            self._told = set()
            self._addition = None

    # The partitions of a transaction are those that get a marker at its end. `in_transaction` says the same of a deque,
    # so that the sender need not look into a set for each batch.

    def _joined(self, queues: Iterable[PartitionBatches]) -> None:
        for queue in queues:
            queue.in_transaction = True
            self.manager.partitions.add(queue.topic_partition)

    async def commit(self) -> None:
        """Flush, then let the coordinator commit. A batch that was lost makes it impossible: then abort."""
        assert self.sender is not None
        self.manager.committing()
        self.changed()
        await self.sender.flush()
        self.manager.check_not_failed()
        await self._end(committed=True)

    async def abort(self) -> None:
        """Drop what was not sent yet, wait for what is under way, and let the coordinator abort. Arriving after the
        abort, a request of the first protocol would open a transaction anew: also one whose batches were given up.
        """
        assert self.sender is not None
        self.manager.aborting()
        self.changed()
        dropped = KafkaError(ErrorCode.TRANSACTION_ABORTABLE, "the transaction was aborted before the record was sent")
        self._recovery.abandoning = True
        self._drop_unsent(dropped, intended=True)
        self.sender.turn()
        for batch in list(self.sender.pending):
            await batch.finished()
        if not self.second:
            await self.sender.silence()
        self._recovery.abandoning = False
        await self._end(committed=False)

    async def detach(self) -> OpenTransaction:
        """Flush, and leave the open transaction to whoever gets the result. In the second protocol only the producer
        that ends a transaction learns its next epoch: one that somebody else is to end is of the first.
        """
        assert self.sender is not None
        self._check_transactional()
        if self.second:
            raise UsageError("a transaction of the second protocol can only be ended by the producer that began it")
        self.manager.committing()  # nothing more is written
        self.changed()
        await self.sender.flush()
        return self.manager.detach()

    async def _end(self, *, committed: bool) -> None:
        """Ask the coordinator to end the transaction. One that wrote nothing was never told to it, and ends here; a
        question that is still under way may be what tells it.
        """
        manager = self.manager
        if self._addition is not None:
            await asyncio.wait([self._addition])
        told = bool(manager.partitions or self._groups)
        lost = manager.failure is not None or not committed
        try:
            with manager.fencing():
                if told and self.second:
                    answer = await self._end_second(committed=committed)
                elif not self._renumbering:
                    await self._end_first(committed=committed, told=told)
                    self._renumbering = lost
                # A new epoch begins at 0. It is asked for by the old one, so that an answer that was lost (or not
                # waited for) comes again; only then is the transaction over.
                if self._renumbering:
                    await self._identify(manager.producer_id, manager.epoch)
                    self._renumbering = False
        except KafkaError as error:
            if not error.retriable:  # else nobody knows whether it has ended: the same may be asked for again
                self.failed(error)
            raise
        manager.ended(committed=committed)
        assert self.sender is not None
        for queue in self.sender.readiness.queues():
            queue.in_transaction = False
        if told and self.second:
            self._became(answer.producer_id, answer.producer_epoch)

    async def _end_first(self, *, committed: bool, told: bool) -> None:
        """The end by the first protocol, if the coordinator knows of the transaction, or may."""
        if not told and not self._perhaps_told:
            return
        try:
            await end_transaction(self._cluster, self.manager.transaction, committed=committed)
        except KafkaError as error:
            if told or error.code is not ErrorCode.INVALID_TXN_STATE:
                raise
            # It has never heard of this transaction: there is nothing to end.

    async def _end_second(self, *, committed: bool) -> Any:
        """The answer has the id and epoch of the next transaction; a repeated end gets the same ones."""
        manager = self.manager
        request = EndTxnRequest(
            transactional_id=str(manager.transactional_id),
            producer_id=manager.producer_id,
            producer_epoch=manager.epoch,
            committed=committed,
        )
        key, kind = str(manager.transactional_id), CoordinatorType.TRANSACTION
        return await self._cluster.ask_coordinator(kind, key, request, highest=_END)

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: ConsumerGroupMetadata
    ) -> None:
        """Commit a group's offsets with the transaction: they count when it commits, and not at all otherwise."""
        manager = self.manager
        manager.check_may_send()
        positions = {tp: position_of(given) for tp, given in offsets.items()}
        if not positions:
            return
        try:
            with manager.fencing():
                if not self.second and group.group_id not in self._groups:
                    self._perhaps_told = True
                    await self._add_group(group.group_id)
                self._groups.add(group.group_id)
                await self._commit_offsets(positions, group)
        except KafkaError as error:
            self.failed(error)
            raise

    async def _add_group(self, group_id: str) -> None:
        """The group's coordinator is looked up first, which makes brokers create the topic that the offsets go to: one
        that has never had a group could not say which partition of it to add.
        """
        manager = self.manager
        await self._cluster.retry(lambda: self._cluster.coordinator(CoordinatorType.GROUP, group_id))
        request = AddOffsetsToTxnRequest(
            transactional_id=str(manager.transactional_id),
            producer_id=manager.producer_id,
            producer_epoch=manager.epoch,
            group_id=group_id,
        )
        await self._cluster.ask_coordinator(CoordinatorType.TRANSACTION, str(manager.transactional_id), request)

    # Offsets go to the group's coordinator, not to the transaction's: it keeps them aside until the marker comes. Who
    # the member is goes with them, so that one that lost its partitions in a rebalance cannot commit them.

    async def _commit_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        manager = self.manager
        topics: dict[str, list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition]] = {}
        for tp, position in offsets.items():
            entry = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                partition_index=tp.partition,
                committed_offset=position.offset,
                committed_leader_epoch=position.leader_epoch,
                committed_metadata=position.metadata,
            )
            topics.setdefault(tp.topic, []).append(entry)
        request = TxnOffsetCommitRequest(
            transactional_id=str(manager.transactional_id),
            group_id=group.group_id,
            producer_id=manager.producer_id,
            producer_epoch=manager.epoch,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=[
                TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=name, partitions=entries)
                for name, entries in topics.items()
            ],
        )
        await self._cluster.ask_coordinator(
            CoordinatorType.GROUP,
            group.group_id,
            request,
            highest=_OFFSETS if self.second else _LAST_OFFSETS,
            error_of=_first_error,
        )

    def failed(self, error: KafkaError) -> None:
        """The transaction cannot be committed any more, or the producer is of no more use."""
        if error.code in FATAL or not self.is_transactional:
            self.manager.die(error)
        else:
            self.manager.fail(error)
        self.changed()
        self._drop_unsent(error)

    def _drop_unsent(self, error: KafkaError, *, intended: bool = False) -> None:
        """Nothing more of this transaction can count, so nothing more is sent, and nobody has to wait for it. What is
        under way comes back by itself.
        """
        assert self.sender is not None
        for queue in self.sender.readiness.queues():
            unsent, queue.returned = [*queue.returned, *queue.waiting], []
            for batch in unsent:
                self.sender.given_up(batch, error, intended=intended)


def _first_error(response: Any) -> int:
    """Offsets are committed together: one that fails is one too many."""
    return next((int(part.error_code) for topic in response.topics for part in topic.partitions if part.error_code), 0)
