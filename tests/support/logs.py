"""Partition logs for tests: batches by the dozen, and a log in a temporary directory with a clock moved by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.rng import seeded_rng
from tidelog.common.scheduler import TimerQueue
from tidelog.log.config import LogConfig
from tidelog.log.partition.opening import Checkpointed, LogSettings
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.producers.state_manager import DEFAULT_EXPIRATION_MS
from tidelog.log.segment.file_budget import FileBudget
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import Record, iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel._batches import BatchRun
from tidelog.testing.clock import ManualClock

#: 2023-11-14: where the clocks of these tests start.
START_MS = 1_700_000_000_000


def batch(
    values: Iterable[bytes | None] = (b"value",),
    *,
    keys: Iterable[bytes | None] | None = None,
    timestamp: int = START_MS,
    base_offset: int = 0,
    magic: int = 2,
    codec: Codec = Codec.NONE,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    leader_epoch: int = -1,
) -> bytes:
    """One batch; its records' timestamps rise by one millisecond from `timestamp`."""
    values = list(values)
    builder = BatchBuilder(
        magic=magic,
        codec=codec,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
        leader_epoch=leader_epoch,
    )
    for index, (key, value) in enumerate(zip(keys or [b"key"] * len(values), values, strict=True)):
        builder.append(timestamp + index, key, value)
    return bytes(builder.build())


def sized(size: int, base: int, times: list[int]) -> bytes:
    """A batch of exactly `size` bytes: one record per time, its value the offset in digits and some padding."""
    padding = 0
    while True:
        builder = BatchBuilder(base_offset=base)
        for index, time in enumerate(times):
            extra = padding // len(times) + (index < padding % len(times))
            builder.append(time, None, b"%d" % (base + index) + b" " * extra)
        data = bytes(builder.build())
        if len(data) == size:
            return data
        assert len(data) < size, f"{len(times)} records cannot take {size} bytes"
        padding += 1


def run_of(*batches: bytes) -> BatchRun:
    """The batches in one writable buffer, parsed (not checked)."""
    run = BatchRun(bytearray(b"".join(batches)))
    run.scan()
    return run


def small_config(**overrides: object) -> LogConfig:
    """A configuration with small segments: `small_config(segment_bytes=500)`."""
    settings = {"internal.segment.bytes": 2000, "segment.index.bytes": 4096, "index.interval.bytes": 200}
    for name, value in overrides.items():
        key = name.replace("_", ".")
        settings["internal.segment.bytes" if key == "segment.bytes" else key] = value  # type: ignore[assignment] # parsed
    return LogConfig.from_topic({name: str(value) for name, value in settings.items()})


class LogBench:
    """Opens, closes and reopens one partition's log."""

    def __init__(self, path: Path, *, fs: FileSystem = LOCAL_FS, config: LogConfig | None = None) -> None:
        self.dir = path / "topic-0"
        self.fs = fs
        self.clock = ManualClock(START_MS)
        self.scheduler = TimerQueue(self.clock)
        self.files = FileBudget(64)
        self.config = config or small_config()

    def open(
        self,
        *,
        topic_id: bytes | None = None,
        verify_transactions: bool = False,
        producer_expiration_ms: int = DEFAULT_EXPIRATION_MS,
        **checkpointed: Any,
    ) -> PartitionLog:
        settings = LogSettings(
            self.fs,
            self.clock,
            seeded_rng(1),
            self.files,
            self.scheduler,
            producer_expiration_ms=producer_expiration_ms,
            verify_transactions=verify_transactions,
        )
        return PartitionLog.open(self.dir, self.config, settings, Checkpointed(**checkpointed), topic_id=topic_id)

    def names(self) -> list[str]:
        return self.fs.listdir(self.dir)


def fill(log: PartitionLog, batches: int, *, records: int = 3, epoch: int = 0, size: int = 20) -> None:
    """Append as leader; record number n has the value `n` in `size` digits and the timestamp START_MS + n."""
    for _ in range(batches):
        first = log.log_end_offset
        values = [f"{first + index:0{size}d}".encode() for index in range(records)]
        log.append_as_leader(run_of(batch(values, timestamp=START_MS + first)), epoch)
    log.advance_high_watermark(log.log_end_offset)


def records_of(log: PartitionLog, start: int | None = None, *, max_bytes: int = 1 << 20) -> list[Record]:
    """Every record from `start` (the log start) to the end, read as a consumer reads."""
    offset = log.log_start_offset if start is None else start
    found: list[Record] = []
    while offset < log.log_end_offset:
        result = log.read(offset, max_bytes)
        if result.slice is None:
            break
        data = result.slice.read()
        result.slice.release()
        for part in iter_batches(data, check_crc=True):
            found += [record for record in part.records() if record.offset >= offset]
            offset = part.next_offset
    return found
