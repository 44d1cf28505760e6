"""DumpLogSegments of Apache Kafka 3.9 and 4.x accepts every directory that we write, record for record."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from interop.storage.dump import accepted, dump
from support.kafka import KAFKA_2, KAFKA_3, KAFKA_4
from support.logs import START_MS, LogBench, batch, fill, records_of, run_of, small_config
from tidelog.cli.main import main
from tidelog.log.append import AppendOrigin
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.records.format.attributes import Codec
from tidelog.records.format.control import end_txn_marker

pytestmark = pytest.mark.java
VERSIONS = [KAFKA_3, KAFKA_4]
#: A batch, or an entry of magic 0 or 1, and the first record in it.
BATCH = re.compile(
    r"^(?:baseOffset: \d+ lastOffset|offset): (\d+) .*magic: (\d) compresscodec: (\w+).*\n\| offset: (\d+)",
    re.MULTILINE,
)


def check(version: str, tmp_path: Path, log: PartitionLog) -> None:
    """Close the log and let the tool read it: same offsets, timestamps, keys and values as we read ourselves."""
    expected = [
        (r.offset, r.timestamp, r.key and r.key.decode(), r.value and r.value.decode()) for r in records_of(log)
    ]
    directory, start = log.dir, log.log_start_offset
    log.close()
    dumped = [record for record in accepted(version, tmp_path / "conf", directory) if record.offset >= start]
    assert [(r.offset, r.timestamp, r.key, r.payload) for r in dumped] == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_many_segments_of_every_codec(version: str, tmp_path: Path) -> None:
    bench = LogBench(tmp_path, config=small_config(segment_bytes=4000))
    log = bench.open()
    for codec in Codec:
        for _ in range(12):
            first = log.log_end_offset
            values = [f"value {first + n}".encode() * 3 for n in range(7)]
            log.append_as_leader(run_of(batch(values, codec=codec, timestamp=START_MS + first)), 3)
    log.advance_high_watermark(log.log_end_offset)
    assert len(log.segments) > 2
    check(version, tmp_path, log)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats(magic: int, tmp_path: Path) -> None:
    """Format v0 and v1, plain and wrapped, as followers of an old leader write them (only 3.9 still reads them all)."""
    log = LogBench(tmp_path, config=small_config(segment_bytes=4000)).open()
    for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
        for _ in range(8):
            first = log.log_end_offset
            values = [f"old {first + n}".encode() for n in range(5)]
            stamp = START_MS + first
            log.append_as_follower(
                bytearray(batch(values, magic=magic, codec=codec, base_offset=first, timestamp=stamp))
            )
    log.advance_high_watermark(log.log_end_offset)
    check(KAFKA_3, tmp_path, log)


@pytest.mark.parametrize("version", VERSIONS)
def test_transactions_and_snapshots(version: str, tmp_path: Path) -> None:
    bench = LogBench(tmp_path)
    log = bench.open()
    for turn in range(12):
        producer = 100 + turn % 3
        sequence = (turn // 3) * 2
        values = [f"t{turn}-{n}".encode() for n in range(2)]
        data = batch(values, producer_id=producer, epoch=5, sequence=sequence, transactional=True)
        log.append_as_leader(run_of(data), 0)
        marker = end_txn_marker(producer, 5, committed=turn % 2 == 0, coordinator_epoch=1, timestamp=START_MS)
        log.append_as_leader(run_of(bytes(marker)), 0, origin=AppendOrigin.COORDINATOR)
        log.advance_high_watermark(log.log_end_offset)
    log.roll()
    directory = log.dir
    log.close()
    said = dump(version, tmp_path / "conf", directory)
    assert said.count("endTxnMarker: COMMIT") == 6
    assert said.count("endTxnMarker: ABORT") == 6
    assert "producerId: 101" in said
    assert "lastStableOffset" in said  # the aborted transactions
    assert accepted(version, tmp_path / "conf", directory)


@pytest.mark.parametrize("version", VERSIONS)
def test_truncated_and_recovered(version: str, tmp_path: Path) -> None:
    bench = LogBench(tmp_path)
    log = bench.open()
    fill(log, 60)
    log.truncate_to(100)
    fill(log, 20)
    log.flush()
    end = log.log_end_offset
    fill(log, 10)
    log.release()
    torn = sorted(bench.dir.glob("*.log"))[-1]
    with torn.open("r+b") as file:
        file.truncate(torn.stat().st_size - 7)
    log = bench.open(clean=False, recovery_point=end)
    log.advance_high_watermark(log.log_end_offset)
    fill(log, 3)
    check(version, tmp_path, log)


@pytest.mark.parametrize("version", VERSIONS)
def test_after_retention_and_moved_log_start(version: str, tmp_path: Path) -> None:
    bench = LogBench(tmp_path, config=small_config(retention_bytes=4000))
    log = bench.open()
    fill(log, 100)
    log.delete_old_segments()
    assert log.log_start_offset > 0
    log.advance_log_start(log.log_end_offset - 20)
    log.delete_old_segments()
    bench.clock.advance(120)
    bench.scheduler.run_due()
    check(version, tmp_path, log)


@pytest.mark.parametrize("version", [KAFKA_2, KAFKA_3])
def test_batches_are_told_alike(tmp_path: Path, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also packed entries of magic 0 and 1, whose headers hold the last offset only: what the first is, their records
    tell."""
    folder = tmp_path / "data" / "old-0"
    folder.mkdir(parents=True)
    packed = [
        batch([b"v"] * 50, base_offset=50 * number, magic=magic, codec=codec)
        for number, (magic, codec) in enumerate([(0, Codec.GZIP), (1, Codec.GZIP), (1, Codec.SNAPPY), (2, Codec.GZIP)])
    ]
    (folder / f"{0:020d}.log").write_bytes(b"".join([*packed, batch([b"single"], base_offset=200, magic=1)]))
    said = dump(version, tmp_path / "conf", folder)
    theirs = [(int(m[4]), int(m[1]), int(m[2]), m[3].lower()) for m in BATCH.finditer(said)]
    assert main(["log", "dump", "--json", str(folder)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ours = [(row["base_offset"], row["last_offset"], row["magic"], row["codec"]) for row in rows]
    assert ours == theirs
    assert [row["base_offset"] for row in rows] == [0, 50, 100, 150, 200]
