"""The state of an idempotent or transactional producer: id, epoch, sequences, and what may follow what (pure).

    UNINITIALIZED --init--> READY --begin--> OPEN --end--> READY
                              |                |
                              '--- detach -----'--> DETACHED   (someone else will end the transaction)
    any --fenced or lost sequence--> FAILED

A sequence number counts the records of one partition under one producer id and epoch; it wraps at 2^31. The partitions
of a transaction are those that the coordinator was told of; a record may go to no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition


class State(Enum):
    UNINITIALIZED = "not initialized"
    READY = "ready"
    OPEN = "in a transaction"
    DETACHED = "handed over"
    FAILED = "failed"


#: (state, event) → next state; anything else is a misuse that `_move` reports.
TRANSITIONS = {
    (State.UNINITIALIZED, "init"): State.READY,
    (State.READY, "init"): State.READY,
    (State.READY, "begin"): State.OPEN,
    (State.OPEN, "end"): State.READY,
    (State.OPEN, "detach"): State.DETACHED,
}


@dataclass(frozen=True)
class OpenTransaction:
    """What someone else needs to end a transaction: any connection may do so that knows these three."""

    transactional_id: str
    producer_id: int
    epoch: int


class ProducerState:
    """Producer id, epoch, sequences and transaction state."""

    def __init__(self, transactional_id: str | None = None) -> None:
        self.transactional_id = transactional_id
        self.producer_id = NO_PRODUCER_ID
        self.epoch = NO_PRODUCER_EPOCH
        self.state = State.UNINITIALIZED
        self.partitions: set[TopicPartition] = set()
        self._sequences: dict[TopicPartition, int] = {}
        self._failure: KafkaError | None = None

    def initialized(self, producer_id: int, epoch: int) -> None:
        self._move("init")
        self.producer_id, self.epoch = producer_id, epoch
        self._sequences.clear()

    def begin(self) -> None:
        self._move("begin")
        self.partitions.clear()

    def ended(self) -> None:
        self._move("end")
        self.partitions.clear()

    def detach(self) -> OpenTransaction:
        self._move("detach")
        assert self.transactional_id is not None
        return OpenTransaction(self.transactional_id, self.producer_id, self.epoch)

    def fail(self, error: KafkaError) -> None:
        """No further record is safe: the first reason stays."""
        self.state = State.FAILED
        self._failure = self._failure or error

    def check_may_send(self) -> None:
        if self._failure is not None:
            raise self._failure
        expected = State.OPEN if self.transactional_id is not None else State.READY
        if self.state is not expected:
            raise UsageError(f"records cannot be sent while the producer is {self.state.value}")

    def next_sequence(self, tp: TopicPartition) -> int:
        """The base sequence of the partition's next batch."""
        return self._sequences.get(tp, 0)

    def advance(self, tp: TopicPartition, records: int) -> None:
        """That many records of the partition now have their sequence numbers."""
        self._sequences[tp] = (self.next_sequence(tp) + records) & 0x7FFFFFFF

    def _move(self, event: str) -> None:
        if self._failure is not None:
            raise self._failure
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"cannot {event}: the producer is {self.state.value}")
        self.state = following
