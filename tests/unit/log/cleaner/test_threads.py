"""Cleaning on threads beside the owner, as the broker does it: pick and swap here, the work there."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from support.managed_logs import all_records, append, compact_config, latest_values, open_manager
from tidelog.common.types import TopicPartition
from tidelog.log.cleaner.errors import CleaningAborted
from tidelog.log.cleaner.job import CleanJob
from tidelog.log.cleaner.rewriter import Rewriter
from tidelog.log.manager.manager import LogManager


class Workers:
    """Some threads; the owner calls `step` between its own work."""

    def __init__(self, manager: LogManager, count: int) -> None:
        self._manager = manager
        self._pool = ThreadPoolExecutor(count)
        self._idle = [manager.cleaner.new_rewriter() for _ in range(count)]
        self._running: dict[Future[None], tuple[CleanJob, Rewriter]] = {}

    def step(self, timeout: float = 0) -> bool:
        """Give idle threads work, take in what is done; false when there was neither."""
        cleaner = self._manager.cleaner
        while self._idle and (job := cleaner.pick()) is not None:
            self._start(job, self._idle.pop())
        if not self._running:
            return False
        done, _ = wait(self._running, timeout, FIRST_COMPLETED)
        for future in done:
            job, rewriter = self._running.pop(future)
            try:
                future.result()
                job.apply()
            except CleaningAborted as error:
                cleaner.failed(job, error)
                self._idle.append(rewriter)
                continue
            if job.finished:
                cleaner.done(job)
                self._idle.append(rewriter)
            else:
                self._start(job, rewriter)
        return True

    def _start(self, job: CleanJob, rewriter: Rewriter) -> None:
        self._running[self._pool.submit(job.run, rewriter)] = (job, rewriter)

    def finish(self) -> None:
        """Until nothing is worth a pass any more."""
        while self.step(10):
            continue
        self._pool.shutdown()


@pytest.mark.parametrize("count", [1, 3])
def test_they_clean_while_the_owner_appends(tmp_path: Path, count: int) -> None:
    manager = open_manager(tmp_path / "data", log_cleaner_threads=count, log_cleaner_dedupe_buffer_size=24 * 900)
    logs = [manager.create(TopicPartition("t", n), compact_config()) for n in range(4)]
    workers = Workers(manager, count)
    written: list[dict[bytes, bytes]] = [{} for _ in logs]
    for n in range(200):
        for log, table in zip(logs, written, strict=True):
            key, value = b"%d" % (n % 7), b"%d" % n
            append(log, [(key, value)])
            table[key] = value
        workers.step()
    for log in logs:
        log.roll()
    workers.finish()
    assert [latest_values(all_records(log)) for log in logs] == written
    assert {len(all_records(log)) for log in logs} == {7}
    assert not manager.cleaner.jobs
    assert not manager.cleaner.uncleanable
    manager.shutdown()


@pytest.mark.parametrize("what", ["truncate", "delete"])
def test_a_log_that_changes_aborts_its_job(tmp_path: Path, what: str) -> None:
    manager = open_manager(tmp_path / "data", log_cleaner_dedupe_buffer_size=24 * 900)
    tp = TopicPartition("t", 0)
    log = manager.create(tp, compact_config())
    append(log, [(b"a", b"1")])
    append(log, [(b"a", b"2")])
    log.roll()
    append(log, [(b"b", b"1")])
    job = manager.cleaner.pick()
    assert job is not None
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(job.run, manager.cleaner.new_rewriter())
        if what == "truncate":
            manager.cleaner.abort(tp)
            log.truncate_to(1)
        else:
            manager.delete(tp)
        error = future.exception(30)
    if error is None:
        with pytest.raises(CleaningAborted) as caught:
            job.apply()
        error = caught.value
    assert isinstance(error, CleaningAborted)
    manager.cleaner.failed(job, error)
    assert manager.dirs[0].online
    assert not manager.cleaner.jobs
    if what == "truncate":
        assert not list(log.dir.glob("*.cleaned"))
        assert [r.offset for r in all_records(log)] == [0]
    manager.shutdown()
