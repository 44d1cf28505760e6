from collections.abc import Callable, Iterator
from typing import Any

from tidelog.common.varint import Buffer

Binary = tuple[int, int, int, int]

class BatchEncoder:
    def __init__(
        self,
        rows: int,
        *,
        order: tuple[int, int] | None = None,
        key: Binary | None = None,
        value: Binary | None = None,
        timestamps: int = 0,
        timestamp: int = -1,
        headers: tuple[int, int, int, Binary, Binary, int] | None = None,
        attributes: int = 0,
        level: int | None = None,
        max_batch_bytes: int,
        base_offset: int | None = None,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        leader_epoch: int = -1,
        checksum: bool = True,
    ) -> None: ...
    def encode(self, allocate: Callable[[int], Any] = ...) -> list[memoryview]: ...
    def encode_each(self, allocate: Callable[[int], Any] = ...) -> Iterator[memoryview]: ...
    def first_larger(self, limit: int) -> tuple[int, int] | None: ...

def murmur2(data: Buffer) -> int: ...
def place_keys(key: Binary | None, count: int, partitions: int, out: int) -> None: ...
def order_by_place(places: int, count: int, partitions: int, out: int) -> list[int]: ...
