"""A partition log whose leader stores magic 0 or 1: offsets, epochs, segments, times, recovery, compaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.logs import START_MS, LogBench, batch, records_of, run_of
from support.managed_logs import TP, open_manager
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.log.config import LogConfig
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.testing.clock import ManualClock

PROTOCOL = {"inter.broker.protocol.version": "2.8"}
VERSIONS = {0: "0.9.0", 1: "0.10.2", 2: "2.8"}


def config(magic: int, **own: object) -> LogConfig:
    settings = {"internal.segment.bytes": "2000", "segment.index.bytes": "4096", "index.interval.bytes": "200"}
    more = {name.replace("_", "."): str(value) for name, value in own.items()}
    return LogConfig.from_topic({**settings, "message.format.version": VERSIONS[magic], **more}, PROTOCOL)


@pytest.fixture(params=[0, 1])
def magic(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def bench(tmp_path: Path, magic: int) -> LogBench:
    return LogBench(tmp_path, config=config(magic))


def message_set(magic: int, count: int, first: int = 0) -> bytes:
    values = [b"%05d" % (first + index) for index in range(count)]
    return batch(values, keys=[b"k%d" % index for index in range(count)], timestamp=START_MS + first, magic=magic)


def test_offsets_are_given_message_by_message(bench: LogBench, magic: int) -> None:
    log = bench.open()
    info = log.append_as_leader(run_of(message_set(magic, 5)), 3)
    assert (info.first_offset, info.last_offset) == (0, 4)
    info = log.append_as_leader(run_of(message_set(magic, 5, 5)), 3)
    assert (info.first_offset, info.last_offset, log.log_end_offset) == (5, 9, 10)
    log.advance_high_watermark(10)
    assert [(record.offset, record.value) for record in records_of(log)] == [(n, b"%05d" % n) for n in range(10)]
    assert info.max_timestamp == (START_MS + 9 if magic else -1)


def test_there_are_no_epochs(bench: LogBench, magic: int) -> None:
    log = bench.open()
    log.assign_epoch(3, 0)
    log.append_as_leader(run_of(message_set(magic, 2)), 3)
    assert log.leader_epochs.entries == ()
    assert log.end_offset_for_epoch(3) == (-1, -1)
    log.close()
    assert "leader-epoch-checkpoint" not in bench.names()


def test_epochs_end_with_the_newer_format_and_begin_with_it(bench: LogBench, magic: int) -> None:
    bench.config = config(2)
    log = bench.open()
    log.assign_epoch(1, 0)
    log.append_as_leader(run_of(batch([b"new"])), 1)
    assert log.end_offset_for_epoch(1) == (1, 1)
    log.update_config(config(magic))
    assert log.end_offset_for_epoch(1) == (-1, -1)
    log.append_as_leader(run_of(message_set(magic, 2)), 1)
    log.update_config(config(2))
    log.append_as_leader(run_of(batch([b"new"])), 1)
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(1, 3)]
    log.advance_high_watermark(log.log_end_offset)
    assert [record.value for record in records_of(log)] == [b"new", b"00000", b"00001", b"new"]
    log.close()
    bench.config = config(magic)  # and at a restart with the older one
    assert bench.open().leader_epochs.entries == ()


def test_a_set_goes_into_one_segment_whole(bench: LogBench, magic: int) -> None:
    log = bench.open()
    for first in range(0, 60, 20):
        log.append_as_leader(run_of(message_set(magic, 20, first)), 0)
    sizes = [len(list(iter_batches(path.read_bytes()))) for path in sorted(bench.dir.glob("*.log"))]
    assert sum(sizes) == 60
    assert all(size % 20 == 0 for size in sizes)
    assert len(sizes) > 1
    with pytest.raises(KafkaError) as caught:
        log.append_as_leader(run_of(message_set(magic, 100)), 0)
    assert caught.value.code == ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 60


def test_recovery_takes_what_is_whole(bench: LogBench, magic: int) -> None:
    log = bench.open()
    for first in range(0, 40, 8):
        log.append_as_leader(run_of(message_set(magic, 8, first)), 0)
    last = max(bench.dir.glob("*.log"))
    data = last.read_bytes()
    last.write_bytes(data[:-5])
    again = bench.open(clean=False)
    assert again.log_end_offset == 39
    again.advance_high_watermark(39)
    assert [record.offset for record in records_of(again)] == list(range(39))
    assert again.append_as_leader(run_of(message_set(magic, 1, 39)), 0).first_offset == 39


def test_times_are_found_in_magic_1_only(bench: LogBench, magic: int) -> None:
    log = bench.open()
    for first in range(0, 60, 20):
        log.append_as_leader(run_of(message_set(magic, 20, first)), 0)
    for wanted in (0, 1, 19, 20, 33, 59):
        found = log.offset_for_timestamp(START_MS + wanted)
        assert (found and found.offset) == (wanted if magic else None)
    assert log.offset_for_timestamp(START_MS + 60) is None


def test_a_wrapper_takes_as_many_offsets_as_it_holds(bench: LogBench, magic: int) -> None:
    log = bench.open()
    log.append_as_leader(run_of(message_set(magic, 3)), 0)
    values = [b"%05d" % n for n in range(3, 9)]
    packed = run_of(batch(values, magic=magic, codec=Codec.GZIP, base_offset=3, timestamp=START_MS + 3))
    packed.check(client=False)
    info = log.append_as_leader(packed, 0)
    assert (info.first_offset, info.last_offset) == (3, 8)
    log.advance_high_watermark(9)
    assert [(record.offset, record.value) for record in records_of(log)] == [(n, b"%05d" % n) for n in range(9)]


def test_compaction_keeps_the_last_message_of_each_key(tmp_path: Path, magic: int) -> None:
    """What is rewritten becomes magic 2, and the topic goes on in its own format."""
    manager = open_manager(tmp_path / "data", clock=ManualClock(START_MS))
    log = manager.create(TP, config(magic, cleanup_policy="compact", min_cleanable_dirty_ratio=0.0))
    for first in range(0, 12, 4):
        log.append_as_leader(run_of(message_set(magic, 4, first)), 0)
    log.advance_high_watermark(log.log_end_offset)
    log.roll()
    assert manager.cleaner.clean_one(manager.cleaner.new_rewriter()) is not None
    assert [(r.offset, r.key, r.value) for r in records_of(log)] == [
        (offset, b"k%d" % (offset - 8), b"%05d" % offset) for offset in range(8, 12)
    ]
    assert log.append_as_leader(run_of(message_set(magic, 1, 12)), 0).first_offset == 12
    log.advance_high_watermark(13)
    assert records_of(log)[-1].offset == 12
