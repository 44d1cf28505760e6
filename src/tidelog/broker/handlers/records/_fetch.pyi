from collections.abc import Callable, Sequence
from typing import Any

from tidelog.common.types import TopicPartition

Key = tuple[bytes, str, int]

class PartitionFetch:
    tp: TopicPartition
    index: int
    topic_id: bytes
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int
    error: int
    def __init__(
        self,
        tp: TopicPartition,
        topic_id: bytes,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        error: int = 0,
    ) -> None: ...

class FetchedPartition:
    index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    records: Any
    aborted: Sequence[Any] | None
    diverging_epoch: int
    diverging_end: int
    leader_id: int
    leader_epoch: int
    preferred_read_replica: int
    def __init__(
        self,
        index: int,
        error_code: int = 0,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        records: Any = b"",
        aborted: Sequence[Any] | None = (),
    ) -> None: ...

class FetchAsk:
    version: int
    uses_ids: bool
    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[tuple[str | None, bytes, list[PartitionFetch]]]
    forgotten: list[tuple[str | None, bytes, list[int]]]
    @staticmethod
    def decode(buffer: bytes | bytearray | memoryview, version: int, position: int = 0) -> FetchAsk: ...
    def fetches(self, resolve: Callable[[bytes], str | None]) -> dict[Key, PartitionFetch]: ...
    def forgotten_keys(self) -> list[Key]: ...

class FetchAnswer:
    error_code: int
    session_id: int
    topics: list[tuple[str, bytes, list[FetchedPartition]]]
    node_endpoints: list[Any]
    def __init__(self, error_code: int = 0, session_id: int = 0) -> None: ...
    def release(self) -> None: ...
    def encode_parts(self, version: int, head: bytes = b"") -> list[Any]: ...
