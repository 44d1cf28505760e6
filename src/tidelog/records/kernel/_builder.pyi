from collections.abc import Sequence

class BatchWriter:
    base_offset: int
    base_timestamp: int
    max_timestamp: int
    count: int
    def __init__(
        self,
        *,
        attributes: int = 0,
        level: int | None = None,
        base_offset: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        leader_epoch: int = -1,
        log_append_time: int | None = None,
        delete_horizon: int | None = None,
    ) -> None: ...
    @property
    def size_estimate(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        offset: int | None = None,
    ) -> int: ...
    def build(self, last_offset: int | None = None) -> bytes: ...
    def build_empty(self, last_offset: int, timestamp: int) -> bytes: ...
