from typing import Protocol

from tidelog.common.fs import Buffer
from tidelog.log.cleaner._offset_map import OffsetMap

MORE: int
LEGACY: int
FULL: int

class _Transactions(Protocol):
    def on_batch(self, producer_id: int, last_offset: int) -> bool: ...
    def on_control(self, producer_id: int, last_offset: int, kind: int) -> bool: ...

class CleanerKernel:
    messages_read: int
    messages_retained: int
    keyless: int
    def __init__(self) -> None: ...
    def index(
        self,
        offsets: OffsetMap,
        data: Buffer,
        size: int,
        start_offset: int,
        most_entries: int,
        transactions: _Transactions,
    ) -> tuple[int, int]: ...
    def filter(
        self,
        offsets: OffsetMap,
        data: Buffer,
        size: int,
        now_ms: int,
        delete_retention_ms: int,
        transactions: _Transactions,
        last_records: dict[int, tuple[int, int]],
    ) -> tuple[int, int, bytes]: ...
