"""TransactionManager: what a producer may do next, and as which producer id. No I/O.

Kafka's Java producer keeps the same in a class of the same name. An idempotent producer has an id that some broker gave
it; a transactional one has an id and an epoch that the coordinator of its transactional id gave it, and a higher epoch
fences whoever had a lower one. The states are the Java producer's, and one more:

    UNINITIALIZED --init--> READY --begin--> IN_TRANSACTION --begin commit--> COMMITTING --commit--> READY
                              |                  |  |                             |
                             fail             fail  |                             '--detach--> DETACHED
                              v                  v  '--begin abort-----------.
                         FATAL_ERROR      ABORTABLE_ERROR --begin abort--> ABORTING --abort--> READY

- COMMITTING and ABORTING: the coordinator has been asked, or is going to be, and nothing more may be written. One that
  does not answer in time may be asked again, for the same.
- Every state leads to FATAL_ERROR (`die`): another producer of the same transactional id has taken over, or we may not
  have it.

- A record that is lost for good leaves a gap in its partition's sequence numbers: a broker takes no later one. Inside a
  transaction that can be undone (ABORTABLE_ERROR): the transaction is aborted, and a new epoch begins at 0 again.
  Outside there is nothing to go back to (FATAL_ERROR); what was written stays, and the producer is of no more use.
- DETACHED: everything is flushed and somebody else is going to end the transaction, by id, producer id and epoch. It is
  what KIP-939 calls a prepared transaction, but the broker does not know of it: the transaction still times out.

The partitions of a transaction are those that the coordinator was told of, as only these get a marker at its end; a
record may go to no other. Sequence numbers are `recovery`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition


class State(Enum):
    """Where a producer stands; the value completes the sentence "the producer is …"."""

    UNINITIALIZED = "not initialized"
    READY = "ready"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    DETACHED = "handed over"
    ABORTABLE_ERROR = "in a transaction that can only be aborted"
    FATAL_ERROR = "failed"


#: What to call first where something is refused; the other states say it themselves, or raise what went wrong.
_FIRST = {
    State.UNINITIALIZED: ": call init_transactions() first",
    State.READY: ": call begin_transaction() first",
    State.IN_TRANSACTION: ": commit or abort it first",
}
#: How brokers tell a producer that its epoch is over. Which of the two depends on the request and on their version.
_FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
#: After these no transaction of this producer can go on: somebody else is it now, or it never may be.
FATAL = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_TXN_STATE,
    }
)
#: (state, event) → next state. There is no other way from state to state: `_move` refuses what is not here.
TRANSITIONS = {
    (State.UNINITIALIZED, "init"): State.READY,
    (State.READY, "init"): State.READY,
    (State.READY, "begin"): State.IN_TRANSACTION,
    (State.READY, "fail"): State.FATAL_ERROR,
    (State.IN_TRANSACTION, "begin commit"): State.COMMITTING,
    (State.COMMITTING, "begin commit"): State.COMMITTING,
    (State.COMMITTING, "commit"): State.READY,
    (State.COMMITTING, "detach"): State.DETACHED,
    (State.COMMITTING, "fail"): State.ABORTABLE_ERROR,
    (State.IN_TRANSACTION, "begin abort"): State.ABORTING,
    (State.ABORTABLE_ERROR, "begin abort"): State.ABORTING,
    (State.ABORTING, "begin abort"): State.ABORTING,
    (State.ABORTING, "init"): State.ABORTING,  # its next epoch, before it is over
    (State.ABORTING, "abort"): State.READY,
    (State.ABORTING, "fail"): State.ABORTING,
    (State.IN_TRANSACTION, "fail"): State.ABORTABLE_ERROR,
    (State.ABORTABLE_ERROR, "fail"): State.ABORTABLE_ERROR,
    (State.FATAL_ERROR, "fail"): State.FATAL_ERROR,
}


@dataclass(frozen=True)
class OpenTransaction:
    """What someone else needs to end a transaction: any connection may do so that knows these three."""

    transactional_id: str
    producer_id: int
    epoch: int


class TransactionManager:
    """One producer's id, epoch and state."""

    def __init__(self, transactional_id: str | None = None) -> None:
        self.transactional_id = transactional_id
        self.producer_id = NO_PRODUCER_ID
        self.epoch = NO_PRODUCER_EPOCH
        self.state = State.UNINITIALIZED
        self.partitions: set[TopicPartition] = set()
        self.failure: KafkaError | None = None
        #: How many transactions were begun: which one a record belongs to that waits for its topic or for room.
        self.begun = 0

    @property
    def transaction(self) -> OpenTransaction:
        """How the coordinator knows the transaction that is open, or the next one."""
        assert self.transactional_id is not None
        return OpenTransaction(self.transactional_id, self.producer_id, self.epoch)

    def initialized(self, producer_id: int, epoch: int) -> None:
        """Go on as this producer, which has written nothing yet: brokers expect 0 of a new id or epoch."""
        self._move("init")
        self.producer_id, self.epoch = producer_id, epoch

    def begin(self) -> None:
        """Begin a transaction; only its first partition tells the coordinator."""
        self._move("begin")
        self.begun += 1
        self.partitions.clear()

    def committing(self) -> None:
        """Nothing more is written: the transaction is going to be committed."""
        self._move("begin commit")

    def aborting(self) -> None:
        """Nothing more is written: the transaction is going to be aborted."""
        self._move("begin abort")

    def ended(self, *, committed: bool) -> None:
        """The transaction is over, as the coordinator has said. Aborting one that had failed makes good for that."""
        self._move("commit" if committed else "abort")
        self.failure = None
        self.partitions.clear()

    def detach(self) -> OpenTransaction:
        """Leave the open transaction to whoever gets this."""
        self._move("detach")
        return self.transaction

    def fail(self, error: KafkaError) -> None:
        """A record is lost for good. Others may follow; the first is the reason that is told."""
        self._move("fail")
        self.failure = self.failure or error

    def die(self, error: KafkaError) -> None:
        """The producer is of no more use. That counts for more than why its transaction could not be committed."""
        if self.state is not State.FATAL_ERROR or self.failure is None:
            self.failure = error
        self.state = State.FATAL_ERROR

    def as_fenced(self, error: KafkaError) -> KafkaError:
        """The error, or PRODUCER_FENCED in its place where it means that: a program looks for one code, and for what to
        do. A coordinator that aborts a transaction which was open for too long raises the epoch, too: it cannot be told
        apart from another producer's coming, and what helps is the same.
        """
        if self.transactional_id is None or error.code not in _FENCED:
            return error
        fenced = KafkaError(
            ErrorCode.PRODUCER_FENCED,
            f"another producer with transactional.id {self.transactional_id} took over, or the transaction was open for"
            " longer than transaction.timeout.ms: make a new one",
        )
        fenced.__cause__ = error
        return fenced

    @contextmanager
    def fencing(self) -> Iterator[None]:
        """Around exchanges with coordinators: what says that we are fenced is raised as PRODUCER_FENCED."""
        try:
            yield
        except KafkaError as error:
            fenced = self.as_fenced(error)
            if fenced is error:
                raise
            raise fenced from error

    def check_not_failed(self) -> None:
        """Raise what went wrong."""
        if self.failure is not None:
            raise self.failure

    def check_may_send(self) -> None:
        """Raise what went wrong, or what was forgotten: a transactional producer writes in transactions alone."""
        if self.failure is not None:
            raise self.failure
        expected = State.IN_TRANSACTION if self.transactional_id is not None else State.READY
        if self.state is not expected:
            raise UsageError(f"records cannot be sent while the producer is {self._standing}")

    def check_belongs(self, begun: int) -> None:
        """Raise if a record that was sent in that transaction comes too late for it: it must be in no other one."""
        if self.transactional_id is not None and (begun != self.begun or self.state is not State.IN_TRANSACTION):
            text = "the transaction ended before the record found its topic or room"
            raise self.failure or KafkaError(ErrorCode.TRANSACTION_ABORTABLE, text)

    @property
    def _standing(self) -> str:
        """Where the producer stands, and what to call first. Without a transactional id there is nothing to call."""
        hint = _FIRST.get(self.state, "") if self.transactional_id is not None else ""
        return f"{self.state.value}{hint}"

    def _move(self, event: str) -> None:
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            if self.failure is not None:
                raise self.failure
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"cannot {event}: the producer is {self._standing}")
        self.state = following
