"""Compaction of magic 0 and 1 entries: the same rules, record by record.

What stays of such an entry is written as a magic 2 batch (with the entry's codec and timestamp type), as Kafka does
since 4.0: the old formats cannot carry a delete horizon. Until then their tombstones are judged by the age of the
segment's file.
"""

from __future__ import annotations

from tidelog.common.named_tuple import NamedTuple
from tidelog.log.cleaner._offset_map import OffsetMap
from tidelog.records.format.attributes import TimestampType
from tidelog.records.format.batch import Record, RecordBatch
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel._batches import BatchRun


class Filtered(NamedTuple):
    """What became of an entry: the batch of what stays, how many of its records were read and kept, and how many were
    dropped for having no key."""

    batch: bytes
    read: int
    kept: int
    keyless: int


def index_entry(offsets: OffsetMap, entry: memoryview, start: int, most_entries: int) -> bool:
    """Put the entry's keys into the map; true when it became full on the way."""
    batch = _batch(entry)
    for record in batch.records():
        if record.key is None or record.offset < start:
            continue
        if len(offsets) >= most_entries:
            return True
        offsets.put(record.key, record.offset)
    if batch.last_offset >= start:
        offsets.update_latest_offset(batch.last_offset)
    return False


def filter_entry(offsets: OffsetMap, entry: memoryview, hold_tombstones: bool, horizon: int) -> Filtered:
    """The magic 2 batch of what stays, or no bytes."""
    batch = _batch(entry)
    records = batch.records()
    kept = [record for record in records if _stays(offsets, record, hold_tombstones)]
    keyless = sum(record.key is None and record.offset <= offsets.latest_offset for record in records)
    if not kept:
        return Filtered(b"", len(records), 0, keyless)
    append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    builder = BatchBuilder(
        codec=batch.codec,
        timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
        base_offset=kept[0].offset,
        log_append_time=batch.max_timestamp if append_time else None,
        delete_horizon=horizon if any(record.value is None for record in kept) else None,
    )
    for record in kept:
        builder.append(record.timestamp, record.key, record.value, record.headers, offset=record.offset)
    return Filtered(builder.build(), len(records), len(kept), keyless)


def _stays(offsets: OffsetMap, record: Record, hold_tombstones: bool) -> bool:
    """A record behind what the map covers is not judged yet. One without a key should not be in a compacted log at all
    and goes; the others stay while nothing later has their key, and a tombstone only as long as it is held."""
    if record.offset > offsets.latest_offset:
        return True
    if record.key is None:
        return False
    return record.offset >= offsets.get(record.key) and (record.value is not None or hold_tombstones)


def _batch(entry: memoryview) -> RecordBatch:
    """The entry as a batch of its own, its checksum checked: what is wrong must not be copied with a right one."""
    run = BatchRun(entry)
    run.scan()
    batch = RecordBatch(run, 0)
    batch.check_crc()
    return batch
