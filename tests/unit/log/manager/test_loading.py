from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.managed_logs import append, open_manager
from tidelog.common.errors import StorageError
from tidelog.common.types import TopicPartition
from tidelog.log.manager import loading
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import INDEX, LOG, REPLICATION_OFFSET_FILE, TIME_INDEX, file_name

IDLE, BUSY = TopicPartition("t", 0), TopicPartition("t", 1)


def killed(path: Path) -> LogManager:
    """A manager whose process ended while one log had a record and another had none."""
    manager = open_manager(path)
    for tp in (IDLE, BUSY):
        manager.create(tp, manager.config_of())
    append(manager.logs[BUSY], [(b"k", b"v")])
    for directory in manager.dirs:
        directory.close()
    return manager


def test_only_logs_with_something_to_check_are_left_to_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(tmp_path)
    handed_out: list[Any] = []

    def watched(function: Callable[[Any], Any], items: Sequence[Any], threads: int, chunk: int = 1) -> Iterable[Any]:
        handed_out.extend(items)
        return map(function, items)

    monkeypatch.setattr(loading, "in_threads", watched)
    again = open_manager(tmp_path)
    assert [one.name.topic_partition for one in handed_out if not hasattr(one, "meta")] == [BUSY]
    assert list(again.logs) == [IDLE, BUSY], "in the order of their names, whoever loaded them"
    assert again.logs[BUSY].log_end_offset == 1


def test_what_the_indexes_of_an_empty_segment_hold_is_not_believed(tmp_path: Path) -> None:
    killed(tmp_path)
    for kind in (INDEX, TIME_INDEX):
        (tmp_path / str(IDLE) / file_name(0, kind)).write_bytes(b"\1" * 24)
    log = open_manager(tmp_path).logs[IDLE]
    assert log.active_segment.offset_index.entries == log.active_segment.time_index.entries == 0
    assert [(log.dir / file_name(0, kind)).stat().st_size for kind in (INDEX, TIME_INDEX)] == [0, 0]
    append(log, [(b"k", b"v")])
    assert log.log_end_offset == 1


def test_a_partition_whose_own_disk_is_not_mounted_is_not_forgotten(tmp_path: Path) -> None:
    data, disk = tmp_path / "data", tmp_path / "disk"
    manager = open_manager(data)
    manager.create(IDLE, manager.config_of())
    manager.shutdown()
    recorded = (data / REPLICATION_OFFSET_FILE).read_bytes()
    (data / str(IDLE)).rename(disk)
    (data / str(IDLE)).symlink_to(tmp_path / "not mounted")
    with pytest.raises(StorageError, match="no log directory is usable"):
        open_manager(data)
    assert (data / REPLICATION_OFFSET_FILE).read_bytes() == recorded


def test_links_of_others_in_a_partitions_directory_are_left_alone(tmp_path: Path) -> None:
    killed(tmp_path)
    (tmp_path / str(IDLE) / "note").symlink_to("nowhere")
    assert list(open_manager(tmp_path).logs) == [IDLE, BUSY]


def test_a_segment_that_is_a_link_to_nowhere_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    killed(tmp_path)
    segment = tmp_path / str(BUSY) / file_name(0, LOG)
    segment.unlink()
    segment.symlink_to("nowhere")
    with pytest.raises(StorageError, match="no log directory is usable"):
        open_manager(tmp_path)
    assert segment.is_symlink()
