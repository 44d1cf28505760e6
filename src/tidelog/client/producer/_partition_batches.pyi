from collections import deque

from tidelog.client.producer._batch import ProducerBatch
from tidelog.common.types import TopicPartition

class PartitionBatches:
    topic_partition: TopicPartition
    waiting: deque[ProducerBatch]
    open: ProducerBatch | None
    leader: int | None
    ready: bool
    failures: int
    retry_at: float
    returned: list[ProducerBatch]
    in_flight: int
    next_sequence: int
    in_transaction: bool
    records_written: int
    def __init__(self, topic_partition: TopicPartition) -> None: ...
    def put(self, batch: ProducerBatch) -> None: ...
    def close_open(self) -> None: ...
    def taken(self) -> ProducerBatch: ...
    def drop(self, batch: ProducerBatch) -> None: ...

class TopicBatches:
    name: str
    topic_id: bytes
    partitions: list[PartitionBatches]
    sticky: int
    sticky_bytes: int
    used_at: float
    def __init__(self, name: str, count: int, topic_id: bytes = b"") -> None: ...
    def grow(self, count: int) -> None: ...
    def resize(self, count: int) -> list[PartitionBatches]: ...
    def stick_to(self, partition: int) -> None: ...
