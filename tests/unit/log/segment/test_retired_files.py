"""A deleted partition keeps no file open: its descriptors go at once, or with the last reader; its space after the
delay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.managed_logs import TP, append, compact_config, open_manager
from tidelog.testing.clock import ManualClock

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux' /proc")


def open_below(path: Path) -> list[str]:
    """The files below a directory that this process has open or mapped (removed ones too)."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
    with open("/proc/self/maps") as maps:
        found += [line.split(maxsplit=5)[5] for line in maps if str(path) in line]
    return [where for where in found if where.startswith(f"{path}/") and ".lock" not in where]


def test_a_deleted_partition_keeps_no_file_open(tmp_path: Path) -> None:
    manager = open_manager(tmp_path)
    for _ in range(3):
        log = manager.create(TP, compact_config())
        for number in range(60):
            append(log, [(b"k", b"v" * 100)], timestamp=number)
        assert len(log.segments) > 3
        assert open_below(tmp_path)
        manager.delete(TP)
        assert not open_below(tmp_path)
    manager.shutdown()


def test_a_slow_reader_keeps_its_file_and_no_other(tmp_path: Path) -> None:
    clock = ManualClock()
    manager = open_manager(tmp_path, clock=clock)
    log = manager.create(TP, compact_config(file_delete_delay_ms=1000))
    for number in range(60):
        append(log, [(b"k", b"v" * 100)], timestamp=number)
    piece = log.read(5, 300).slice
    assert piece is not None
    expected = piece.read()
    manager.delete(TP)
    assert len(open_below(tmp_path)) == 1
    part = piece.part(0, 100)
    clock.advance(2)
    manager.scheduler.run_due()  # type: ignore[attr-defined]  # the manual queue
    assert not list(tmp_path.glob("*-delete")), "the files are gone"
    assert piece.read() == expected
    piece.release()
    assert len(open_below(tmp_path)) == 1
    assert part.read() == expected[:100]
    part.release()
    assert not open_below(tmp_path)
    manager.shutdown()


def test_a_sync_that_comes_late_leaves_nothing_open(tmp_path: Path) -> None:
    clock = ManualClock()
    manager = open_manager(tmp_path, clock=clock)
    log = manager.create(TP, compact_config(file_delete_delay_ms=1000))
    append(log, [(b"k", b"v")])
    job = log.flush_job()
    assert job is not None
    manager.delete(TP)
    job.run()
    clock.advance(2)
    manager.scheduler.run_due()  # type: ignore[attr-defined]  # the manual queue
    assert not open_below(tmp_path)
    manager.shutdown()
