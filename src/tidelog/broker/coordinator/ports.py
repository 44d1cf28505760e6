"""What a shard is between: the machine that it runs, and the log that it writes to.

Both are given to it. The machine is one of `group` or `transaction`; the log is `wiring.ReplicaWriter` in a broker, and
a list of batches in tests. What the log may say of an append, and what that means, belongs to the port as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.timers import Timers
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition


class Machine(Protocol):
    """A state machine that a shard runs. `replay` must be a function of the records alone: what it makes of them while
    requests come in, it has to make of them again, years later, from a compacted log.
    """

    def replay(self, record: CoordinatorRecord, producer_id: int = -1) -> None: ...
    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None: ...
    def on_loaded(self) -> Result | None: ...
    def on_unloaded(self) -> None: ...


MachineFactory = Callable[[int, int, Timers], Any]
"""(partition, leader epoch, timers) -> machine."""


class PartitionWriter(Protocol):
    """All that a shard needs of the log. `done` is called once, maybe before `append` returns: NONE means committed,
    not just written. `read_all` gives what is committed, in chunks of whole batches.
    """

    def append(
        self,
        tp: TopicPartition,
        epoch: int,
        batch: bytes,
        done: Callable[[ErrorCode], None],
        *,
        transaction_version: int = 0,
    ) -> None: ...
    def read_all(self, tp: TopicPartition) -> Iterator[bytes | memoryview]: ...
    def max_batch_bytes(self, tp: TopicPartition) -> int: ...


#: What the failure of an append means to whoever waits for it; anything else is an unexpected server error.
APPEND_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_COORDINATOR,
}

#: By these the log refuses a transactional batch or a marker: nothing was written.
REFUSALS = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    }
)
