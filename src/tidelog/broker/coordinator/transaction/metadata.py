"""One transactional id: an immutable value, and its transitions as pure functions of it.

Every function returns the value after the transition, checked against the table (`states.TRANSACTION`); writing it as a
record and replaying that record is what makes it true.

Epochs, in the two versions of the protocol:

- version 1: InitProducerId bumps the epoch; a transaction keeps it. Ending somebody else's transaction (time-out,
  fencing) bumps it too, so that the old producer is refused.
- version 2 (KIP-890): every end of a transaction bumps it, so that no late request of one transaction can slip into
  the next. The bumped epoch goes into the markers and back to the client.

A producer never gets the largest epoch: it is kept for fencing. Before that a new producer id is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.transaction.states import STATE_BY_ID, TRANSACTION, TransactionState
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition
from tidelog.protocol.messages import TransactionLogKey, TransactionLogValue

MAX_EPOCH = 2**15 - 1
#: The first version of the transaction protocol in which every end bumps the epoch.
EPOCH_BUMP_VERSION = 2

_FINISHED = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


@dataclass(frozen=True, slots=True)
class Transaction:
    """What the coordinator knows of one id, all of it durable.

    `partitions` are those that the open transaction has written to, or may have: each of them gets a marker.
    `started_ms` is when it began (the time-out counts from there), `updated_ms` when the id was last used at all.
    `next_producer_id` is the identity that the producer goes on with when the epochs of its present one are used up;
    `previous_producer_id` lets a retry under the old one be recognized. `client_version` is the transaction protocol of
    the client that began it.
    """

    transactional_id: str
    producer_id: int
    timeout_ms: int
    updated_ms: int
    epoch: int = NO_PRODUCER_EPOCH
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = field(default_factory=frozenset)
    started_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = 0

    @property
    def epoch_exhausted(self) -> bool:
        """Only one epoch is left, and that is kept for fencing: the next bump needs a new producer id."""
        return self.epoch >= MAX_EPOCH - 1

    @property
    def is_finished(self) -> bool:
        """No transaction is open or ending."""
        return self.state in _FINISHED

    @property
    def is_ending(self) -> bool:
        """Decided, and not all markers written yet."""
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def bumps_epoch(self) -> bool:
        """Whether its client speaks version 2 (KIP-890), in which the end of a transaction bumps the epoch."""
        return self.client_version >= EPOCH_BUMP_VERSION

    def _to(self, state: TransactionState, now_ms: int, **changes: object) -> Transaction:
        """The value in another state, if the table has the way. The record of every transition names the producer id
        from before it, so that KIP-890's retries are recognized after a rotation.
        """
        TRANSACTION.check(self.state, state)
        changes = {"previous_producer_id": self.producer_id, **changes}
        return replace(self, state=state, updated_ms=now_ms, **changes)  # type: ignore[arg-type]  # fields by name

    # -- InitProducerId --------------------------------------------------------------------------------------------

    def initialized(self, timeout_ms: int, now_ms: int, *, epoch: int) -> Transaction:
        """InitProducerId: nothing is open; whoever had an earlier epoch is fenced from now on."""
        return self._to(
            TransactionState.EMPTY,
            now_ms,
            epoch=epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            started_ms=NO_TIMESTAMP,
        )

    def rotated(self, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
        """Go on under a new producer id: the epochs of the old one are used up."""
        fresh = self.initialized(timeout_ms, now_ms, epoch=0)
        return replace(fresh, producer_id=producer_id)

    # -- the transaction -------------------------------------------------------------------------------------------

    def with_partitions(self, added: frozenset[TopicPartition], now_ms: int, client_version: int) -> Transaction:
        """The transaction writes to these partitions, too; the first ones begin it."""
        return self._to(
            TransactionState.ONGOING,
            now_ms,
            partitions=self.partitions | added,
            started_ms=now_ms if self.is_finished else self.started_ms,
            client_version=client_version,
        )

    def prepared(
        self,
        committed: bool,
        now_ms: int,
        *,
        client_version: int,
        fence: bool = False,
        next_producer_id: int = NO_PRODUCER_ID,
    ) -> Transaction:
        """The outcome is decided; from here on only the markers remain."""
        bump = fence or client_version >= EPOCH_BUMP_VERSION
        return self._to(
            TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT,
            now_ms,
            epoch=min(self.epoch + bump, MAX_EPOCH),
            started_ms=now_ms if self.is_finished else self.started_ms,
            next_producer_id=next_producer_id,
            client_version=client_version,
        )

    def completed(self, now_ms: int) -> Transaction:
        """All markers are written. The partitions are forgotten, and a producer whose epochs are used up goes on under
        its new id.
        """
        commit = self.state is TransactionState.PREPARE_COMMIT
        done = self._to(
            TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT,
            now_ms,
            partitions=frozenset(),
            next_producer_id=NO_PRODUCER_ID,
        )
        if self.next_producer_id == NO_PRODUCER_ID:
            return done
        return replace(done, producer_id=self.next_producer_id, epoch=0)

    # -- durable form ----------------------------------------------------------------------------------------------

    def record(self) -> CoordinatorRecord:
        """The record that makes the value true. Fields that only version 2 knows are left out where they say nothing:
        the record is then one of version 0, which every Kafka reads.
        """
        topics: dict[str, list[int]] = {}
        for topic, partition in sorted(self.partitions):
            topics.setdefault(topic, []).append(partition)
        listed: list[TransactionLogValue.PartitionsSchema] | None = [
            TransactionLogValue.PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()
        ]
        if self.state is TransactionState.EMPTY:
            listed = None  # as Kafka: an empty id has null partitions
        tagged = self.bumps_epoch or self.previous_producer_id not in (NO_PRODUCER_ID, self.producer_id)
        value = TransactionLogValue(
            producer_id=self.producer_id,
            previous_producer_id=self.previous_producer_id if tagged else NO_PRODUCER_ID,
            next_producer_id=self.next_producer_id if tagged else NO_PRODUCER_ID,
            producer_epoch=self.epoch,
            transaction_timeout_ms=self.timeout_ms,
            transaction_status=self.state.id,
            transaction_partitions=listed,
            transaction_last_update_timestamp_ms=self.updated_ms,
            transaction_start_timestamp_ms=self.started_ms,
            client_transaction_version=self.client_version if self.bumps_epoch else 0,
        )
        return CoordinatorRecord(TransactionLogKey(transactional_id=self.transactional_id), value)

    def tombstone(self) -> CoordinatorRecord:
        """The id is forgotten: the table allows it where no transaction is open or ending."""
        TRANSACTION.check(self.state, TransactionState.DEAD)
        return CoordinatorRecord(TransactionLogKey(transactional_id=self.transactional_id))

    @classmethod
    def from_record(cls, key: TransactionLogKey, value: TransactionLogValue) -> Transaction:
        """The inverse. A status that is none of ours is corruption, not a state to guess at."""
        state = STATE_BY_ID.get(value.transaction_status)
        if state is None:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"unknown transaction status {value.transaction_status}")
        return cls(
            key.transactional_id,
            value.producer_id,
            value.transaction_timeout_ms,
            value.transaction_last_update_timestamp_ms,
            value.producer_epoch,
            state,
            frozenset(
                TopicPartition(topic.topic, partition)
                for topic in value.transaction_partitions or ()
                for partition in topic.partition_ids
            ),
            value.transaction_start_timestamp_ms,
            value.previous_producer_id,
            value.next_producer_id,
            value.client_transaction_version,
        )
