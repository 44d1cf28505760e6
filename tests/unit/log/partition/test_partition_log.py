from __future__ import annotations

import errno
from pathlib import Path

import pytest

from support.logs import START_MS, LogBench, batch, fill, records_of, run_of, small_config
from tidelog.common.errors import CorruptRecordError, ErrorCode, InvalidRecordError, KafkaError, StorageError
from tidelog.common.fs import LOCAL_FS
from tidelog.common.uuids import uuid_from_text
from tidelog.log.append import AppendOrigin
from tidelog.log.names import CLEANED, delete_dir_name
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.control import end_txn_marker
from tidelog.testing.fs import FailingFileSystem

TOPIC_ID = uuid_from_text("3JvTuSVrQ4uxBPwnnbXm6g")


@pytest.fixture
def bench(tmp_path: Path) -> LogBench:
    return LogBench(tmp_path)


@pytest.fixture
def log(bench: LogBench) -> PartitionLog:
    return bench.open()


def refused(code: ErrorCode) -> pytest.RaisesExc[KafkaError]:
    return pytest.RaisesExc(KafkaError, check=lambda error: error.code is code)


# ---- appending


def test_a_leader_gives_offsets_and_epoch(log: PartitionLog) -> None:
    info = log.append_as_leader(run_of(batch([b"a", b"b"], timestamp=START_MS)), 7)
    assert (info.first_offset, info.last_offset, info.max_timestamp) == (0, 1, START_MS + 1)
    assert (info.log_append_time, info.log_start_offset, info.duplicate) == (-1, 0, False)
    run = run_of(batch([b"c"], timestamp=START_MS), batch([b"d", b"e"], timestamp=START_MS))
    info = log.append_as_leader(run, 7)
    assert (info.first_offset, info.last_offset) == (2, 4)
    assert [run.header(index).base_offset for index in range(2)] == [2, 3]
    result = log.read(0, 1 << 20)
    assert result.slice is not None
    parts = list(iter_batches(result.slice.read(), check_crc=True))
    result.slice.release()
    assert [part.leader_epoch for part in parts] == [7, 7, 7]
    assert log.leader_epochs.entries == ((7, 0),)


def test_log_append_time(bench: LogBench) -> None:
    bench.config = small_config(message_timestamp_type="LogAppendTime")
    log = bench.open()
    info = log.append_as_leader(run_of(batch([b"a"], timestamp=5)), 0)
    assert info.log_append_time == info.max_timestamp == START_MS
    assert records_of(log)[0].timestamp == START_MS


def test_size_limits(bench: LogBench) -> None:
    bench.config = small_config(segment_bytes=300, max_message_bytes=400)
    log = bench.open()
    with refused(ErrorCode.MESSAGE_TOO_LARGE):
        log.append_as_leader(run_of(batch([b"x" * 400])), 0)
    with refused(ErrorCode.RECORD_LIST_TOO_LARGE):
        log.append_as_leader(run_of(batch([b"x" * 300])), 0)
    assert log.log_end_offset == 0
    log.append_as_follower(bytearray(batch([b"x" * 400])))  # accepted by the leader once, so replicated
    assert log.log_end_offset == 1


def test_an_empty_run_is_refused(log: PartitionLog) -> None:
    with pytest.raises(InvalidRecordError):
        log.append_as_leader(run_of(), 0)
    assert log.append_as_follower(b"").last_offset == -1


def test_requests_that_do_not_fit_together_go_to_several_segments(bench: LogBench) -> None:
    one = batch([b"x" * 100])
    bench.config = small_config(segment_bytes=3 * len(one))
    log = bench.open()
    run = run_of(*[one] * 10)
    info = log.append_as_leader(run, 0)
    assert (info.first_offset, info.last_offset) == (0, 9)
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6, 9]
    assert [record.offset for record in records_of(log)] == list(range(10))


def test_a_follower_keeps_offsets_and_epochs(log: PartitionLog) -> None:
    parts = [batch([b"a"], base_offset=5, leader_epoch=2), batch([b"b", b"c"], base_offset=9, leader_epoch=4)]
    info = log.append_as_follower(run_of(*parts))
    assert (info.first_offset, info.last_offset, log.log_end_offset) == (5, 10, 11)
    assert log.leader_epochs.entries == ((2, 5), (4, 9))
    with pytest.raises(InvalidRecordError, match="before the log's end"):
        log.append_as_follower(run_of(batch([b"d"], base_offset=10)))
    with pytest.raises(InvalidRecordError, match="do not rise"):
        log.append_as_follower(run_of(batch([b"d"], base_offset=12), batch([b"e"], base_offset=12)))
    with pytest.raises(CorruptRecordError):
        log.append_as_follower(bytes(100))
    log.append_as_follower(bytearray(batch([b"old"], base_offset=20, magic=1)))
    assert log.leader_epochs.entries == ()  # the old formats carry no epochs


def test_idempotence(log: PartitionLog) -> None:
    data = batch([b"a", b"b"], producer_id=3, epoch=0, sequence=0, timestamp=START_MS)
    first = log.append_as_leader(run_of(data), 0)
    log.append_as_leader(run_of(batch([b"c"])), 0)
    again = log.append_as_leader(run_of(data), 0)
    assert again.duplicate
    assert (again.first_offset, again.last_offset) == (first.first_offset, first.last_offset) == (0, 1)
    assert log.log_end_offset == 3
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        log.append_as_leader(run_of(batch([b"d"], producer_id=3, epoch=0, sequence=5)), 0)
    assert log.log_end_offset == 3


# ---- transactions


def write(log: PartitionLog, pid: int, sequence: int) -> None:
    data = batch([b"t"], producer_id=pid, epoch=0, sequence=sequence, transactional=True)
    log.append_as_leader(run_of(data), 0)


def end(log: PartitionLog, pid: int, *, committed: bool) -> None:
    marker = end_txn_marker(pid, 0, committed=committed, coordinator_epoch=0, timestamp=START_MS)
    log.append_as_leader(run_of(marker), 0, origin=AppendOrigin.COORDINATOR)


def test_the_last_stable_offset(log: PartitionLog) -> None:
    fill(log, 1, records=2)
    write(log, 1, 0)  # 2
    write(log, 2, 0)  # 3
    log.advance_high_watermark(4)
    assert log.last_stable_offset == 2
    end(log, 1, committed=True)  # 4
    log.advance_high_watermark(4)
    assert log.last_stable_offset == 2
    log.advance_high_watermark(5)
    assert log.last_stable_offset == 3
    end(log, 2, committed=False)  # 5
    assert log.last_stable_offset == 3
    log.advance_high_watermark(6)
    assert log.last_stable_offset == 6
    assert log.aborted_transactions(0, 6) == [AbortedTxn(2, 3, 5, 6)]
    assert log.aborted_transactions(0, 3) == []
    assert log.aborted_transactions(6, 9) == []


def test_aborted_transactions_across_segments(log: PartitionLog) -> None:
    expected = []
    for number in range(40):
        first = log.log_end_offset
        write(log, 1, number)
        fill(log, 2)
        end(log, 1, committed=False)
        expected.append(AbortedTxn(1, first, log.log_end_offset - 1, log.log_end_offset))
    assert len(log.segments) > 3
    log.advance_high_watermark(log.log_end_offset)
    assert log.aborted_transactions(0, log.log_end_offset) == expected
    middle = expected[20]
    assert log.aborted_transactions(middle.first_offset, middle.last_offset + 1) == [middle]
    log.truncate_to(middle.last_offset)
    assert log.aborted_transactions(0, log.log_end_offset) == expected[:20]
    assert log.high_watermark == log.log_end_offset == middle.last_offset
    assert log.last_stable_offset == middle.first_offset, "the marker is gone: the transaction is open again"
    assert [*log.producers.ongoing] == [middle.first_offset]


def test_state_survives_reopening(bench: LogBench, log: PartitionLog) -> None:
    write(log, 1, 0)
    write(log, 2, 0)
    end(log, 2, committed=False)
    log.advance_high_watermark(3)
    log.close()
    log = bench.open(high_watermark=3)
    assert (log.high_watermark, log.last_stable_offset) == (3, 0)
    assert log.aborted_transactions(0, 3) == [AbortedTxn(2, 1, 2, 0)]
    end(log, 1, committed=True)
    log.advance_high_watermark(4)
    assert log.last_stable_offset == 4


def test_verification(bench: LogBench) -> None:
    log = bench.open(verify_transactions=True)
    data = batch([b"t"], producer_id=1, epoch=0, sequence=0, transactional=True)
    with refused(ErrorCode.INVALID_TXN_STATE):
        log.append_as_leader(run_of(data), 0)
    guard = log.start_verification(1, 0, 0)
    assert guard is not None
    assert log.start_verification(1, 3, 0) is guard
    late = batch([b"t"], producer_id=1, epoch=0, sequence=3, transactional=True)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        log.append_as_leader(run_of(late), 0, verification=guard)
    log.append_as_leader(run_of(data), 0, verification=guard)
    assert log.start_verification(1, 1, 0) is None  # the transaction is known
    log.append_as_leader(run_of(batch([b"u"], producer_id=1, epoch=0, sequence=1, transactional=True)), 0)
    end(log, 1, committed=True)
    assert not log.verifications.accepts(1, guard)
    newer = log.start_verification(1, 0, 1)
    assert newer is not guard
    assert log.start_verification(1, 0, 0) is newer


# ---- reading


def test_reads_end_at_the_bound(log: PartitionLog) -> None:
    fill(log, 60)
    for offset in (0, 1, 38, 39, 100, 179):
        for bound in (0, 3, 39, 42, 99, 150, 180, 500):
            result = log.read(offset, 100_000, upper_bound=bound)
            if result.slice is None:
                assert offset >= min(bound, 180)
                continue
            data = result.slice.read()
            result.slice.release()
            offsets = [record.offset for part in iter_batches(data) for record in part.records()]
            assert max(offsets) < bound
            assert result.first_offset == offsets[0] <= offset


def test_the_bound_is_looked_up_once_and_forgotten_on_truncation(log: PartitionLog) -> None:
    fill(log, 4)
    assert len(log.read(0, 10_000, upper_bound=6).slice or b"") == 302
    log.truncate_to(3)
    fill(log, 2, size=40)
    result = log.read(0, 10_000, upper_bound=6)
    assert result.slice is not None
    assert max(record.offset for part in iter_batches(result.slice.read()) for record in part.records()) == 5


def test_out_of_range(log: PartitionLog) -> None:
    fill(log, 10)
    log.advance_log_start(5)
    for offset in (-1, 4, 31):
        with refused(ErrorCode.OFFSET_OUT_OF_RANGE):
            log.read(offset, 100)
    assert log.read(30, 100).slice is None
    result = log.read(5, 100_000)
    assert result.first_offset == 3
    result.slice.release()  # type: ignore[union-attr] # there


def test_min_one_message(log: PartitionLog) -> None:
    fill(log, 2)
    whole = log.read(0, 1)
    assert len(whole.slice or b"") == 151
    cut = log.read(0, 1, min_one_message=False)
    assert (len(cut.slice or b""), cut.first_batch_incomplete) == (1, True)


def test_a_gap_leads_to_the_next_segment(log: PartitionLog) -> None:
    log.append_as_follower(bytearray(batch([b"a"], base_offset=0)))
    log.roll()
    log.append_as_follower(bytearray(batch([b"b"], base_offset=10)))
    result = log.read(1, 1000)
    assert result.first_offset == 10


def test_times(log: PartitionLog) -> None:
    assert log.max_timestamp_offset() is None
    fill(log, 60)
    for target in (0, 1, 38, 39, 40, 178, 179):
        found = log.offset_for_timestamp(START_MS + target)
        assert found == (START_MS + target, target, 0)
    assert log.offset_for_timestamp(START_MS + 180) is None
    assert log.offset_for_timestamp(0) == (START_MS, 0, 0)
    log.advance_log_start(7)
    assert log.offset_for_timestamp(0) == (START_MS + 7, 7, 0)
    log.append_as_leader(run_of(batch([b"a", b"b", b"c"], timestamp=START_MS + 900)), 0)
    log.append_as_leader(run_of(batch([b"late"], timestamp=START_MS)), 0)
    assert log.max_timestamp_offset() == (START_MS + 902, 182, 0)
    assert log.offset_for_timestamp(START_MS + 901) == (START_MS + 901, 181, 0)


def test_epoch_ends(log: PartitionLog) -> None:
    fill(log, 2, epoch=1)
    fill(log, 2, epoch=4)
    assert [log.end_offset_for_epoch(epoch) for epoch in (0, 1, 2, 4, 5)] == [
        (0, 0), (1, 6), (1, 6), (4, 12), (-1, -1),
    ]  # fmt: skip
    log.assign_epoch(9, 12)
    assert log.end_offset_for_epoch(9) == (9, 12)


# ---- watermarks


def test_the_high_watermark_stays_within_the_log(log: PartitionLog) -> None:
    fill(log, 2)
    assert not log.advance_high_watermark(100)
    assert log.high_watermark == 6
    assert log.advance_high_watermark(3)
    log.advance_log_start(3)
    assert not log.advance_high_watermark(0)
    with refused(ErrorCode.OFFSET_OUT_OF_RANGE):
        log.advance_log_start(4)
    assert not log.advance_log_start(2)
    assert log.recovery_point == 3


# ---- segments


def test_roll_by_time(bench: LogBench) -> None:
    bench.config = small_config(segment_ms=1000)
    log = bench.open()
    log.append_as_leader(run_of(batch([b"a"], timestamp=START_MS)), 0)
    log.append_as_leader(run_of(batch([b"b"], timestamp=START_MS + 1000)), 0)
    log.append_as_leader(run_of(batch([b"c"], timestamp=START_MS + 1001)), 0)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_roll_by_offset_distance(log: PartitionLog) -> None:
    log.append_as_follower(bytearray(batch([b"a"], base_offset=0)))
    log.append_as_follower(bytearray(batch([b"b"], base_offset=2**31 - 1)))
    log.append_as_follower(bytearray(batch([b"c"], base_offset=2**31 + 5)))
    assert [segment.base_offset for segment in log.segments] == [0, 2**31 + 5]
    assert [record.offset for record in records_of(log)] == [0, 2**31 - 1, 2**31 + 5]


def test_an_empty_segment_whose_index_has_no_room_is_made_anew(bench: LogBench) -> None:
    bench.config = small_config(segment_index_bytes=8)  # the time index has no entry at all
    log = bench.open()
    fill(log, 3)
    assert [record.offset for record in records_of(log)] == list(range(9))
    log.close()
    assert len(records_of(bench.open())) == 9


def test_rolling_twice_at_the_same_offset_is_an_error_only_with_data(log: PartitionLog) -> None:
    log.roll()
    log.roll()
    assert len(log.segments) == 1
    fill(log, 1)
    log.roll()
    assert [segment.base_offset for segment in log.segments] == [0, 3]


def test_inactive_segments_are_trimmed(bench: LogBench, log: PartitionLog) -> None:
    fill(log, 30)
    for segment in log.segments[:-1]:
        assert bench.fs.stat(segment.offset_index.path).size == segment.offset_index.entries * 8
        assert bench.fs.stat(segment.time_index.path).size == segment.time_index.entries * 12
    assert bench.fs.stat(log.active_segment.offset_index.path).size == 4096
    assert bench.fs.stat(log.active_segment.time_index.path).size == 4092


def test_snapshots_go_with_their_segments(bench: LogBench, log: PartitionLog) -> None:
    fill(log, 60)
    bases = [segment.base_offset for segment in log.segments]
    assert log.producers.snapshots == bases[1:]
    log.advance_log_start(bases[2])
    assert log.delete_old_segments() == 2
    assert log.producers.snapshots == bases[2:]
    assert f"{bases[1]:020d}.snapshot.deleted" in bench.names()
    bench.clock.advance(61)
    bench.scheduler.run_due()
    assert not any(name.endswith(".deleted") for name in bench.names())


# ---- retention


def test_retention_by_time(bench: LogBench) -> None:
    bench.config = small_config(retention_ms=10_000)
    log = bench.open()
    fill(log, 60)
    assert log.delete_old_segments() == 0
    newest_of_first = log.segments[0].max_timestamp
    bench.clock.set_time_ms(newest_of_first + 10_000)
    assert log.delete_old_segments() == 0
    bench.clock.set_time_ms(newest_of_first + 10_001)
    assert log.delete_old_segments() == 1
    assert log.log_start_offset == log.segments[0].base_offset == 39
    bench.clock.set_time_ms(START_MS + 10**9)
    count = len(log.segments)
    assert log.delete_old_segments() == count  # all of them: a new, empty one was begun first
    assert (log.log_start_offset, log.log_end_offset, log.size) == (180, 180, 0)
    assert log.delete_old_segments() == 0  # an empty last segment stays
    fill(log, 1)
    assert log.log_end_offset == 183


def test_retention_by_size(bench: LogBench) -> None:
    log = bench.open()
    fill(log, 60)
    sizes = [segment.size for segment in log.segments]
    log.update_config(small_config(retention_bytes=sum(sizes[2:]) + 1))
    assert log.delete_old_segments() == 1
    log.update_config(small_config(retention_bytes=sum(sizes[2:])))
    assert log.delete_old_segments() == 1
    log.update_config(small_config(retention_bytes=0))
    assert log.delete_old_segments() == len(sizes) - 2


def test_retention_never_passes_the_high_watermark(bench: LogBench) -> None:
    bench.config = small_config(retention_bytes=0)
    log = bench.open()
    fill(log, 60)
    log.advance_high_watermark(77)
    assert log.delete_old_segments() == 1
    log.advance_high_watermark(78)
    assert log.delete_old_segments() == 1


def test_a_compacted_topic_only_goes_by_its_log_start(bench: LogBench) -> None:
    bench.config = small_config(cleanup_policy="compact", retention_bytes=0, retention_ms=0)
    log = bench.open()
    fill(log, 60)
    bench.clock.advance(10**6)
    assert log.delete_old_segments() == 0
    log.advance_log_start(39)
    assert log.delete_old_segments() == 1


def test_without_timestamps_the_file_time_counts(bench: LogBench) -> None:
    bench.config = small_config(retention_ms=1000, segment_bytes=200)
    log = bench.open()
    for offset in range(8):
        log.append_as_follower(bytearray(batch([b"x" * 60], base_offset=offset, magic=0)))
    log.advance_high_watermark(8)
    log.segments[0].set_mtime(START_MS - 1001)
    log.segments[1].set_mtime(START_MS - 1000)
    assert log.delete_old_segments() == 1


# ---- truncation


def test_truncate_to(bench: LogBench, log: PartitionLog) -> None:
    fill(log, 20, epoch=1)
    fill(log, 40, epoch=2)
    assert not log.truncate_to(180)
    assert log.truncate_to(100)
    assert (log.log_end_offset, log.high_watermark) == (100, 100)
    assert log.truncate_to(60)
    assert log.leader_epochs.entries == ((1, 0),)
    assert [record.offset for record in records_of(log)] == list(range(60))
    assert log.active_segment.base_offset == 39
    fill(log, 5, epoch=3)
    assert log.leader_epochs.entries == ((1, 0), (3, 60))
    with pytest.raises(ValueError, match="truncate"):
        log.truncate_to(-1)


def test_truncate_below_everything_starts_anew(log: PartitionLog) -> None:
    fill(log, 60)
    log.advance_log_start(78)
    log.delete_old_segments()
    assert log.truncate_to(10)
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)


def test_truncate_fully(log: PartitionLog) -> None:
    fill(log, 30)
    log.truncate_fully_and_start_at(500, log_start=490)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (490, 500, 500)
    assert [segment.base_offset for segment in log.segments] == [500]
    assert log.leader_epochs.entries == ()
    fill(log, 1)
    assert [record.offset for record in records_of(log, 500)] == [500, 501, 502]


# ---- durability


def test_flush_moves_the_recovery_point(bench: LogBench, log: PartitionLog) -> None:
    names = log.flush_job()
    assert names is not None
    assert (names.segments, bool(names.taken.names)) == ((), True)  # a new directory is not durable, either
    log.flush()
    assert log.flush_job() is None
    fill(log, 60, epoch=3)
    assert (log.unflushed, log.unflushed_since_ms) == (180, START_MS)
    job = log.flush_job(up_to=50)
    assert job is not None
    assert [segment.base_offset for segment in job.segments] == [0, 39]
    job.run()
    assert log.recovery_point == 0
    log.flush_done(job)
    assert log.recovery_point == 50
    assert (bench.dir / "leader-epoch-checkpoint").read_text() == "0\n1\n3 0\n"
    log.flush()
    assert (log.recovery_point, log.unflushed, log.unflushed_since_ms) == (180, 0, None)
    assert log.flush_job() is None


def test_a_log_without_a_record_has_no_file_of_epochs(bench: LogBench, log: PartitionLog) -> None:
    log.assign_epoch(0, 0)
    log.flush()
    assert log.flush_job() is None
    assert "leader-epoch-checkpoint" not in bench.names()
    fill(log, 1)
    log.flush()
    assert (bench.dir / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"


def test_the_file_of_epochs_that_kafka_leaves_in_an_empty_log_is_not_written_again(bench: LogBench) -> None:
    bench.open().close()
    (bench.dir / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    log = bench.open()
    log.assign_epoch(0, 0)
    assert log.flush_job() is None
    log.assign_epoch(1, 0)
    assert log.flush_job() is not None


def test_flush_after_a_deletion_and_a_truncation(log: PartitionLog) -> None:
    fill(log, 60)
    job = log.flush_job()
    assert job is not None
    log.advance_log_start(100)
    log.delete_old_segments()
    log.truncate_to(120)
    fill(log, 20)  # in the place of what the job has synced
    job.run()
    log.flush_done(job)
    assert log.recovery_point == 100
    log.flush()
    assert log.recovery_point == 180


def test_a_flush_that_is_given_up_takes_nothing_with_it(bench: LogBench, log: PartitionLog) -> None:
    fill(log, 60, epoch=3)
    log.flush_job()  # made, and never run: its task was cancelled
    first, second = log.flush_job(), log.flush_job()
    assert first is not None
    assert second is not None
    assert second.taken == first.taken, "the second does not rely on the first"
    log.assign_epoch(4, log.log_end_offset)
    first.run()
    log.flush_done(first)
    assert log.leader_epochs.dirty, "what changed meanwhile is not durable"
    log.close()
    assert (bench.dir / "leader-epoch-checkpoint").read_text() == "0\n2\n3 0\n4 180\n"


def test_a_failed_sync_is_never_tried_again(tmp_path: Path) -> None:
    disk = FailingFileSystem()
    bench = LogBench(tmp_path, fs=disk)
    log = bench.open()
    fill(log, 1)
    disk.fail("sync", "*.log", times=1)
    for _ in range(2):
        with pytest.raises(StorageError, match="Input/output"):
            log.flush()
    with pytest.raises(StorageError, match="Input/output"):
        log.close()
    assert log.recovery_point == 0


def test_flush_messages_asks_for_a_flush(bench: LogBench) -> None:
    bench.config = small_config(flush_messages=2)
    log = bench.open()
    assert not log.append_as_leader(run_of(batch([b"a"])), 0).flush_required
    assert log.append_as_leader(run_of(batch([b"b"])), 0).flush_required
    log.flush()
    assert not log.append_as_leader(run_of(batch([b"c"])), 0).flush_required


def test_a_failing_disk_is_a_storage_error(log: PartitionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(log, 1)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(type(log.active_segment.data), "append", fail)
    with pytest.raises(StorageError, match="No space left"):
        log.append_as_leader(run_of(batch([b"x"])), 0)
    with pytest.raises(StorageError, match="No space left"):
        log.append_as_follower(bytearray(batch([b"x"], base_offset=3)))
    assert log.log_end_offset == 3


# ---- life


def test_closing_twice_opens_the_same(bench: LogBench, log: PartitionLog) -> None:
    fill(log, 60, epoch=2)
    log.close()
    before = {name: (bench.dir / name).read_bytes() for name in bench.names()}
    bench.open().close()
    assert {name: (bench.dir / name).read_bytes() for name in bench.names()} == before
    assert len(bench.files) == 0


def test_topic_ids(bench: LogBench) -> None:
    bench.open(topic_id=TOPIC_ID).close()
    assert (bench.dir / "partition.metadata").read_bytes().endswith(b"3JvTuSVrQ4uxBPwnnbXm6g")
    assert bench.open().topic_id == TOPIC_ID
    with refused(ErrorCode.INCONSISTENT_TOPIC_ID):
        bench.open(topic_id=bytes(15) + b"\x99")


def test_renaming_for_deletion(bench: LogBench, log: PartitionLog) -> None:
    fill(log, 60)
    piece = log.read(0, 1000).slice
    assert piece is not None
    log.truncate_to(40)
    name = delete_dir_name(log.topic_partition, "f00")
    log.rename(name)
    log.mark_deleted()
    assert log.dir.name == name
    assert LOCAL_FS.exists(log.dir)
    assert [record.offset for record in records_of(log, 39)] == []
    log.delete()
    assert not LOCAL_FS.exists(log.dir)
    bench.scheduler.run_all()
    assert len(piece.read()) == 1000
    piece.release()
    assert len(bench.files) == 0


def test_is_future(bench: LogBench) -> None:
    assert not bench.open().is_future
    bench.dir = bench.dir.with_name("topic-0.f00-future")
    assert bench.open().is_future


def test_replace_segments(bench: LogBench, log: PartitionLog) -> None:
    fill(log, 60)
    old = log.segments[:2]
    new = Segment.create(log.home, 0, log.config, suffix=CLEANED)
    new.append_bytes(batch([b"kept"], base_offset=41, timestamp=START_MS))
    new.become_inactive()
    new.flush()
    reader = log.read(0, 1000).slice
    log.replace_segments([new], old)
    assert [segment.base_offset for segment in log.segments][:2] == [0, 78]
    assert [record.offset for record in records_of(log)][:3] == [41, 78, 79]
    assert reader is not None
    assert len(reader.read()) == 1000
    reader.release()
    assert 39 not in log.producers.snapshots
    bench.scheduler.run_all()
    assert not any(name.endswith((".deleted", ".swap", ".cleaned")) for name in bench.names())
    log.close()
    assert len(records_of(bench.open())) == 103


def test_ten_thousand_segments_need_few_files(bench: LogBench) -> None:
    bench.config = small_config(segment_bytes=200)
    bench.files.resize(16)
    log = bench.open()
    fill(log, 300, records=1)
    assert len(log.segments) > 140
    assert len(bench.files) <= 16
    assert [record.offset for record in records_of(log)] == list(range(300))
    assert len(bench.files) <= 16


def test_a_changed_configuration_reaches_the_active_segment(log: PartitionLog) -> None:
    fill(log, 1)
    log.update_config(small_config(segment_bytes=200))
    fill(log, 1)
    assert len(log.segments) == 2
    assert log.active_segment.config.segment_size == 200


def test_expiry(log: PartitionLog) -> None:
    log.append_as_leader(run_of(batch([b"a"], producer_id=1, epoch=0, sequence=0)), 0)
    assert [entry.producer_id for entry in log.producers.entries.values()] == [1]
    assert log.producers.expire(START_MS + 86_400_000) == 1
    assert not log.producers.entries
    assert not log.producers.has_late_transaction(START_MS, 0)
