"""Page cache and zero copy: 000 磁盘存储, 001 四. 磁盘存储及读写性能优化, 003 3.2 and 4."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.logs import LogBench, batch, fill, run_of, small_config
from support.managed_logs import TP, append, open_manager
from support.wire import batch as wire_batch
from support.wire import connected, run, serving
from tidelog.common.types import MAX_INT64, TopicPartition
from tidelog.log.config import LogConfig
from tidelog.log.manager.manager import LogManager
from tidelog.log.segment.data_file import DataFile
from tidelog.testing.clock import ManualClock
from tidelog.testing.fs import FailingFileSystem


def test_written_bytes_are_never_changed(tmp_path: Path) -> None:
    """000 磁盘存储: messages are appended, and what is written is not modified."""
    log = LogBench(tmp_path, config=small_config(segment_bytes=1 << 20)).open()
    fill(log, 10)
    path = log.active_segment.data.path
    before = path.read_bytes()[: log.active_segment.size]
    fill(log, 10)
    assert path.read_bytes()[: len(before)] == before
    assert log.active_segment.size > len(before)
    log.close()


def test_the_system_writes_to_disk_unless_told_otherwise(tmp_path: Path) -> None:
    """000 页缓存: messages go to the page cache, and flushing is left to the operating system by default."""
    config = LogConfig.from_topic({})
    assert (config.flush_messages, config.flush_ms) == (MAX_INT64, MAX_INT64)
    fs = FailingFileSystem()
    log = LogBench(tmp_path, fs=fs, config=small_config(segment_bytes=1 << 20)).open()
    fs.fail("sync", ".log")
    fill(log, 20)
    with pytest.raises(OSError, match="Input/output error"):
        log.active_segment.data.sync()
    fs.heal()
    log.close()


def test_flushing_can_be_asked_for_by_count_and_by_time(tmp_path: Path) -> None:
    """000 页缓存, 003 3.2: a log may also be flushed with every message, after so many, or at intervals."""
    clock = ManualClock()
    manager = open_manager(tmp_path, clock=clock)
    counted = manager.create(TP, LogConfig.from_topic({"flush.messages": 3}))
    timed = manager.create(TopicPartition("timed", 0), LogConfig.from_topic({"flush.ms": 1000}))
    append(counted, [(b"k", b"1")] * 2)
    append(timed, [(b"k", b"1")])
    assert manager.flush_due() == []
    append(counted, [(b"k", b"2")])
    flush(manager)
    assert (counted.recovery_point, timed.recovery_point) == (3, 0)
    clock.advance(1)
    flush(manager)
    assert timed.recovery_point == 1
    manager.shutdown()


def flush(manager: LogManager) -> None:
    """Sync the one log that is due."""
    (log,) = manager.flush_due()
    task = manager.flush_task(log)
    assert task is not None
    task.run()
    manager.flushed(task)


def test_records_reach_a_consumer_without_passing_through_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """000 零拷贝, 003 4: the kernel sends the file to the socket; the broker reads no more than headers."""
    original, seen = DataFile.read_at, []

    def read_at(file: DataFile, position: int, size: int) -> bytes:
        seen.append(len(found := original(file, position, size)))
        return found

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            sent = wire_batch(bytes(900_000))
            await client.produce("t", sent)
            monkeypatch.setattr(DataFile, "read_at", read_at)
            answer = await client.fetch("t")
            assert bytes(answer.responses[0].partitions[0].records[16:]) == bytes(sent[16:])
            assert sum(seen) < 10_000

    run(main())


def test_a_reader_keeps_its_file_when_the_segment_is_deleted(tmp_path: Path) -> None:
    """000 日志删除 1: nobody reads a segment that is taken out of the log, but who reads already is not disturbed."""
    bench = LogBench(tmp_path)
    log = bench.open()
    fill(log, 60)
    result = log.read(0, 500)
    assert result.slice is not None
    content = result.slice.read()
    log.advance_log_start(log.active_segment.base_offset)
    log.delete_old_segments()
    bench.clock.advance(3600)
    bench.scheduler.run_due()
    assert "00000000000000000000.log.deleted" not in bench.names()
    assert result.slice.read() == content
    result.slice.release()
    log.append_as_leader(run_of(batch()), 0)
    log.close()
