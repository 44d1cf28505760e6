"""A flusher on another thread and readers of old slices, while the owner appends, rolls, truncates and deletes."""

from __future__ import annotations

import queue
import threading
from pathlib import Path

from support.logs import LogBench, fill, records_of, small_config
from tidelog.common.rng import seeded_rng
from tidelog.log.partition.flush import FlushJob
from tidelog.log.segment.file_slice import FileSlice


def test_flushing_beside_the_owner(tmp_path: Path) -> None:
    bench = LogBench(tmp_path, config=small_config(segment_bytes=700, retention_bytes=6000))
    bench.files.resize(4)  # fewer than one flush needs: files are closed and opened all the time
    log = bench.open()
    jobs: queue.Queue[FlushJob | None] = queue.Queue()
    done: queue.Queue[FlushJob] = queue.Queue()
    errors: list[BaseException] = []

    def flusher() -> None:
        while (job := jobs.get()) is not None:
            try:
                job.run()
            except BaseException as error:
                errors.append(error)
            done.put(job)

    thread = threading.Thread(target=flusher)
    thread.start()
    rng = seeded_rng(3)
    running = False
    for step in range(250):
        fill(log, rng.randint(1, 3), epoch=step // 50)
        action = rng.random()
        if action < 0.05:
            log.truncate_to(max(log.log_start_offset, log.log_end_offset - rng.randint(1, 20)))
        elif action < 0.15:
            log.delete_old_segments()
        elif action < 0.2 and log.active_segment.size:
            log.roll()
        elif action < 0.25:
            bench.scheduler.run_all()
        if running and not done.empty():
            log.flush_done(done.get())
            running = False
        if not running and (job := log.flush_job()) is not None:
            jobs.put(job)
            running = True
    jobs.put(None)
    thread.join()
    assert not errors
    while not done.empty():
        log.flush_done(done.get())
    expected = records_of(log)
    start = log.log_start_offset
    log.close()
    assert len(bench.files) == 0
    again = bench.open(log_start_offset=start)
    assert records_of(again) == expected


def test_slices_outlive_everything(tmp_path: Path) -> None:
    bench = LogBench(tmp_path, config=small_config(segment_bytes=700, retention_bytes=0))
    bench.files.resize(2)
    log = bench.open()
    slices: list[tuple[FileSlice, bytes]] = []
    for _ in range(40):
        fill(log, 3)
        piece = log.read(log.log_end_offset - 1, 10_000).slice
        assert piece is not None
        slices.append((piece, piece.read()))
        log.delete_old_segments()
        bench.scheduler.run_all()
    wrong: list[int] = []

    def send(part: list[tuple[FileSlice, bytes]]) -> None:
        for piece, expected in part:
            if piece.read() != expected:
                wrong.append(piece.position)
            piece.release()

    threads = [threading.Thread(target=send, args=(slices[number::4],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    log.close()
    assert len(bench.files) == 0
