"""The cleaner's threads: they clean while the owner appends, survive failures, and stop when asked."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from support.managed_logs import all_records, append, compact_config, latest_values, open_manager
from tidelog.common.types import TopicPartition
from tidelog.log.cleaner import CleanerThreads
from tidelog.log.manager import LogManager


class Owner:
    """The thread that owns the logs: the test's own, which runs what workers ask for between its own steps."""

    def __init__(self) -> None:
        self._asked: queue.Queue[tuple[Callable[[], Any], Future[Any]]] = queue.Queue()
        self.closed = False

    def ask(self, function: Callable[[], Any]) -> Any:
        if self.closed:
            raise RuntimeError("the loop is closed")
        future: Future[Any] = Future()
        self._asked.put((function, future))
        return future.result(30)

    def serve_until(self, condition: Callable[[], bool]) -> None:
        for _ in range(5000):
            if condition():
                return
            self.serve_one(0.01)
        raise AssertionError("it never happened")

    def serve_one(self, wait: float) -> None:
        try:
            function, future = self._asked.get(timeout=wait)
        except queue.Empty:
            return
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)


@pytest.fixture
def owner() -> Owner:
    return Owner()


def stop(threads: CleanerThreads, owner: Owner) -> None:
    stopper = threading.Thread(target=threads.stop, args=(30,))
    stopper.start()
    owner.serve_until(lambda: not stopper.is_alive())


@pytest.mark.parametrize("count", [1, 3])
def test_they_clean_while_the_owner_appends(tmp_path: Path, owner: Owner, count: int) -> None:
    manager: LogManager = open_manager(
        tmp_path / "data", log_cleaner_threads=count, log_cleaner_backoff_ms=10, log_cleaner_dedupe_buffer_size=24 * 900
    )
    logs = [manager.create(TopicPartition("t", n), compact_config()) for n in range(4)]
    threads = CleanerThreads(manager.cleaner, owner.ask)
    threads.start()
    written: list[dict[bytes, bytes]] = [{} for _ in logs]
    for n in range(200):
        for log, table in zip(logs, written, strict=True):
            key, value = b"%d" % (n % 7), b"%d" % n
            append(log, [(key, value)])
            table[key] = value
        owner.serve_one(0)
    for log in logs:
        log.roll()
    threads.wake()
    owner.serve_until(lambda: all(len(all_records(log)) == 7 for log in logs))
    stop(threads, owner)
    assert [latest_values(all_records(log)) for log in logs] == written
    assert not manager.cleaner.jobs
    assert not manager.cleaner.uncleanable
    manager.shutdown()


def test_a_truncated_log_aborts_its_job(tmp_path: Path, owner: Owner) -> None:
    manager = open_manager(tmp_path / "data", log_cleaner_backoff_ms=10, log_cleaner_dedupe_buffer_size=24 * 900)
    log = manager.create(TopicPartition("t", 0), compact_config())
    append(log, [(b"a", b"1")])
    append(log, [(b"a", b"2")])
    log.roll()
    append(log, [(b"b", b"1")])
    threads = CleanerThreads(manager.cleaner, owner.ask)
    threads.start()
    owner.serve_until(lambda: bool(manager.cleaner.jobs))  # picked, and running
    manager.cleaner.abort(log.topic_partition)
    log.truncate_to(1)
    owner.serve_until(lambda: not manager.cleaner.jobs)
    stop(threads, owner)
    assert [r.offset for r in all_records(log)] == [0]
    assert not list(log.dir.glob("*.cleaned"))
    manager.shutdown()


def test_they_stop_when_the_owner_is_gone(tmp_path: Path, owner: Owner) -> None:
    manager = open_manager(tmp_path / "data", log_cleaner_backoff_ms=10, log_cleaner_dedupe_buffer_size=24 * 900)
    threads = CleanerThreads(manager.cleaner, owner.ask)
    owner.closed = True
    threads.start()
    threads.stop(30)
    manager.shutdown()
