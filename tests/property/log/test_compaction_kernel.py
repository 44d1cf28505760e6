"""The compiled loops of the cleaner against their plain Python reference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.cleaner import filter_batches, latest_offsets
from tidelog.common.errors import CorruptRecordError
from tidelog.log.cleaner._cleaner import FULL, LEGACY, MORE, CleanerKernel
from tidelog.log.cleaner._offset_map import BYTES_PER_ENTRY, OffsetMap
from tidelog.log.cleaner.cleaned_transactions import CleanedTransactions
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker

NOW = 1_704_067_200_000
RETENTION = 86_400_000

keys = st.one_of(st.none(), st.sampled_from([b"a", b"b", b"c", b"", b"d" * 60, b"e" * 200]))
records = st.lists(
    st.tuples(st.integers(-5, 5), keys, st.one_of(st.none(), st.just(b"v"), st.just(b"w" * 40))), max_size=6
)
batches = st.fixed_dictionaries(
    {
        "records": records,
        "gaps": st.lists(st.integers(0, 2), min_size=6, max_size=6),
        "codec": st.sampled_from([Codec.NONE, Codec.NONE, Codec.ZSTD, Codec.LZ4]),
        "append_time": st.booleans(),
        "horizon": st.sampled_from([None, None, NOW - 1, NOW, NOW + 1]),
        "producer": st.sampled_from([-1, -1, 1, 2]),
        "transactional": st.booleans(),
        "ends": st.sampled_from([None, None, "commit", "abort"]),
    }
)


def build_log(specs: list[dict[str, Any]]) -> tuple[bytes, list[AbortedTxn], dict[int, tuple[int, int]]]:
    """A log of batches and markers, the aborted transactions in it, and each producer's last offset."""
    log, offset = b"", 0
    aborted: list[AbortedTxn] = []
    opened: dict[int, int] = {}
    last: dict[int, tuple[int, int]] = {}
    for number, spec in enumerate(specs):
        producer = spec["producer"]
        builder = BatchBuilder(
            codec=spec["codec"],
            timestamp_type=TimestampType.LOG_APPEND_TIME if spec["append_time"] else TimestampType.CREATE_TIME,
            log_append_time=NOW + number if spec["append_time"] else None,
            base_offset=offset,
            producer_id=producer,
            producer_epoch=3 if producer >= 0 else -1,
            base_sequence=number if producer >= 0 else -1,
            transactional=spec["transactional"] and producer >= 0,
            leader_epoch=7,
            delete_horizon=spec["horizon"],
        )
        at = offset
        for (delta, key, value), gap in zip(spec["records"], spec["gaps"], strict=False):
            at += gap
            builder.append(NOW + delta, key, value, [("h", b"x")] if gap else (), offset=at)
            at += 1
        if spec["records"]:
            log += builder.build(last_offset=at)
        else:
            log += builder.build_empty(last_offset=at, timestamp=NOW)
        if producer >= 0:
            last[producer] = (at, 3)
            if spec["transactional"]:
                opened.setdefault(producer, offset)
        offset = at + 1
        if spec["ends"] and producer >= 0:
            committed = spec["ends"] == "commit"
            log += end_txn_marker(
                producer, 3, committed=committed, coordinator_epoch=0, timestamp=NOW, base_offset=offset, leader_epoch=7
            )
            start = opened.pop(producer, None)
            if not committed and start is not None:
                aborted.append(AbortedTxn(producer, start, offset, offset + 1))
            if number % 2:
                last[producer] = (-1, 3)
            offset += 1
    return log, aborted, last


def transactions_of(aborted: list[AbortedTxn]) -> CleanedTransactions:
    transactions = CleanedTransactions()
    transactions.add_aborted(aborted)
    return transactions


def decoded(data: bytes) -> list[Any]:
    """Everything that batches say, except how their records are compressed."""
    return [(*batch.header[2:6], *batch.header[7:], batch.records()) for batch in iter_batches(data, check_crc=True)]


@settings(max_examples=150, deadline=None)
@given(st.lists(batches, max_size=6), st.integers(0, 12), st.integers(0, 30))
def test_index_and_filter_do_what_the_reference_does(specs: list[dict[str, Any]], start: int, cut: int) -> None:
    log, aborted, last = build_log(specs)
    offsets = OffsetMap(BYTES_PER_ENTRY * 100)
    kernel = CleanerKernel()
    assert kernel.index(offsets, log, len(log), start, 90, transactions_of(aborted)) == (MORE, len(log))
    latest = latest_offsets(iter_batches(log), start, transactions_of(aborted))
    assert {key: offsets.get(key) for key in latest} == latest
    assert len(offsets) == len(latest)
    end = next((batch.last_offset for batch in reversed(list(iter_batches(log)))), -1)
    assert offsets.latest_offset == (end if end >= start else -1)

    offsets.update_latest_offset(cut)  # as if the map had been full there
    expected = filter_batches(log, latest, cut, NOW, RETENTION, transactions_of(aborted), last)
    status, done, output = kernel.filter(offsets, log, len(log), NOW, RETENTION, transactions_of(aborted), last)
    assert (status, done) == (MORE, len(log))
    assert decoded(output) == decoded(expected)
    if all(spec["codec"] == Codec.NONE for spec in specs):
        assert output == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(batches, max_size=5), st.integers(1, 4))
def test_a_full_map_stops_within_a_batch(specs: list[dict[str, Any]], room: int) -> None:
    log, aborted, _ = build_log(specs)
    offsets = OffsetMap(BYTES_PER_ENTRY * 100)
    status, done = CleanerKernel().index(offsets, log, len(log), 0, room, transactions_of(aborted))
    everything = latest_offsets(iter_batches(log), 0, transactions_of(aborted))
    if len(everything) < room:
        assert (status, done) == (MORE, len(log))
        return
    assert len(offsets) <= room
    if status == FULL:  # every key up to the last offset is in, and the map says so
        known = offsets.latest_offset
        seen: dict[bytes, int] = {}
        transactions = transactions_of(aborted)
        for batch in iter_batches(log):
            if batch.is_control:
                continue
            if batch.is_transactional and transactions.on_batch(batch.producer_id, batch.last_offset):
                continue
            seen.update((r.key, r.offset) for r in batch.records() if r.key is not None and r.offset <= known)
        assert {key: offsets.get(key) for key in seen} == seen


@settings(max_examples=80, deadline=None)
@given(st.lists(batches, min_size=1, max_size=3), st.integers(0, 10**6), st.integers(0, 255))
def test_a_changed_byte_is_corruption_or_another_whole_batch(
    specs: list[dict[str, Any]], where: int, byte: int
) -> None:
    log, aborted, last = build_log(specs)
    broken = bytearray(log)
    broken[where % len(log)] = byte
    try:
        offsets = OffsetMap(BYTES_PER_ENTRY * 100)
        kernel = CleanerKernel()
        kernel.index(offsets, broken, len(broken), 0, 90, transactions_of(aborted))
        *_, output = kernel.filter(offsets, broken, len(broken), NOW, RETENTION, transactions_of(aborted), last)
    except CorruptRecordError:
        return
    list(iter_batches(output, check_crc=True))


def test_it_stops_before_a_cut_batch_and_before_old_formats() -> None:
    builder = BatchBuilder()
    builder.append(NOW, b"k", b"v")
    batch = builder.build()
    kernel, offsets, transactions = CleanerKernel(), OffsetMap(2400), CleanedTransactions()
    assert kernel.index(offsets, batch + batch[:50], 2 * len(batch), 0, 90, transactions) == (MORE, len(batch))
    old = bytearray(batch)
    old[16] = 1
    assert kernel.index(offsets, batch + bytes(old), 2 * len(batch), 0, 90, transactions) == (LEGACY, len(batch))


def test_records_that_do_not_fit_their_batch_are_corrupt() -> None:
    builder = BatchBuilder()
    builder.append(NOW, b"k", b"v")
    good = bytearray(builder.build())
    good[57:61] = (2).to_bytes(4, "big")
    from tidelog.records.kernel.crc32c import crc32c

    good[17:21] = crc32c(good[21:]).to_bytes(4, "big")
    with pytest.raises(CorruptRecordError, match="records"):
        CleanerKernel().index(OffsetMap(2400), good, len(good), 0, 90, CleanedTransactions())
