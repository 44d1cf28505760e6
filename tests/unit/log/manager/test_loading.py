from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.managed_logs import append, open_manager
from tidelog.common.types import TopicPartition
from tidelog.log.manager import loading
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import INDEX, TIME_INDEX, file_name

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
