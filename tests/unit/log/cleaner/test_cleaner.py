"""Compaction, rule by rule, on small real logs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.managed_logs import (
    TP,
    all_records,
    append,
    batches_of,
    compact_config,
    end_transaction,
    latest_values,
    open_manager,
)
from tidelog.common.errors import CorruptRecordError
from tidelog.common.types import TopicPartition
from tidelog.log.cleaner.cleaner import LogCleaner
from tidelog.log.cleaner.config import CleanerConfig
from tidelog.log.cleaner.errors import CleaningAborted
from tidelog.log.cleaner.plan import measure
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import CLEANED, SWAP
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.records.format.attributes import Codec
from tidelog.testing.clock import ManualClock
from tidelog.testing.fs import FailingFileSystem

DAY_MS = 86_400_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def manager(tmp_path: Path, clock: ManualClock) -> LogManager:
    return open_manager(tmp_path / "data", clock=clock, log_cleaner_dedupe_buffer_size=24 * 100)


def clean(manager: LogManager) -> int:
    """Clean until nothing is worth it; return how many passes that took."""
    rewriter = manager.cleaner.new_rewriter()
    passes = 0
    while manager.cleaner.clean_one(rewriter) is not None:
        passes += 1
        assert not manager.cleaner.uncleanable
        assert passes < 50
    return passes


def offsets(log: PartitionLog) -> list[int]:
    return [record.offset for record in all_records(log)]


def test_only_the_last_value_of_a_key_stays_with_its_offset(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"b", b"1"), (b"a", b"2")])
    append(log, [(b"b", b"2"), (b"c", b"1")])
    log.roll()
    assert clean(manager) == 1
    assert [(r.offset, r.key, r.value) for r in all_records(log)] == [(2, b"a", b"2"), (3, b"b", b"2"), (4, b"c", b"1")]
    assert log.log_end_offset == 5
    assert manager.dirs[0].cleaner_offsets() == {TP: 5}


def test_the_active_segment_is_never_touched(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"a", b"2")])
    assert clean(manager) == 0
    assert offsets(log) == [0, 1]


def test_nothing_beyond_the_last_stable_offset_is_cleaned(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll()
    append(log, [(b"a", b"3")], producer_id=7, sequence=0, transactional=True)
    log.roll()
    append(log, [(b"a", b"4")])
    log.roll()
    clean(manager)
    assert offsets(log) == [1, 2, 3]
    end_transaction(log, 7, committed=True)
    log.roll()
    clean(manager)
    assert offsets(log) == [3]


def test_young_segments_wait_for_min_compaction_lag(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config(min_compaction_lag_ms=60_000))
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll()
    append(log, [(b"b", b"1"), (b"b", b"2")], timestamp=clock.time_ms() + 60_000)
    log.roll()
    assert clean(manager) == 0
    clock.advance(61)
    clean(manager)
    assert offsets(log) == [1, 2, 3]
    clock.advance(61)
    clean(manager)
    assert offsets(log) == [1, 3]


def test_max_compaction_lag_beats_the_dirty_ratio(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config(min_cleanable_dirty_ratio=0.99, max_compaction_lag_ms=60_000))
    append(log, [(b"%d" % n, b"1") for n in range(20)])
    log.roll()
    clock.advance(61)
    assert clean(manager) == 1  # all of it is dirty
    append(log, [(b"0", b"2")])
    log.roll()
    assert clean(manager) == 0
    clock.advance(61)
    assert clean(manager) == 1
    assert offsets(log) == [*range(1, 21)]


def test_the_dirtiest_log_is_cleaned_first(manager: LogManager) -> None:
    half, whole = TopicPartition("half", 0), TopicPartition("whole", 0)
    log = manager.create(half, compact_config())
    append(log, [(b"a", b"1")] * 10)
    log.roll()
    manager.cleaner.clean_one(manager.cleaner.new_rewriter())
    append(log, [(b"a", b"1")] * 2)
    log.roll()
    other = manager.create(whole, compact_config())
    append(other, [(b"a", b"1")] * 2)
    other.roll()
    assert measure(other, None, 0)[0].ratio == 1.0
    assert 0 < measure(log, 10, 0)[0].ratio < 1
    job = manager.cleaner.clean_one(manager.cleaner.new_rewriter())
    assert job is not None
    assert job.log is other


def test_a_log_that_is_clean_enough_is_left_alone(manager: LogManager) -> None:
    log = manager.create(TP, compact_config(min_cleanable_dirty_ratio=0.5))
    append(log, [(b"%d" % n, b"x" * 20) for n in range(30)])
    log.roll()
    assert clean(manager) == 1
    append(log, [(b"1", b"y")])
    log.roll()
    assert clean(manager) == 0


def test_tombstones_go_in_the_second_pass_after_their_horizon(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config(delete_retention_ms=DAY_MS))
    append(log, [(b"a", b"1"), (b"b", b"1"), (b"a", None)])
    log.roll()
    clean(manager)
    (batch,) = batches_of(log)
    assert batch.header.delete_horizon == clock.time_ms() + DAY_MS
    assert [(r.key, r.value, r.timestamp) for r in batch.records()] == [
        (b"b", b"1", clock.time_ms()),
        (b"a", None, clock.time_ms()),
    ]
    clock.advance(ms=DAY_MS - 1)
    append(log, [(b"c", b"1")])
    log.roll()
    clean(manager)
    assert (b"a", None) in [(r.key, r.value) for r in all_records(log)]
    clock.advance(ms=1)
    append(log, [(b"d", b"1")])
    log.roll()
    clean(manager)
    assert [(r.offset, r.key) for r in all_records(log)] == [(1, b"b"), (3, b"c"), (4, b"d")]


def test_records_without_a_key_are_dropped(manager: LogManager, caplog: pytest.LogCaptureFixture) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(None, b"1"), (b"a", b"1")])
    log.roll()
    job = manager.cleaner.clean_one(manager.cleaner.new_rewriter())
    assert job is not None
    assert job.stats.keyless == 1
    assert f"{TP}: records without a key that were removed: 1" in caplog.text
    assert offsets(log) == [1]


def test_unchanged_batches_are_copied_byte_for_byte(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    for n in range(5):
        append(log, [(b"%d" % n, b"1"), (b"x%d" % n, b"2")], codec=Codec.GZIP if n % 2 else Codec.NONE)
    before = [bytes(batch.raw) for batch in batches_of(log)]
    log.roll()
    clean(manager)
    assert [bytes(batch.raw) for batch in batches_of(log)] == before


@pytest.mark.parametrize("codec", list(Codec))
def test_rewritten_batches_keep_codec_offsets_and_producer(manager: LogManager, codec: Codec) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"x" * 50), (b"b", b"1"), (b"c", b"x" * 50)], codec=codec, producer_id=5, sequence=0)
    append(log, [(b"a", b"2"), (b"c", b"2")], producer_id=5, sequence=3)
    log.roll()
    clean(manager)
    first, second = batches_of(log)
    assert (first.base_offset, first.last_offset, first.base_sequence, first.codec) == (0, 2, 0, codec)
    assert [r.offset for r in first.records()] == [1]
    assert second.last_offset == 4
    first.check_crc()


def test_the_last_batch_of_an_active_producer_stays_empty(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"a", b"2")], producer_id=5, sequence=0)
    append(log, [(b"a", b"3")])
    log.roll()
    clean(manager)
    empty, kept = batches_of(log)
    assert (empty.size, empty.record_count, empty.producer_id, empty.header.last_sequence) == (61, 0, 5, 1)
    assert (empty.base_offset, empty.last_offset) == (0, 1)
    assert [r.offset for r in kept.records()] == [2]
    # Idempotence survives the pass and a restart.
    assert append(log, [(b"a", b"1"), (b"a", b"2")], producer_id=5, sequence=0).duplicate
    manager.shutdown()


def test_an_expired_producer_s_batch_goes(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1")], producer_id=5, sequence=0)
    append(log, [(b"a", b"2")])
    log.roll()
    log.producers.expire(clock.time_ms() + 2 * DAY_MS)
    clean(manager)
    assert [batch.base_offset for batch in batches_of(log)] == [1]


def test_aborted_data_goes_and_its_marker_follows(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config(delete_retention_ms=DAY_MS))
    append(log, [(b"a", b"committed")])
    append(log, [(b"a", b"aborted")], producer_id=5, sequence=0, transactional=True)
    end_transaction(log, 5, committed=False)
    append(log, [(b"b", b"1")], producer_id=5, sequence=1)
    log.roll()
    clean(manager)
    # The aborted record did not count as the key's last value, and is gone; so is its batch (not the producer's last).
    assert [(r.offset, r.value) for r in all_records(log)] == [(0, b"committed"), (3, b"1")]
    markers = [batch for batch in batches_of(log) if batch.is_control]
    assert [(batch.base_offset, batch.header.delete_horizon) for batch in markers] == [(2, None)]
    append(log, [(b"c", b"1")])
    log.roll()
    clean(manager)
    markers = [batch for batch in batches_of(log) if batch.is_control]
    assert [batch.header.delete_horizon for batch in markers] == [clock.time_ms() + DAY_MS]
    clock.advance(ms=DAY_MS)
    append(log, [(b"d", b"1")])
    log.roll()
    clean(manager)
    assert not [batch for batch in batches_of(log) if batch.is_control]
    assert log.aborted_transactions(0, 100) == []


def test_a_marker_stays_while_its_data_stays(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config(delete_retention_ms=0))
    append(log, [(b"a", b"1")], producer_id=5, sequence=0, transactional=True)
    end_transaction(log, 5, committed=True)
    for n in range(3):
        append(log, [(b"b", b"%d" % n)])
        log.roll()
        clean(manager)
        clock.advance(1)
    assert [batch.base_offset for batch in batches_of(log) if batch.is_control] == [1]
    append(log, [(b"a", b"2")], producer_id=5, sequence=1)
    log.roll()
    clean(manager)  # the data goes, the marker gets its horizon one pass later, and goes in the next
    for n in range(3):
        append(log, [(b"b", b"%d" % n)])
        log.roll()
        clock.advance(1)
        clean(manager)
    assert not [batch for batch in batches_of(log) if batch.is_control]


def test_a_small_map_cleans_part_by_part(tmp_path: Path, clock: ManualClock) -> None:
    manager = open_manager(
        tmp_path / "data", clock=clock, log_cleaner_dedupe_buffer_size=24 * 10, log_cleaner_io_buffer_load_factor=0.5
    )
    log = manager.create(TP, compact_config())
    pairs = [(b"%d" % (n % 23), b"%d" % n) for n in range(100)]
    for start in range(0, 100, 7):
        append(log, pairs[start : start + 7])
    log.roll()
    rewriter = manager.cleaner.new_rewriter()
    job = manager.cleaner.clean_one(rewriter)
    assert job is not None
    assert job.end_offset == 5  # five keys, then the map is full: it stops within the first batch
    assert clean(manager) > 5
    assert latest_values(all_records(log)) == dict(pairs)
    assert len(offsets(log)) < 100


def test_segments_are_grouped_up_to_the_segment_size(manager: LogManager) -> None:
    log = manager.create(TP, compact_config(internal_segment_bytes=400))
    for n in range(12):
        append(log, [(b"%d" % n, b"x" * 30)])
        if n % 2:
            log.roll()
    before = [segment.size for segment in log.segments]
    clean(manager)
    after = [segment.size for segment in log.segments]
    assert sum(after) == sum(before)
    assert len(after) < len(before)
    assert all(size <= 400 for size in after)


def test_an_output_that_outgrows_a_segment_is_continued(manager: LogManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.log.cleaner.rewriter.MAX_INT32", 300)
    log = manager.create(TP, compact_config(internal_segment_bytes=5000))
    for n in range(12):
        append(log, [(b"%d" % n, b"x" * 30)])
    end_transaction_data(log)
    log.roll()
    expected = [(r.offset, r.value) for r in all_records(log) if r.value != b"aborted"]
    manager.cleaner.config = CleanerConfig(dedupe_buffer_size=24 * 100, io_buffer_size=0)  # chunks of 1 KB
    clean(manager)
    assert len(log.segments) > 2  # two outputs of one source, and the active segment
    assert [(r.offset, r.value) for r in all_records(log)] == expected
    manager.shutdown()


def end_transaction_data(log: PartitionLog) -> None:
    append(log, [(b"t", b"aborted")], producer_id=3, sequence=0, transactional=True)
    end_transaction(log, 3, committed=False)
    append(log, [(b"t", b"1")], producer_id=3, sequence=1)


def test_the_output_keeps_the_modification_time(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll()
    os.utime(log.segments[0].data.path, (1_000_000, 1_000_000))
    clean(manager)
    assert log.segments[0].mtime_ms == 1_000_000_000


def test_indexes_of_the_output_find_everything(manager: LogManager) -> None:
    log = manager.create(TP, compact_config(internal_segment_bytes=10_000))
    for n in range(60):
        append(log, [(b"%d" % (n % 40), b"x" * 30)])
    log.roll()
    clean(manager)
    assert log.segments[0].offset_index.entries > 3
    for record in all_records(log):
        found = log.read(record.offset, 10_000)
        assert found.slice is not None
        data = found.slice.read()
        found.slice.release()
        assert int.from_bytes(data[:8], "big") <= record.offset


def test_an_aborted_job_leaves_nothing_behind(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll()
    job = manager.cleaner.pick()
    assert job is not None
    job.run(manager.cleaner.new_rewriter())
    assert any(name.name.endswith(CLEANED) for name in log.dir.iterdir())
    manager.cleaner.abort(TP)
    with pytest.raises(CleaningAborted) as caught:
        job.apply()
    manager.cleaner.failed(job, caught.value)
    assert not any(name.name.endswith((CLEANED, SWAP)) for name in log.dir.iterdir())
    assert offsets(log) == [0, 1]
    assert clean(manager) == 1


@pytest.mark.parametrize("what", ["truncated", "begun anew", "records deleted"])
def test_a_log_that_changed_unannounced_is_not_swapped(manager: LogManager, what: str) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1")])
    append(log, [(b"a", b"2")])
    log.roll()
    append(log, [(b"b", b"1")])
    job = manager.cleaner.pick()
    assert job is not None
    job.run(manager.cleaner.new_rewriter())
    if what == "truncated":
        log.truncate_to(1)
    elif what == "begun anew":
        log.truncate_fully_and_start_at(7)
    else:
        log.advance_log_start(2)
        log.delete_old_segments()
    expected = offsets(log)
    with pytest.raises(CleaningAborted) as caught:
        job.apply()
    manager.cleaner.failed(job, caught.value)
    assert offsets(log) == expected
    assert not list(log.dir.glob("*.cleaned"))
    assert not manager.cleaner.uncleanable


def test_a_paused_partition_is_not_cleaned(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll()
    manager.cleaner.pause(TP)
    assert manager.cleaner.is_busy(TP)
    assert clean(manager) == 0
    manager.cleaner.resume(TP)
    assert clean(manager) == 1
    with pytest.raises(ValueError, match="not paused"):
        manager.cleaner.resume(TP)


def test_a_corrupt_log_is_marked_uncleanable_and_others_go_on(manager: LogManager) -> None:
    bad = manager.create(TopicPartition("bad", 0), compact_config())
    append(bad, [(b"a", b"1"), (b"a", b"2")])
    bad.roll()
    path = bad.segments[0].data.path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    good = manager.create(TP, compact_config())
    append(good, [(b"a", b"1"), (b"a", b"2")])
    good.roll()
    rewriter = manager.cleaner.new_rewriter()
    while manager.cleaner.clean_one(rewriter) is not None:
        continue
    assert list(manager.cleaner.uncleanable) == [TopicPartition("bad", 0)]
    assert offsets(good) == [1]
    assert path.read_bytes() == bytes(data)
    assert manager.dirs[0].online


def test_what_goes_wrong_after_a_truncation_says_nothing_about_the_log(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1")])
    append(log, [(b"a", b"2")])
    log.roll()
    append(log, [(b"b", b"1")])
    job = manager.cleaner.pick()
    assert job is not None
    log.truncate_to(1)
    manager.cleaner.failed(job, CorruptRecordError("half a batch"))
    assert not manager.cleaner.uncleanable


def test_a_full_disk_takes_the_directory_offline(tmp_path: Path, clock: ManualClock) -> None:
    fs = FailingFileSystem()
    manager = open_manager(tmp_path / "data", fs=fs, clock=clock)
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll()
    fs.capacity = fs.written
    manager.cleaner.clean_one(manager.cleaner.new_rewriter())
    assert not manager.dirs[0].online
    assert manager.logs == {}


def test_a_checkpoint_outside_the_log_starts_over(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll()
    manager.dirs[0].write_cleaner_offsets({TP: 1000})
    assert clean(manager) == 1
    assert offsets(log) == [1]
    assert manager.dirs[0].cleaner_offsets() == {TP: 2}


def test_truncation_moves_the_checkpoint_back(manager: LogManager) -> None:
    log = manager.create(TP, compact_config())
    append(log, [(b"a", b"1"), (b"b", b"2")])
    append(log, [(b"c", b"3")])
    log.roll()
    clean(manager)
    log.truncate_to(2)
    manager.cleaner.truncated(log, 2)
    assert manager.dirs[0].cleaner_offsets() == {TP: 2}


def test_retention_and_compaction_together(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config(cleanup_policy="compact,delete", retention_ms=1000))
    append(log, [(b"a", b"1"), (b"a", b"2"), (b"b", b"1")])
    log.roll()
    clean(manager)
    assert offsets(log) == [1, 2]
    clock.advance(2)
    append(log, [(b"c", b"1")])
    assert manager.run_retention() == 1
    assert offsets(log) == [3]
    assert log.log_start_offset == 3
    log.roll()
    clean(manager)  # the checkpoint lies below the log's start: it starts there
    assert manager.dirs[0].cleaner_offsets() == {TP: 4}


def test_the_throttle_holds_the_rate(tmp_path: Path, clock: ManualClock) -> None:
    manager = open_manager(
        tmp_path / "data", clock=clock, log_cleaner_io_max_bytes_per_second=1000, log_cleaner_io_buffer_size=2048
    )
    log = manager.create(TP, compact_config(internal_segment_bytes=20_000))
    for n in range(100):
        append(log, [(b"%d" % n, b"x" * 40)])
    log.roll()
    size = log.segments[0].size
    start = clock.monotonic()
    clean(manager)
    assert clock.monotonic() - start == pytest.approx(3 * size / 1000, rel=0.2)  # read twice, written once


def test_batches_larger_than_the_buffer_are_cleaned(tmp_path: Path, clock: ManualClock) -> None:
    manager = open_manager(tmp_path / "data", clock=clock, log_cleaner_io_buffer_size=1024)
    log = manager.create(TP, compact_config(internal_segment_bytes=100_000))
    append(log, [(b"a", b"x" * 9000), (b"b", b"y" * 9000)])
    append(log, [(b"a", b"1")])
    log.roll()
    clean(manager)
    assert [(r.key, len(r.value or b"")) for r in all_records(log)] == [(b"b", 9000), (b"a", 1)]


def test_cleaner_settings_come_from_the_broker_s_keys() -> None:
    config = CleanerConfig.from_broker({"log.cleaner.threads": 2, "log.cleaner.dedupe.buffer.size": "4800"})
    assert (config.map_memory, config.read_buffer, config.backoff_ms) == (2400, 131_072, 15_000)
    defaults = CleanerConfig.from_broker({"log.cleaner.io.max.bytes.per.second": "1.7976931348623157E308"})
    assert defaults == CleanerConfig()


def test_markers_alone_keep_a_producer_s_epoch(manager: LogManager, clock: ManualClock) -> None:
    log = manager.create(TP, compact_config(delete_retention_ms=0))
    append(log, [(b"a", b"1")], producer_id=5, sequence=0, transactional=True)
    end_transaction(log, 5, committed=True, epoch=1)  # a newer epoch: the producer has no data under it
    append(log, [(b"a", b"2")])
    for n in range(5):
        append(log, [(b"b", b"%d" % n)])
        log.roll()
        clock.advance(1)
        clean(manager)
    assert [batch.producer_epoch for batch in batches_of(log) if batch.is_control] == [1]


def test_reading_the_state_of_a_cleaner_needs_no_log(tmp_path: Path, clock: ManualClock) -> None:
    manager = open_manager(tmp_path / "data", clock=clock)
    cleaner: LogCleaner = manager.cleaner
    assert cleaner.pick() is None
    assert cleaner.dirtiest_ratio == 0.0
