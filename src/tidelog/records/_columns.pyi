from collections.abc import Iterable

from tidelog.records._batches import Source

Addresses = tuple[int, int, int, int]

class ColumnReader:
    def __init__(
        self,
        *,
        first_offset: int | None = None,
        last_offset: int | None = None,
        skip_control: bool = True,
        aborted: Iterable[tuple[int, int]] = (),
        limit: int,
    ) -> None: ...
    @property
    def buffers(self) -> list[Source]: ...
    @property
    def rows_bound(self) -> int: ...
    @property
    def bytes_bound(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    def add(self, source: Source, check_crc: bool = False) -> int: ...
    def fill(
        self,
        *,
        offset: int = 0,
        timestamp: int = 0,
        timestamp_type: int = 0,
        key: Addresses | None = None,
        value: Addresses | None = None,
    ) -> tuple[int, int, int, int, int, int, int]: ...
    def fill_headers(
        self, count: int = 0, ends: int = 0, name: Addresses | None = None, value: Addresses | None = None
    ) -> tuple[int, int, int]: ...
