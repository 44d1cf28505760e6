from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tidelog.client.producer._batch import BufferPool, ProducerBatch, RecordFuture
from tidelog.client.producer._partition_batches import PartitionBatches, TopicBatches
from tidelog.client.producer.record import OnDelivery, ProducerRecord
from tidelog.common.clock import Clock
from tidelog.common.errors import KafkaError

class Accumulator:
    pool: BufferPool
    topics: dict[str, TopicBatches]
    plain: bool
    created: list[ProducerBatch]
    filled: list[PartitionBatches]
    wake: Callable[[], None]
    admit: Callable[[], object] | None
    threaded: bool
    waiters: deque[Callable[[], object]]
    records: int
    byte_count: int
    def __init__(
        self,
        *,
        clock: Clock,
        choose: Callable[[TopicBatches], int],
        memory: int,
        batch_size: int,
        max_request_size: int,
        attributes: int = 0,
        level: int | None = None,
        ignore_keys: bool = False,
    ) -> None: ...
    def place(self, topic: TopicBatches, key: bytes | None) -> int: ...
    def next_sticky(self, topic: TopicBatches) -> int: ...
    def append(
        self,
        topic: TopicBatches,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        timestamp: int | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
        on_delivery: OnDelivery | None,
    ) -> RecordFuture | None: ...
    def too_large(self, size: int, which: str = "") -> KafkaError: ...
    def add_ready_made(self, queue: PartitionBatches, batch: ProducerBatch) -> None: ...
    def begin_turn(self) -> tuple[list[ProducerBatch], list[PartitionBatches]]: ...
    def end_turn(self) -> None: ...
    def hand_over(self) -> None: ...
    @property
    def is_forked(self) -> bool: ...
    @property
    def is_crowded(self) -> bool: ...
    def give_room(self) -> None: ...

class SendPath:
    accumulator: Accumulator
    def _attach(self, accumulator: Accumulator) -> None: ...
    def send(
        self,
        topic: str | ProducerRecord,
        value: Any = None,
        key: Any = None,
        *,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> RecordFuture: ...
