"""The transaction coordinator's machine: one per partition of __transaction_state.

Handlers raise the KafkaError that the answer shall carry. New producer ids come from outside (`spare_id`): the caller
asks `needs_producer_id` first, because fetching a block of ids takes time that a handler must not take.

When a transaction's outcome is committed to the log, its markers are handed to `send_markers`; `complete` is called
back when every partition has its marker. A machine that loads a prepared transaction sends its markers again: a marker
twice does no harm, a missing one would block readers for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator

from tidelog.broker.coordinator.config import TransactionConfig
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.transaction.metadata import EPOCH_BUMP_VERSION, MAX_EPOCH, Transaction
from tidelog.broker.coordinator.transaction.states import TransactionState
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

logger = logging.getLogger(__name__)


class ProducerIdentity(NamedTuple):
    """What InitProducerId and EndTxn give back."""

    producer_id: int
    epoch: int


class MarkerJob(NamedTuple):
    """The markers that one ended transaction still needs. `coordinator_epoch` is the leader epoch of the shard: a
    partition that has seen a marker of a later one refuses ours, so a coordinator that was replaced without knowing it
    does no harm.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    committed: bool
    partitions: frozenset[TopicPartition]
    coordinator_epoch: int
    client_version: int


SendMarkers = Callable[[MarkerJob], None]


class TransactionMachine:
    """The transactional ids of one shard. Timers are not its affair: sweeps ask it what has timed out."""

    def __init__(
        self, *, coordinator_epoch: int, clock: Clock, config: TransactionConfig, send_markers: SendMarkers
    ) -> None:
        self.transactions: dict[str, Transaction] = {}
        self._last_epochs: dict[str, int] = {}  # soft: the epoch before the last bump by InitProducerId (KIP-360)
        self._coordinator_epoch = coordinator_epoch
        self._clock = clock
        self._config = config
        self._send_markers = send_markers

    # -- the shard's side ------------------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord, producer_id: int = -1) -> None:
        """A record is the whole state of its id; a tombstone forgets it."""
        key, value = record
        if value is None:
            self.transactions.pop(key.transactional_id, None)
            self._last_epochs.pop(key.transactional_id, None)
        else:
            self.transactions[key.transactional_id] = Transaction.from_record(key, value)

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """Nothing transactional is ever written to __transaction_state."""

    def on_loaded(self) -> Result | None:
        """Whatever was decided and not completed is taken up where it was left: all its markers are sent, also those
        that were written already.
        """
        for transaction in self.transactions.values():
            if transaction.is_ending:
                self._send_markers(self._job(transaction))
        return None

    def on_unloaded(self) -> None:
        """Who sends markers for us notices that we are gone when it calls back."""

    def durable_view(self) -> object:
        return sorted(self.transactions.items())

    # -- InitProducerId --------------------------------------------------------------------------------------------

    def needs_producer_id(self, transactional_id: str) -> bool:
        """Whether a next step of this id may need a new producer id."""
        transaction = self.transactions.get(transactional_id)
        return transaction is None or transaction.epoch_exhausted

    def is_ending(self, transactional_id: str) -> bool:
        """Whether markers of its last transaction are still on their way."""
        transaction = self.transactions.get(transactional_id)
        return transaction is not None and transaction.is_ending

    def is_early(self, transactional_id: str, producer: ProducerIdentity) -> bool:
        """Whether the producer was told its next epoch and uses it while markers of the last transaction are on their
        way. Kafka calls it fenced then, trusting that markers are quicker than any client."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None or not transaction.is_ending:
            return False
        return producer == (transaction.producer_id, transaction.epoch)

    def init(
        self,
        transactional_id: str,
        timeout_ms: int,
        *,
        expected: ProducerIdentity | None = None,
        spare_id: int | None = None,
    ) -> Result:
        """InitProducerId: give the producer its id and epoch, and fence whoever had them before.

        The heart of exactly-once: after the answer no earlier incarnation of this transactional id can write or commit
        anything, because every partition and this coordinator refuse its epoch. If it left a transaction open, that is
        aborted first; the client is told CONCURRENT_TRANSACTIONS and asks again.

        `expected` (KIP-360) is sent by a producer that wants to go on after an error of its own: it is fenced if it is
        no longer the current one, and gets the next epoch if it is.
        """
        if not 0 < timeout_ms <= self._config.max_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        now = self._clock.time_ms()
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            transaction = Transaction(transactional_id, _need(spare_id), timeout_ms, now)
        if expected is not None and not _may_continue(transaction, expected):
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        if transaction.is_ending:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if transaction.state is TransactionState.ONGOING:
            # Abort what the old producer began; the client asks again, and gets the epoch after that.
            return self._fence(transaction, spare_id)
        if transaction.epoch_exhausted and (expected is None or expected.epoch == transaction.epoch):
            after = transaction.rotated(_need(spare_id), timeout_ms, now)
            last = transaction.epoch if expected is not None else NO_PRODUCER_EPOCH
        else:
            epoch, last = self._next_epoch(transaction, expected)
            after = transaction.initialized(timeout_ms, now, epoch=epoch)
        self._last_epochs[transactional_id] = last
        return Result([after.record()], ProducerIdentity(after.producer_id, after.epoch))

    def _next_epoch(self, transaction: Transaction, expected: ProducerIdentity | None) -> tuple[int, int]:
        """(epoch to give, the one before it). A retry of a bump whose answer was lost gets the same epoch again."""
        if expected is None:
            return transaction.epoch + 1, NO_PRODUCER_EPOCH
        if transaction.epoch in (NO_PRODUCER_EPOCH, expected.epoch):
            return transaction.epoch + 1, transaction.epoch
        last = self._last_epochs.get(transaction.transactional_id, NO_PRODUCER_EPOCH)
        if expected.epoch == last:
            return transaction.epoch, last
        raise KafkaError(ErrorCode.PRODUCER_FENCED)

    def _fence(self, transaction: Transaction, spare_id: int | None) -> Result:
        """Abort what somebody else has open. The bump to the fencing epoch and the abort are one record: there is no
        moment in which the old producer could still add to the transaction.
        """
        result = self._end(
            transaction, committed=False, version=transaction.client_version, spare_id=spare_id, fence=True
        )
        result.response = KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        return result

    # -- adding partitions -----------------------------------------------------------------------------------------

    def add_partitions(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Collection[TopicPartition], version: int
    ) -> Result:
        """AddPartitionsToTxn, or a Produce of version 12 and later that adds its own partition (KIP-890). Must be
        committed before the first record of the partition is: a marker goes only to partitions that are listed here.

        Partitions that are known already cost no record, so a client may repeat itself.
        """
        transaction = self._checked(transactional_id, producer)
        if transaction.is_ending:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        added = frozenset(partitions)
        if transaction.state is TransactionState.ONGOING and added <= transaction.partitions:
            return Result(response=None)
        after = transaction.with_partitions(added, self._clock.time_ms(), version)
        return Result([after.record()], response=None)

    def verify(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Which of the partitions belong to the open transaction."""
        transaction = self._checked(transactional_id, producer)
        if transaction.is_ending:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        inside, outside = ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE
        return {tp: inside if tp in transaction.partitions else outside for tp in partitions}

    def _checked(self, transactional_id: str, producer: ProducerIdentity) -> Transaction:
        """The transaction, if the producer is its current one. Another producer id means that the id was rotated or has
        expired (INVALID_PRODUCER_ID_MAPPING); another epoch, that somebody took over (PRODUCER_FENCED).
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.producer_id != producer.producer_id:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.epoch != producer.epoch:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        return transaction

    # -- ending ----------------------------------------------------------------------------------------------------

    def end(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        *,
        committed: bool,
        version: int,
        spare_id: int | None = None,
    ) -> Result:
        """EndTxn. In version 2 the answer carries the identity for the next transaction.

        A client that did not hear the answer sends the request again, so an outcome that is decided already is
        confirmed, and only the opposite one is refused. While the markers are on their way the answer is
        CONCURRENT_TRANSACTIONS, which clients retry.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if version >= EPOCH_BUMP_VERSION:
            return self._end_v2(transaction, producer, committed, version, spare_id)
        transaction = self._checked(transactional_id, producer)
        if transaction.state is TransactionState.ONGOING:
            return self._end(transaction, committed=committed, version=version)
        if transaction.state is _complete(committed):
            return Result(response=_NO_IDENTITY)
        if transaction.state is _prepare(committed):
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)

    def _end_v2(
        self,
        transaction: Transaction,
        producer: ProducerIdentity,
        committed: bool,
        version: int,
        spare_id: int | None,
    ) -> Result:
        """The same when every end bumps the epoch (KIP-890).

        A retry comes with the epoch before the bump, and is told from a zombie's request by being exactly one behind;
        after a rotation it comes with the last epoch of the previous producer id. An abort of nothing is allowed and
        bumps, too: the producer does not know whether its last write arrived, and the bump makes sure that it never
        will.
        """
        overflowed = (
            producer.producer_id == transaction.previous_producer_id
            and producer.epoch == MAX_EPOCH - 1
            and transaction.epoch == 0
        )
        bumped = producer.producer_id == transaction.producer_id and producer.epoch + 1 == transaction.epoch
        if transaction.producer_id != producer.producer_id and not overflowed:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        current = producer.producer_id == transaction.producer_id and producer.epoch == transaction.epoch
        if transaction.is_ending:
            if not bumped:
                raise KafkaError(ErrorCode.PRODUCER_FENCED)
            same = transaction.state is _prepare(committed)
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS if same else ErrorCode.INVALID_TXN_STATE)
        if transaction.state is TransactionState.ONGOING:
            if not current:
                raise KafkaError(ErrorCode.PRODUCER_FENCED)
            return self._end(transaction, committed=committed, version=version, spare_id=spare_id)
        retry = transaction.state is not TransactionState.EMPTY and (bumped or overflowed)
        if retry:
            if transaction.state is not _complete(committed):
                raise KafkaError(ErrorCode.INVALID_TXN_STATE)
            return Result(response=ProducerIdentity(transaction.producer_id, transaction.epoch))
        if not current:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        if committed:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE)
        return self._end(transaction, committed=False, version=version, spare_id=spare_id)

    def _end(
        self,
        transaction: Transaction,
        *,
        committed: bool,
        version: int,
        spare_id: int | None = None,
        fence: bool = False,
    ) -> Result:
        """Decide the outcome. Once the record is committed there is no way back, and the markers are sent from
        `on_commit`: not earlier, as a marker for a decision that the log lost could not be taken back.
        """
        next_id = NO_PRODUCER_ID
        if version >= EPOCH_BUMP_VERSION and transaction.epoch_exhausted:
            next_id = _need(spare_id)
        after = transaction.prepared(
            committed, self._clock.time_ms(), client_version=version, fence=fence, next_producer_id=next_id
        )
        identity = _NO_IDENTITY
        if version >= EPOCH_BUMP_VERSION:
            identity = ProducerIdentity(after.producer_id, after.epoch)
            if next_id != NO_PRODUCER_ID:
                identity = ProducerIdentity(next_id, 0)
        job = self._job(after)
        return Result([after.record()], identity, on_commit=lambda: self._send_markers(job))

    def complete(self, job: MarkerJob) -> Result | None:
        """Every partition has its marker. A callback of an earlier shard, which has been replaced meanwhile, finds
        another epoch or another state, and is passed over.
        """
        transaction = self.transactions.get(job.transactional_id)
        if (
            transaction is None
            or not transaction.is_ending
            or (transaction.producer_id, transaction.epoch) != (job.producer_id, job.epoch)
        ):
            return None  # an earlier incarnation of this shard asked for it, and it is done
        return Result([transaction.completed(self._clock.time_ms()).record()], response=None)

    def _job(self, transaction: Transaction) -> MarkerJob:
        return MarkerJob(
            transaction.transactional_id,
            transaction.producer_id,
            transaction.epoch,
            transaction.state is TransactionState.PREPARE_COMMIT,
            transaction.partitions,
            self._coordinator_epoch,
            transaction.client_version,
        )

    # -- time ------------------------------------------------------------------------------------------------------

    def timed_out(self) -> list[Transaction]:
        """Open transactions that have used up their time."""
        now = self._clock.time_ms()
        return [
            transaction
            for transaction in self.transactions.values()
            if transaction.state is TransactionState.ONGOING and transaction.started_ms + transaction.timeout_ms < now
        ]

    def abort(self, transaction: Transaction, spare_id: int | None = None) -> Result | None:
        """Abort an open transaction on nobody's request; its producer is fenced."""
        if self.transactions.get(transaction.transactional_id) != transaction:
            return None
        logger.info("transactional id %s: aborted, its time is up", transaction.transactional_id)
        return self._end(
            transaction, committed=False, version=transaction.client_version, spare_id=spare_id, fence=True
        )

    def expire_ids(self, ids: Iterable[str] | None = None) -> Result:
        """Forget ids (of these, or of all) that nobody has used for long, unless a transaction is open or ending."""
        wanted = self.transactions if ids is None else ids
        found = [self.transactions[name] for name in wanted if name in self.transactions]
        limit = self._clock.time_ms() - self._config.id_expiration_ms
        return Result(
            [
                transaction.tombstone()
                for transaction in found
                if transaction.is_finished and transaction.updated_ms <= limit
            ],
            divisible=True,
        )

    # -- administration --------------------------------------------------------------------------------------------

    def describe(self, transactional_id: str) -> Transaction:
        """DescribeTransactions, of one id."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.state is TransactionState.DEAD:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return transaction

    def list(
        self,
        producer_ids: Collection[int],
        states: Collection[TransactionState],
        min_duration_ms: int = -1,
        matches: Callable[[str], bool] | None = None,
    ) -> Iterator[Transaction]:
        """ListTransactions: filters are combined, an empty one lets everything pass. A duration counts from the start
        of the transaction (KIP-994); the pattern is KIP-1152's.
        """
        now = self._clock.time_ms()
        for transaction in self.transactions.values():
            if (
                transaction.state is not TransactionState.DEAD
                and (not producer_ids or transaction.producer_id in producer_ids)
                and (not states or transaction.state in states)
                and (min_duration_ms < 0 or now - transaction.started_ms > min_duration_ms)
                and (matches is None or matches(transaction.transactional_id))
            ):
                yield transaction


_NO_IDENTITY = ProducerIdentity(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def _need(spare_id: int | None) -> int:
    """A new producer id; the client tries again if there was none at hand."""
    if spare_id is None:
        raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return spare_id


def _may_continue(transaction: Transaction, expected: ProducerIdentity) -> bool:
    """KIP-360: a producer may bump its own epoch, be new to us, or retry a rotation whose answer was lost."""
    return (
        transaction.epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == transaction.producer_id
        or (expected.producer_id == transaction.previous_producer_id and expected.epoch >= MAX_EPOCH - 1)
    )


def _complete(committed: bool) -> TransactionState:
    return TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT


def _prepare(committed: bool) -> TransactionState:
    return TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT
