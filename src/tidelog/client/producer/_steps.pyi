from collections import deque
from collections.abc import Callable

from tidelog.client.producer._batch import ProducerBatch
from tidelog.client.producer._partition_batches import PartitionBatches, TopicBatches

def is_due(queue: PartitionBatches, now: float, linger: float, everything: bool) -> bool: ...
def choose_by_load(topic: TopicBatches, usable: list[int], chance: float) -> int: ...
def note_use(created: list[ProducerBatch], topics: dict[str, TopicBatches], now: float) -> None: ...
def due_now(
    lingering: deque[ProducerBatch], filled: list[PartitionBatches], now: float, linger: float, everything: bool
) -> list[PartitionBatches]: ...
def next_load(
    ready: deque[PartitionBatches],
    most: int,
    now: float,
    linger: float,
    everything: bool,
    may_leave: Callable[[PartitionBatches], bool] | None,
) -> list[ProducerBatch]: ...
def number(batch: ProducerBatch, producer_id: int) -> int: ...
def seal_load(
    load: list[ProducerBatch], idempotent: bool, producer_id: int, epoch: int, transactional: bool, now: float
) -> tuple[int, int, float]: ...
def note_written(
    outcomes: list[tuple[ProducerBatch, int, int]], told: Callable[[BaseException], None]
) -> tuple[int, list[PartitionBatches]]: ...
