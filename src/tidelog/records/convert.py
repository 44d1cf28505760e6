"""Conversion between the three formats.

Down: for a consumer that asks with a Fetch version of before the batch's format. Headers, producer ids and control
batches do not exist there and are lost. Up: for records of an old producer, and for old segments.

Offsets and timestamps are kept. A batch that is old enough already is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.common.errors import CorruptRecordError, ErrorCode, KafkaError
from tidelog.common.types import MAX_INT32
from tidelog.records.attributes import MAGIC_V1, MAGIC_V2, Codec, TimestampType
from tidelog.records.batch import Record, RecordBatch, Source, iter_batches
from tidelog.records.builder import BatchBuilder
from tidelog.records.compression import DEFAULT_LIMIT


def down_convert(buffer: Source, to_magic: int, first_offset: int = 0, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """The buffer's batches with at most magic `to_magic`. Plain messages below `first_offset` are left out; a packed
    batch is sent whole, and the client skips what it did not ask for."""
    parts: list[bytes | memoryview] = []
    for batch in iter_batches(buffer):
        if batch.magic <= to_magic:
            parts.append(batch.raw)
        elif not (batch.is_control and to_magic < MAGIC_V2):
            records: list[Record] = batch.records(limit=limit)
            if to_magic <= MAGIC_V1 and batch.codec == Codec.NONE:
                records = [record for record in records if record.offset >= first_offset]
            if records:
                parts.append(_rewrite(batch, records, to_magic))
    return b"".join(parts)


def up_convert(buffer: Source, to_magic: int = MAGIC_V2, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """The buffer's entries with at least magic `to_magic`, each one batch."""
    parts: list[bytes | memoryview] = []
    for batch in iter_batches(buffer):
        if batch.magic >= to_magic:
            parts.append(batch.raw)
        else:
            parts.append(_rewrite(batch, batch.records(limit=limit), to_magic))
    return b"".join(parts)


def _rewrite(batch: RecordBatch, records: Iterable[Record], to_magic: int) -> bytes:
    if batch.codec == Codec.ZSTD and to_magic < MAGIC_V2:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd batches cannot be sent as magic 0 or 1")
    append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    kept = list(records)
    builder = BatchBuilder(
        to_magic,
        batch.codec,
        timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
        base_offset=kept[0].offset,
        log_append_time=batch.max_timestamp if append_time else None,
    )
    last = kept[0].offset - 1
    for record in kept:
        if not last < record.offset <= kept[0].offset + MAX_INT32:
            raise CorruptRecordError(f"offset {record.offset} comes after {last}", batch.position)
        last = record.offset
        headers = record.headers if to_magic == MAGIC_V2 else ()
        builder.append(record.timestamp, record.key, record.value, headers, record.offset)
    return builder.build()
