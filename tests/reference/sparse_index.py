"""The sparse indexes as plain lists: what `tidelog.log.segment._index` is compared with."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


@dataclass
class IndexReference:
    """Appends batches by Kafka's rule (4.x: per batch) and remembers the entries."""

    base_offset: int
    interval: int
    offset_limit: int
    time_limit: int
    offsets: list[tuple[int, int]] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    since_last: int = 0
    position: int = 0
    max_timestamp: int = -1
    offset_of_max: int = -1

    def append(self, last_offset: int, size: int, timestamp: int) -> None:
        if timestamp > self.max_timestamp:
            self.max_timestamp, self.offset_of_max = timestamp, last_offset
        if self.since_last > self.interval:
            if len(self.offsets) < self.offset_limit:
                self.offsets.append((last_offset, self.position))
                if len(self.times) < self.time_limit - 1:
                    self.add_time()
            self.since_last = 0
        self.position += size
        self.since_last += size

    def add_time(self) -> None:
        if self.max_timestamp > (self.times[-1][0] if self.times else -1):
            self.times.append((self.max_timestamp, self.offset_of_max))

    def finish(self) -> None:
        self.add_time()

    def offset_bytes(self) -> bytes:
        return b"".join(struct.pack(">ii", offset - self.base_offset, at) for offset, at in self.offsets)

    def time_bytes(self) -> bytes:
        return b"".join(struct.pack(">qi", time, offset - self.base_offset) for time, offset in self.times)

    def lookup(self, offset: int) -> tuple[int, int]:
        return next((entry for entry in reversed(self.offsets) if entry[0] <= offset), (self.base_offset, 0))

    def time_lookup(self, timestamp: int) -> tuple[int, int]:
        return next((entry for entry in reversed(self.times) if entry[0] <= timestamp), (-1, self.base_offset))
