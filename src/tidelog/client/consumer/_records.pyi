from collections.abc import Callable, Iterable
from typing import Any

from tidelog.common.types import TopicPartition
from tidelog.records.format.attributes import TimestampType

Source = bytes | bytearray | memoryview
Headers = tuple[tuple[str, bytes | None], ...]
Decoder = Callable[[str, bytes, Headers], Any]

class Decoders:
    def __init__(self, key: Decoder | type[str] | None = None, value: Decoder | type[str] | None = None) -> None: ...

class ConsumerRecord:
    offset: int
    timestamp: int
    serialized_key_size: int
    serialized_value_size: int
    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        key: Any = None,
        value: Any = None,
        *,
        timestamp: int = -1,
        timestamp_type: TimestampType = ...,
        headers: Iterable[tuple[str, bytes | None]] = (),
        leader_epoch: int | None = None,
        serialized_key_size: int = -1,
        serialized_value_size: int = -1,
    ) -> None: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def leader_epoch(self) -> int | None: ...
    @property
    def timestamp_type(self) -> TimestampType: ...
    @property
    def key(self) -> Any: ...
    @property
    def value(self) -> Any: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def raw_key(self) -> bytes | None: ...
    @property
    def raw_value(self) -> bytes | None: ...
    @property
    def checksum(self) -> int: ...
    def copy(self) -> ConsumerRecord: ...

class RecordCursor:
    topic_partition: TopicPartition
    next_offset: int
    size: int
    leader_epoch: int
    checks: bool
    def __init__(
        self,
        topic_partition: TopicPartition,
        source: Source,
        start: int,
        *,
        aborted: Iterable[tuple[int, int]] = (),
        decoders: Decoders | None = None,
        checks: bool = False,
    ) -> None: ...
    @property
    def left(self) -> bool: ...
    def rest(self) -> tuple[Source, int, tuple[tuple[int, int], ...]]: ...
    def check(self) -> None: ...
    def close(self) -> None: ...
    def take(self, into: list[ConsumerRecord], most: int) -> int: ...
