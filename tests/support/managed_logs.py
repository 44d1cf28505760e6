"""Logs under a log manager, for tests: append keyed records, end transactions, read everything back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.rng import seeded_rng
from tidelog.common.types import TopicPartition
from tidelog.log.append import AppendInfo, AppendOrigin
from tidelog.log.config import LogConfig
from tidelog.log.manager.manager import LogManager
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import Record, RecordBatch
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker
from tidelog.records.kernel._batches import BatchRun
from tidelog.testing.clock import ManualClock

Pairs = Iterable[tuple[bytes | None, bytes | None]]
TP = TopicPartition("orders", 0)


def compact_config(**settings: object) -> LogConfig:
    """A compacted topic with small segments that is cleaned at any dirtiness."""
    values: dict[str, object] = {
        "cleanup.policy": "compact",
        "internal.segment.bytes": 1000,
        "segment.index.bytes": 1200,
        "index.interval.bytes": 100,
        "min.cleanable.dirty.ratio": 0.0,
    }
    values |= {name.replace("_", "."): value for name, value in settings.items()}
    return LogConfig.from_topic(values)


def open_manager(
    *dirs: Path,
    fs: FileSystem = LOCAL_FS,
    clock: ManualClock | None = None,
    config: LogConfig | None = None,
    **defaults: object,
) -> LogManager:
    """A manager over these directories, loaded; every topic has the given configuration."""
    settings = {name.replace("_", "."): value for name, value in defaults.items()}
    manager = LogManager(list(dirs), settings, fs=fs, clock=clock or ManualClock(), rng=seeded_rng(5))
    manager.open()
    manager.load((lambda topic: config) if config is not None else None)
    return manager


def append(
    log: PartitionLog,
    pairs: Pairs,
    *,
    timestamp: int | None = None,
    codec: Codec = Codec.NONE,
    producer_id: int = -1,
    producer_epoch: int = 0,
    sequence: int = -1,
    transactional: bool = False,
) -> AppendInfo:
    """Append one batch as a leader, and let the high watermark follow."""
    now = log.home.clock.time_ms() if timestamp is None else timestamp
    builder = BatchBuilder(
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch if producer_id >= 0 else -1,
        base_sequence=sequence,
        transactional=transactional,
    )
    for key, value in pairs:
        builder.append(now, key, value)
    return append_bytes(log, builder.build())


def append_bytes(log: PartitionLog, batch: bytes, origin: AppendOrigin = AppendOrigin.CLIENT) -> AppendInfo:
    run = BatchRun(bytearray(batch))
    run.scan()
    info = log.append_as_leader(run, 0, origin=origin)
    log.advance_high_watermark(log.log_end_offset)
    return info


def end_transaction(log: PartitionLog, producer_id: int, *, committed: bool, epoch: int = 0) -> AppendInfo:
    marker = end_txn_marker(
        producer_id, epoch, committed=committed, coordinator_epoch=0, timestamp=log.home.clock.time_ms()
    )
    return append_bytes(log, marker, AppendOrigin.COORDINATOR)


def batches_of(log: PartitionLog) -> Iterator[RecordBatch]:
    """Every batch, as it lies on disk (the buffers are copies)."""
    for segment in log.segments:
        for _, run in segment.batches():
            copy = BatchRun(b"".join(run.buffers()))
            copy.scan()
            yield from (RecordBatch(copy, index) for index in range(len(copy)))


def all_records(log: PartitionLog) -> list[Record]:
    """Every record that a reader of everything gets, markers excepted."""
    return [r for b in batches_of(log) if not b.is_control for r in b.records() if r.offset >= log.log_start_offset]


def latest_values(records: Iterable[Record]) -> dict[bytes, bytes]:
    """What a table kept by these records would hold."""
    table: dict[bytes, bytes] = {}
    for record in records:
        if record.key is None:
            continue
        if record.value is None:
            table.pop(record.key, None)
        else:
            table[record.key] = record.value
    return table
