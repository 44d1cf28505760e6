"""Our cleaner and Apache Kafka's, on copies of the same directory at the same time: the files must be equal.

Data byte for byte (compressed batches record for record: the codecs' encoders differ), and the indexes with it.
"""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from support.kafka_cleaner import run_kafka_cleaner
from support.managed_logs import TP, append, end_transaction, open_manager
from tidelog.log.cleaner.job import CleanJob
from tidelog.log.cleaner.plan import measure
from tidelog.log.config import LogConfig
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.testing.clock import ManualClock

pytestmark = pytest.mark.java

SETTINGS: dict[str, object] = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": 4000,
    "segment.index.bytes": 1200,
    "index.interval.bytes": 300,
    "delete.retention.ms": 60_000,
}
MEMORY = 24 * 1000


def fill(
    log: PartitionLog, clock: ManualClock, rng: random.Random, kind: str, batches: int, sequences: dict[int, int]
) -> None:
    for _ in range(batches):
        clock.advance(ms=rng.randrange(500))
        producer = rng.randrange(1, 4)
        pairs: Any = [
            (
                b"key-%d" % rng.randrange(40) if rng.random() > 0.02 or kind != "plain" else None,
                None if rng.random() < 0.1 else rng.randbytes(rng.randrange(1, 60)),
            )
            for _ in range(rng.randrange(1, 8))
        ]
        if kind == "plain":
            append(log, pairs)
        elif kind.startswith("magic"):
            append_old(log, pairs, int(kind[-1]), clock.time_ms(), Codec.GZIP if rng.random() < 0.3 else Codec.NONE)
        elif kind == "compressed":
            append(log, pairs, codec=rng.choice(list(Codec)))
        elif kind == "idempotent" or rng.random() < 0.3:
            append(log, pairs, producer_id=producer + 10, sequence=sequences.get(producer + 10, 0))
            sequences[producer + 10] = sequences.get(producer + 10, 0) + len(pairs)
        else:
            append(log, pairs, producer_id=producer, sequence=sequences.get(producer, 0), transactional=True)
            sequences[producer] = sequences.get(producer, 0) + len(pairs)
            if rng.random() < 0.5:
                end_transaction(log, producer, committed=rng.random() < 0.5)
    for producer in (1, 2, 3):
        if producer in log.producers.entries:
            end_transaction(log, producer, committed=True)
    log.roll()


def append_old(log: PartitionLog, pairs: Any, magic: int, now_ms: int, codec: Codec) -> None:
    """A message set of magic 0 or 1, as an old leader would have sent it."""
    builder = BatchBuilder(magic=magic, codec=codec, base_offset=log.log_end_offset)
    for key, value in pairs:
        builder.append(now_ms if magic else -1, key, value)
    log.append_as_follower(builder.build())
    log.advance_high_watermark(log.log_end_offset)


def closed_files(directory: Path) -> dict[str, bytes]:
    """The files of all segments but the active one."""
    names = sorted(path.name for path in directory.glob("*.log"))
    bases = {name.split(".")[0] for name in names[:-1]}
    kinds = (".log", ".index", ".timeindex", ".txnindex")
    found = {p.name: p.read_bytes() for p in directory.iterdir() if p.suffix in kinds and p.name.split(".")[0] in bases}
    return {name: data for name, data in found.items() if data or not name.endswith(".txnindex")}


def decoded(data: bytes) -> list[Any]:
    return [(*batch.header[2:6], *batch.header[7:], batch.records()) for batch in iter_batches(data, check_crc=True)]


def clean_ours(root: Path, clock: ManualClock, config: LogConfig, first_dirty: int) -> int:
    manager = open_manager(root, clock=clock, config=config, log_cleaner_dedupe_buffer_size=MEMORY)
    log = manager.logs[TP]
    log.advance_high_watermark(log.log_end_offset)
    job = CleanJob(measure(log, first_dirty, clock.time_ms())[0], clock.time_ms())
    rewriter = manager.cleaner.new_rewriter()
    while not job.finished:
        job.run(rewriter)
        job.apply()
    clock.advance(61)
    manager.scheduler.run_due()  # type: ignore[attr-defined]  # the manager's own timer queue
    manager.shutdown()
    return job.end_offset


@pytest.mark.parametrize(("kind", "seed"), [("plain", 1), ("idempotent", 2), ("transactions", 3), ("transactions", 4),
                                            ("compressed", 5), ("magic0", 6), ("magic1", 7)])  # fmt: skip
def test_three_passes_give_the_same_files(tmp_path: Path, kind: str, seed: int) -> None:
    rng = random.Random(seed)
    sequences: dict[int, int] = {}
    clock = ManualClock(int(time.time() * 1000))
    config = LogConfig.from_topic(SETTINGS)
    ours, kafkas = tmp_path / "ours", tmp_path / "kafka" / str(TP)
    manager = open_manager(ours, clock=clock, config=config)
    fill(manager.create(TP, config), clock, rng, kind, 120, sequences)
    manager.shutdown()
    first_dirty = 0
    packed = kind == "compressed" or kind.startswith("magic")
    for number in range(3):
        shutil.rmtree(kafkas, ignore_errors=True)
        shutil.copytree(ours / str(TP), kafkas)
        now = clock.time_ms()
        done = run_kafka_cleaner(
            kafkas, tmp_path / "conf", SETTINGS, now_ms=now, first_dirty=first_dirty, map_memory=MEMORY, io_buffer=2000
        )
        end = clean_ours(ours, clock, config, first_dirty)
        assert end == done.end
        expected, found = closed_files(kafkas), closed_files(ours / str(TP))
        assert sorted(found) == sorted(expected)
        for name, data in expected.items():
            if packed and name.endswith(".log"):
                assert decoded(found[name]) == decoded(data), name
            elif not packed or name.endswith(".txnindex"):
                assert found[name] == data, f"pass {number}: {name}"
        first_dirty = end
        clock.advance(30)  # tombstones' horizons pass between the passes
        manager = open_manager(ours, clock=clock, config=config)
        fill(manager.logs[TP], clock, rng, "plain" if kind == "plain" else "idempotent", 20, sequences)
        manager.shutdown()
        clock.advance(31)
