"""Compaction and recovery, ours and Apache Kafka's own, on copies of the same directory in the same run.

    .venv/bin/python bench/log_compaction.py [--quick]

Kafka's side is its own code (UnifiedLog's recovery, the Cleaner) called directly, without a broker, in one process that
does everything several times so that its compiler is warm; the best round counts on both sides. Bytes are those of the
source log; seconds include the writing and syncing of what is kept. Goal: faster than Kafka's.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.kafka_cleaner import run_kafka_cleaner_on
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.fs import LOCAL_FS
from tidelog.common.rng import seeded_rng
from tidelog.common.scheduler import TimerQueue
from tidelog.common.types import TopicPartition
from tidelog.log.cleaner.job import CleanJob
from tidelog.log.cleaner.plan import measure
from tidelog.log.config import LogConfig
from tidelog.log.manager.manager import LogManager
from tidelog.log.partition.opening import Checkpointed, LogSettings
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.segment.file_budget import FileBudget
from tidelog.records.format.attributes import Codec
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel._batches import BatchRun

QUICK = "--quick" in sys.argv
SIZE = (32 if QUICK else 256) << 20
ROUNDS = 2 if QUICK else 4
TP = TopicPartition("bench", 0)
SETTINGS: dict[str, object] = {"cleanup.policy": "compact", "segment.bytes": 64 << 20}
RECORDS_PER_BATCH = 120


def fill(root: Path, codec: Codec, keys: int, value_size: int) -> int:
    """A log of `SIZE` plain bytes: keys at random, values half random, 16 KB batches."""
    config = LogConfig.from_topic(SETTINGS)
    manager = LogManager([root], rng=seeded_rng(1))
    manager.open()
    manager.load()
    log = manager.create(TP, config)
    rng = random.Random(1)
    noise = rng.randbytes(value_size // 2)
    written = 0
    while written < SIZE:
        builder = BatchBuilder(codec=codec)
        now = SYSTEM_CLOCK.time_ms()
        for _ in range(RECORDS_PER_BATCH):
            key = b"key-%012d" % rng.randrange(keys)
            builder.append(now, key, noise + key * ((value_size - len(noise)) // len(key)))
        written += builder.size_estimate
        run = BatchRun(bytearray(builder.build()))
        run.scan()
        log.append_as_leader(run, 0)
    log.roll()
    size = log.size
    manager.shutdown()
    return size


def copies(root: Path, source: Path, count: int) -> list[Path]:
    found = []
    for number in range(count):
        target = root / str(number) / str(TP)
        shutil.copytree(source / str(TP), target)
        found.append(target)
    return found


def open_log(path: Path, *, clean: bool) -> PartitionLog:
    settings = LogSettings(LOCAL_FS, SYSTEM_CLOCK, seeded_rng(1), FileBudget(512), TimerQueue(SYSTEM_CLOCK))
    return PartitionLog.open(path, LogConfig.from_topic(SETTINGS), settings, Checkpointed(clean=clean))


def recover_ours(path: Path) -> float:
    started = time.perf_counter()
    log = open_log(path, clean=False)
    seconds = time.perf_counter() - started
    log.close()
    return seconds


def clean_ours(path: Path) -> float:
    from tidelog.log.cleaner.config import CleanerConfig
    from tidelog.log.cleaner.rewriter import Rewriter
    from tidelog.log.cleaner.throttler import Throttler

    log = open_log(path, clean=True)
    log.advance_high_watermark(log.log_end_offset)
    rewriter = Rewriter(CleanerConfig(), Throttler(SYSTEM_CLOCK))
    started = time.perf_counter()
    job = CleanJob(measure(log, 0, SYSTEM_CLOCK.time_ms())[0], SYSTEM_CLOCK.time_ms())
    while not job.finished:
        job.run(rewriter)
        job.apply()
    seconds = time.perf_counter() - started
    log.close()
    return seconds


def compare(name: str, codec: Codec, keys: int, value_size: int) -> None:
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        root = Path(folder)
        size = fill(root / "source", codec, keys, value_size)
        megabytes = size / 1e6
        ours = copies(root / "ours", root / "source", ROUNDS)
        kafkas = copies(root / "kafka", root / "source", ROUNDS)
        recovery = min(recover_ours(path) for path in ours)
        cleaning = min(clean_ours(path) for path in ours)
        conf = root / "conf"
        recovered = run_kafka_cleaner_on(kafkas, conf, SETTINGS, clean=False, first_dirty=-1)
        cleaned = run_kafka_cleaner_on(kafkas, conf, SETTINGS, now_ms=SYSTEM_CLOCK.time_ms())
        show(f"recovery    {name}", megabytes, recovery, min(run.opening for run in recovered))
        show(f"compaction  {name}", megabytes, cleaning, min(run.cleaning for run in cleaned))


def show(what: str, megabytes: float, ours: float, kafkas: float) -> None:
    print(
        f"{what:<44} {megabytes / ours:8.0f} MB/s   Kafka {megabytes / kafkas:8.0f} MB/s   {kafkas / ours:5.1f} x",
        flush=True,
    )


def main() -> None:
    print(f"{SIZE >> 20} MiB of plain records, batches of {RECORDS_PER_BATCH}; best of {ROUNDS} rounds each\n")
    compare("100 B values, plain, few keys", Codec.NONE, 10_000, 100)
    compare("100 B values, plain, a million keys", Codec.NONE, 1_000_000, 100)
    compare("1 KB values, plain, many keys", Codec.NONE, 100_000, 1000)
    compare("100 B values, lz4, many keys", Codec.LZ4, 300_000, 100)


if __name__ == "__main__":
    main()
