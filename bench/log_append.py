"""How fast the partition log is, beside the system calls that it cannot do without. Ratios are of one run.

    .venv/bin/python bench/log_append.py [--quick]

append    append_as_leader of checked batches        against a bare os.write loop of the same sizes
one-record batches, hundreds in one run              microseconds per batch
read      read + FileSlice.read()                    against os.pread of the same sizes
look-up   an offset in the index of a full 1 GiB segment
recovery  MB/s of a segment after an unclean stop
open      1,000 partitions of 4 segments after a clean stop

Times are the thread's processor time, the kernel's share included: on a quiet machine that is the time on the wall
(nothing here waits for the disk), and on a busy one it leaves the neighbours out.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.logs import batch
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.fs import LOCAL_FS
from tidelog.common.rng import seeded_rng
from tidelog.common.scheduler import TimerQueue
from tidelog.log.config import LogConfig
from tidelog.log.partition.opening import Checkpointed, LogSettings
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.segment._index import OffsetIndex
from tidelog.log.segment.file_budget import FileBudget
from tidelog.log.segment.home import Home
from tidelog.records.kernel._batches import BatchRun

QUICK = "--quick" in sys.argv
TOTAL = (64 if QUICK else 256) << 20
ROUNDS = 3 if QUICK else 5


def best(action: Callable[[], float], rounds: int = ROUNDS) -> float:
    return min(action() for _ in range(rounds))


def open_log(directory: Path, files: FileBudget | None = None, **options: object) -> PartitionLog:
    return PartitionLog.open(
        directory,
        LogConfig.from_topic(),
        LogSettings(
            LOCAL_FS,
            SYSTEM_CLOCK,
            seeded_rng(1),
            FileBudget(512) if files is None else files,
            TimerQueue(SYSTEM_CLOCK),
        ),
        Checkpointed(**options),  # type: ignore[arg-type] # the caller's own
    )


def batch_of(size: int) -> bytearray:
    """One batch of about `size` bytes, records of 1 KB."""
    value = b"v" * min(1000, size // 2)
    count = max(1, (size - 61) // (len(value) + 15))
    return bytearray(batch([value] * count, timestamp=SYSTEM_CLOCK.time_ms()))


def append_floor(directory: Path, data: bytearray, count: int) -> float:
    """A loop of os.write into a fresh file."""
    fd = os.open(directory / "floor", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    started = time.thread_time()
    for _ in range(count):
        os.write(fd, data)
    elapsed = time.thread_time() - started
    os.close(fd)
    os.unlink(directory / "floor")
    return elapsed


def append_log(directory: Path, data: bytearray, count: int) -> float:
    """The same through the log: the run is parsed before (the broker's receive path does), committed here."""
    log = open_log(directory / "append-0")
    run = BatchRun(data)
    run.scan()
    run.check()
    started = time.thread_time()
    for _ in range(count):
        log.append_as_leader(run, 0)
    elapsed = time.thread_time() - started
    log.delete()
    return elapsed


def bench_append(directory: Path) -> None:
    print(f"{'append':24}{'os.write GB/s':>16}{'log GB/s':>12}{'ratio':>8}{'us/append':>12}")
    for size in (1 << 10, 16 << 10, 64 << 10, 1 << 20):
        data = batch_of(size)
        count = min(TOTAL // len(data), 40_000)
        floors, logs = [], []
        for _ in range(ROUNDS):  # alternate, so that both meet the same neighbours
            floors.append(append_floor(directory, data, count))
            logs.append(append_log(directory, data, count))
        total = len(data) * count / 1e9
        floor, ours = min(floors), min(logs)
        print(f"  {size >> 10:>6} KB{total / floor:>30.2f}{total / ours:>12.2f}{floor / ours:>8.2f}"
              f"{ours / count * 1e6:>12.1f}")  # fmt: skip


def bench_small_batches(directory: Path) -> None:
    for label, producer in (("plain", -1), ("idempotent, follower", 7)):
        log = open_log(directory / "small-0")
        offset = 0
        best_time = float("inf")
        for _ in range(20):
            parts = [
                batch([b"v" * 100], base_offset=offset + i, producer_id=producer, epoch=0 if producer >= 0 else -1,
                      sequence=offset + i if producer >= 0 else -1, leader_epoch=0)
                for i in range(500)
            ]  # fmt: skip
            run = BatchRun(bytearray(b"".join(parts)))
            run.scan()
            started = time.thread_time()
            if producer < 0:
                log.append_as_leader(run, 0)
            else:
                log.append_as_follower(run)
            best_time = min(best_time, time.thread_time() - started)
            offset += 500
        print(f"one-record batches, 500 in a run ({label}): {best_time / 500 * 1e6:.2f} us per batch, write included")
        log.delete()


def bench_read(directory: Path) -> None:
    log = open_log(directory / "read-0")
    data = batch_of(64 << 10)
    run = BatchRun(data)
    run.scan()
    run.check()
    for _ in range(TOTAL // len(data)):
        log.append_as_leader(run, 0)
    per_batch = run.header(0).record_count
    print(f"{'read':24}{'os.pread GB/s':>16}{'log GB/s':>12}{'ratio':>8}{'us/read':>12}")
    for size in (64 << 10, 1 << 20):
        step = size // len(data) or 1
        offsets = range(0, log.log_end_offset - step * per_batch, step * per_batch)
        fd = os.open(log.segments[0].data.path, os.O_RDONLY)

        def floor(fd: int = fd, size: int = step * len(data), offsets: range = offsets) -> float:
            started = time.thread_time()
            position = 0
            for _ in offsets:
                position += len(os.pread(fd, size, position))
            return time.thread_time() - started

        def ours(size: int = step * len(data), offsets: range = offsets) -> float:
            started = time.thread_time()
            for offset in offsets:
                result = log.read(offset, size)
                assert result.slice is not None
                result.slice.read()
                result.slice.release()
            return time.thread_time() - started

        base, mine = best(floor), best(ours)
        total = len(offsets) * step * len(data) / 1e9
        print(f"  {size >> 10:>6} KB{total / base:>30.2f}{total / mine:>12.2f}{base / mine:>8.2f}"
              f"{mine / len(offsets) * 1e6:>12.1f}")  # fmt: skip
        os.close(fd)
    started = time.thread_time()
    for offset in range(0, log.log_end_offset, 7):
        log.read(offset, 1 << 20).slice.release()  # type: ignore[union-attr] # within the log
    count = len(range(0, log.log_end_offset, 7))
    print(f"read as a slice (no copy): {(time.thread_time() - started) / count * 1e6:.1f} us")
    log.delete()


def bench_lookup(directory: Path) -> None:
    home = Home(directory, LOCAL_FS, SYSTEM_CLOCK, FileBudget(8))
    index = OffsetIndex(home, 0, 10 << 20)
    index.create()
    entries = (1 << 30) // 4097
    for entry in range(entries):
        index.append(entry * 40 + 39, entry * 4097)
    rng = seeded_rng(2)
    for label, targets in (
        ("anywhere", [rng.randrange(entries * 40) for _ in range(100_000)]),
        ("near the end", [entries * 40 - rng.randrange(20_000) for _ in range(100_000)]),
    ):

        def look(targets: list[int] = targets) -> float:
            lookup = index.lookup
            started = time.thread_time()
            for target in targets:
                lookup(target)
            return time.thread_time() - started

        print(f"look-up in {entries} entries, {label}: {best(look) / 100_000 * 1e6:.2f} us (goal 3)")
    index.close()
    index.path.unlink()


def bench_recovery(directory: Path) -> None:
    for label, size in (("64 KB batches", 64 << 10), ("1 KB batches", 1 << 10)):
        log = open_log(directory / "recovery-0")
        data = batch_of(size)
        run = BatchRun(data)
        run.scan()
        run.check()
        for _ in range(TOTAL // len(data)):
            log.append_as_leader(run, 0)
        total = log.size
        log.close()

        def recover() -> float:
            started = time.thread_time()
            recovered = open_log(directory / "recovery-0", clean=False)
            elapsed = time.thread_time() - started
            recovered.close()
            return elapsed

        print(f"recovery, {label}: {total / 1e6 / best(recover):.0f} MB/s")
        shutil.rmtree(directory / "recovery-0")


def bench_open(directory: Path) -> None:
    partitions = 200 if QUICK else 1000
    files = FileBudget(512)
    for number in range(partitions):
        log = open_log(directory / f"many-{number}", files)
        for _ in range(4):
            if log.active_segment.size:
                log.roll()
            run = BatchRun(batch_of(1 << 10))
            run.scan()
            log.append_as_leader(run, 0)
        log.close()
    if hasattr(os, "sync"):
        os.sync()
    logs: list[PartitionLog] = []

    def open_all() -> float:
        for log in logs:
            log.close()
        logs.clear()
        started = time.thread_time()
        logs.extend(open_log(directory / f"many-{number}", files) for number in range(partitions))
        return time.thread_time() - started

    elapsed = best(open_all)
    print(
        f"open {partitions} partitions x 4 segments after a clean stop: {elapsed:.2f} s = "
        f"{elapsed / partitions * 1000:.2f} s per 1,000 (goal 1); {len(files)} files open afterwards"
    )
    for log in logs:
        log.delete()


def main() -> None:
    directory = Path(tempfile.mkdtemp(prefix="tidelog-bench-"))
    try:
        for part in (bench_append, bench_small_batches, bench_read, bench_lookup, bench_recovery, bench_open):
            part(directory)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
