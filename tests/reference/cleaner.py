"""The cleaner's filter in plain Python: what `log/cleaner/_cleaner.pyx` is compared with."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.log.cleaner.cleaned_transactions import CleanedTransactions
from tidelog.records.format.attributes import TimestampType
from tidelog.records.format.batch import Record, RecordBatch, iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import control_type


def latest_offsets(batches: Iterable[RecordBatch], start: int, transactions: CleanedTransactions) -> dict[bytes, int]:
    latest: dict[bytes, int] = {}
    for batch in batches:
        if batch.is_control:
            _on_control(batch, transactions)
        elif not (batch.is_transactional and transactions.on_batch(batch.producer_id, batch.last_offset)):
            latest.update((r.key, r.offset) for r in batch.records() if r.key is not None and r.offset >= start)
    return latest


def filter_batches(
    data: bytes,
    latest: dict[bytes, int],
    latest_offset: int,
    now_ms: int,
    delete_retention_ms: int,
    transactions: CleanedTransactions,
    last_records: dict[int, tuple[int, int]],
) -> bytes:
    out = b""
    for batch in iter_batches(data):
        horizon = batch.header.delete_horizon
        passed = horizon is not None and horizon <= now_ms
        marker_may_go = batch.is_control and _on_control(batch, transactions)
        if batch.is_control:
            discard = marker_may_go and passed
        else:
            discard = batch.is_transactional and transactions.on_batch(batch.producer_id, batch.last_offset)
        kept = [] if discard else [r for r in batch.records() if _stays(batch, r, latest, latest_offset, passed)]
        if kept:
            new_horizon = horizon is None and (marker_may_go or any(record.value is None for record in kept))
            if len(kept) == len(batch.records()) and not new_horizon:
                out += bytes(batch.raw)
            else:
                out += _rewritten(batch, kept, now_ms + delete_retention_ms if new_horizon else horizon)
        elif _is_last_of_its_producer(batch, last_records):
            out += _builder(batch, None).build_empty(last_offset=batch.last_offset, timestamp=batch.max_timestamp)
    return out


def _stays(batch: RecordBatch, record: Record, latest: dict[bytes, int], latest_offset: int, passed: bool) -> bool:
    if batch.is_control or record.offset > latest_offset:
        return True
    if record.key is None:
        return False
    return record.offset >= latest.get(record.key, -1) and (record.value is not None or not passed)


def _is_last_of_its_producer(batch: RecordBatch, last_records: dict[int, tuple[int, int]]) -> bool:
    if batch.producer_id < 0 or batch.producer_id not in last_records:
        return False
    last_offset, epoch = last_records[batch.producer_id]
    if last_offset >= 0:
        return last_offset == batch.last_offset
    return batch.is_control and epoch == batch.producer_epoch


def _rewritten(batch: RecordBatch, kept: list[Record], horizon: int | None) -> bytes:
    builder = _builder(batch, horizon)
    for record in kept:
        builder.append(record.timestamp, record.key, record.value, record.headers, offset=record.offset)
    return builder.build(last_offset=batch.last_offset)


def _builder(batch: RecordBatch, horizon: int | None) -> BatchBuilder:
    append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    return BatchBuilder(
        codec=batch.codec,
        timestamp_type=batch.timestamp_type,
        base_offset=batch.base_offset,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.is_transactional,
        control=batch.is_control,
        leader_epoch=batch.leader_epoch,
        log_append_time=batch.max_timestamp if append_time else None,
        delete_horizon=horizon,
    )


def _on_control(batch: RecordBatch, transactions: CleanedTransactions) -> bool:
    records = batch.records()
    kind = int(control_type(records[0].key)) if records else -1
    return transactions.on_control(batch.producer_id, batch.last_offset, kind)
