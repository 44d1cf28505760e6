from collections.abc import Callable
from typing import TypedDict, Unpack

from tidelog.records.kernel._batches import Source
from tidelog.records.kernel._filter import BatchFilter

Addresses = tuple[int, int, int, int]
#: Rows, rows without timestamp, headers, key bytes, null keys, value bytes, null values.
Sizes = tuple[int, int, int, int, int, int, int]

class ColumnAddresses(TypedDict, total=False):
    offset: int
    timestamp: int
    timestamp_type: int
    key: Addresses
    value: Addresses

class ColumnReader:
    def __init__(self, wanted: BatchFilter, up_convert: Callable[..., bytes], *, limit: int) -> None: ...
    @property
    def buffers(self) -> list[Source]: ...
    @property
    def rows_bound(self) -> int: ...
    @property
    def bytes_bound(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    def add(self, source: Source, check_crc: bool = False) -> int: ...
    def fill(self, **addresses: Unpack[ColumnAddresses]) -> Sizes: ...
    def fill_headers(
        self, count: int = 0, ends: int = 0, name: Addresses | None = None, value: Addresses | None = None
    ) -> tuple[int, int, int]: ...
