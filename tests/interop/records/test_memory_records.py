"""Apache Kafka's MemoryRecords as the oracle of the record formats: it reads ours, we read its, and we refuse alike."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import pytest

from support.kafka import KAFKA_3, java_command
from tidelog.common.errors import KafkaError
from tidelog.records.arrow import batches_to_arrow
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import RecordBatch, iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker
from tidelog.records.format.convert import down_convert, up_convert
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel.crc32c import crc32c

pytestmark = pytest.mark.java
ORACLE = Path(__file__).with_name("RecordsOracle.java")


def oracle(tmp_path: Path, mode: str, path: Path) -> list[str]:
    command = java_command(KAFKA_3, tmp_path / "conf", str(ORACLE), mode, str(path))
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def hexed(data: bytes | None) -> str:
    return "-" if data is None else "x" + data.hex()


def lines_of(batch: RecordBatch) -> list[str]:
    header = batch.header
    head = [
        "batch", batch.magic, batch.base_offset, batch.last_offset, int(batch.codec), int(batch.timestamp_type),
        batch.max_timestamp, batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.leader_epoch,
        str(batch.is_transactional).lower(), str(batch.is_control).lower(),
        -1 if header.delete_horizon is None else header.delete_horizon,
    ]  # fmt: skip
    lines = [" ".join(map(str, head))]
    for record in batch:
        headers = "".join(f" {name}={hexed(value)}" for name, value in record.headers)
        lines.append(f"{record.offset} {record.timestamp} {hexed(record.key)} {hexed(record.value)}{headers}")
    return lines


def ours(data: bytes) -> list[str]:
    return [line for batch in iter_batches(data, check_crc=True) for line in lines_of(batch)]


def build(magic: int, codec: Codec, base: int, **options: object) -> bytes:
    builder = BatchBuilder(magic, codec, base_offset=base, **options)  # type: ignore[arg-type]  # the builder's own
    for i in range(40):
        headers = [(f"h{i}", b"x" * i), ("n", None)] if magic == 2 and i % 3 == 0 else ()
        key, value = None if i % 5 == 0 else b"key-%d" % i, None if i % 7 == 0 else b"v" * (i * 17)
        builder.append(5000 + (i * 31) % 77, key, value, headers)
    return builder.build()


def test_kafka_reads_what_we_write(tmp_path: Path) -> None:
    parts = []
    for magic in (0, 1, 2):
        for codec in Codec:
            if codec == Codec.ZSTD and magic < 2:
                continue
            parts.append(build(magic, codec, 100 * len(parts)))
            if magic:
                append_time = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 9999}
                parts.append(build(magic, codec, 100 * len(parts), **append_time))
    base = 100 * len(parts)
    producer = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 2**31 - 5, "transactional": True}
    parts.append(build(2, Codec.ZSTD, base, leader_epoch=12, **producer))
    parts.append(end_txn_marker(7, 3, committed=False, coordinator_epoch=4, timestamp=77, base_offset=base + 50))
    parts.append(build(2, Codec.NONE, base + 100, delete_horizon=123456))
    parts.append(BatchBuilder(base_offset=base + 200, producer_id=1).build_empty(last_offset=base + 220, timestamp=5))
    v2 = build(2, Codec.GZIP, base + 300)
    parts += [down_convert(v2, 0), down_convert(v2, 1), up_convert(down_convert(v2, 1))]
    stamped = bytearray(build(2, Codec.LZ4, 0))
    run = BatchRun(stamped)
    run.scan()
    run.stamp(base + 400, 6, log_append_time=4321)
    parts.append(bytes(stamped))
    data = b"".join(parts)
    (tmp_path / "ours.bin").write_bytes(data)
    assert oracle(tmp_path, "read", tmp_path / "ours.bin") == ours(data)


def test_we_read_what_kafka_writes(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    oracle(tmp_path, "write", theirs)
    files = sorted(theirs.iterdir())
    assert len(files) == 4 + 8 + 10
    data = b"".join(file.read_bytes() for file in files)
    (tmp_path / "all.bin").write_bytes(data)
    assert ours(data) == oracle(tmp_path, "read", tmp_path / "all.bin")
    assert batches_to_arrow(data).num_rows == 60 * len(files)
    run = BatchRun(data)
    run.scan()
    run.check(client=False)


def test_kafka_and_we_refuse_the_same_batches(tmp_path: Path) -> None:
    """Right checksums over damaged magic 2 batches. We are stricter in two things: numbers that overflow, and
    batches that say they have no records but go on."""
    rng = random.Random(39)
    batches = []
    for _ in range(3000):
        batch = bytearray(build(2, rng.choice([Codec.NONE, Codec.NONE, Codec.LZ4, Codec.ZSTD]), 0))
        for _ in range(rng.randrange(1, 3)):
            position = rng.choice([rng.randrange(61, len(batch)), rng.randrange(61, 100), rng.randrange(57, 61)])
            batch[position] = rng.randrange(256)
        batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
        batches.append(bytes(batch))
    (tmp_path / "damaged.bin").write_bytes(b"".join(struct.pack(">i", len(batch)) + batch for batch in batches))
    differing = []
    for batch, verdict in zip(batches, oracle(tmp_path, "judge", tmp_path / "damaged.bin"), strict=True):
        try:
            mine = f"ok {sum(len(entry.records()) for entry in iter_batches(batch, check_crc=True))}"
        except KafkaError as error:
            mine = f"bad {error}"
        if mine[:3] != verdict[:3] or (verdict.startswith("ok") and mine != verdict):
            differing.append((verdict, mine))
    assert not [pair for pair in differing if not pair[1].startswith("bad")], "we took what Kafka refuses"
    assert len(differing) < len(batches) // 100, differing
