from typing import NamedTuple

from tidelog.records.kernel._batches import BatchRun

class CompletedTxn(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool

class ProducerStateEntry:
    producer_id: int
    epoch: int
    coordinator_epoch: int
    last_timestamp: int
    txn_first_offset: int
    def __init__(
        self,
        producer_id: int,
        epoch: int = -1,
        coordinator_epoch: int = -1,
        last_timestamp: int = -1,
        txn_first_offset: int = -1,
    ) -> None: ...
    def with_batch(
        self, last_sequence: int, last_offset: int, offset_delta: int, timestamp: int
    ) -> ProducerStateEntry: ...
    @property
    def batches(self) -> list[tuple[int, int, int, int]]: ...
    @property
    def last_sequence(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def last_offset_delta(self) -> int: ...

class Pending:
    entries: dict[int, ProducerStateEntry]
    started: list[tuple[int, int]]
    completed: list[CompletedTxn]
    duplicate: tuple[int, int, int] | None

def has_producers(run: BatchRun) -> bool: ...
def prepare(
    producers: dict[int, ProducerStateEntry],
    run: BatchRun,
    first: int,
    stop: int,
    origin: int,
    transaction_version: int = 0,
) -> Pending: ...
