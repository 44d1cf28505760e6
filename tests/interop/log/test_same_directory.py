"""The same operations on Apache Kafka's own log class and on ours leave the same directory, byte for byte.

Random scripts (appends as leader and follower, idempotent and transactional producers, markers, rolls, truncation,
deletion of records, retention, clean and unclean restarts) run on both. Compared are every answer (offsets, errors, the
four ends of the log) and every file: segments, the three indexes, snapshots, the epoch checkpoint.
"""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

from support.kafka import KAFKA_4, java_command
from support.logs import LogBench, batch, run_of
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.log.append import AppendOrigin
from tidelog.log.config import LogConfig
from tidelog.log.names import LEADER_EPOCH_FILE
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.producers.snapshot import decode
from tidelog.records.format.attributes import Codec
from tidelog.records.format.control import end_txn_marker

pytestmark = pytest.mark.java

SCRIPTS = 24
STEPS = 100
ERRORS = {
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    ErrorCode.INVALID_PRODUCER_EPOCH: "InvalidProducerEpochException",
    ErrorCode.INVALID_TXN_STATE: "InvalidTxnStateException",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: "TransactionCoordinatorFencedException",
    ErrorCode.OFFSET_OUT_OF_RANGE: "OffsetOutOfRangeException",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLargeException",
}


class Script:
    """Draws operations, runs each on our log, and writes them down for Kafka's."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.answers: list[str] = []
        self.batches = bytearray()
        self.epoch = 0
        self.now = int(time.time() * 1000)  # Kafka's log looks at the real clock: producers expire by it
        self.sequences: dict[int, list[int]] = {}
        rng = self.rng
        self.settings = {
            "internal.segment.bytes": str(rng.choice([600, 1500, 4000])),
            "segment.index.bytes": str(rng.choice([120, 480, 10_000])),
            "index.interval.bytes": str(rng.choice([0, 100, 400, 4096])),
            "retention.bytes": str(rng.choice([-1, 3000])),
            "segment.ms": str(rng.choice([2_000, 10**9])),
            "retention.ms": "-1",
        }
        #: Kafka breaks when an index fills up in the middle of an append or a recovery; we go without the entry.
        self.tiny_index = self.settings["segment.index.bytes"] == "120"
        self.bench = LogBench(folder, config=LogConfig.from_topic(self.settings))
        self.log: PartitionLog
        self.note("config " + " ".join(f"{key} {value}" for key, value in self.settings.items()), "ok")
        self.open(0, 0, clean=True)

    def note(self, line: str, answer: str) -> None:
        self.lines.append(line)
        if hasattr(self, "log") and not line.startswith(("close", "crash")):
            log = self.log
            answer += f" | {log.log_start_offset} {log.log_end_offset} {log.high_watermark} {log.last_stable_offset}"
        self.answers.append(answer)

    def open(self, log_start: int, recovery_point: int, *, clean: bool) -> None:
        options = {"log_start_offset": log_start, "recovery_point": recovery_point, "clean": clean}
        self.log = self.bench.open(**options, producer_expiration_ms=1 << 62)
        self.log.advance_high_watermark(self.log.log_end_offset)
        self.note(f"open {log_start} {recovery_point} {'clean' if clean else 'unclean'}", "ok")

    def store(self, data: bytes) -> str:
        position = len(self.batches)
        self.batches += data
        return f"{position} {len(data)}"

    def lead(self, data: bytes, origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
        line = f"leader {self.epoch} {origin.name.lower()} {self.store(data)}"
        try:
            run = run_of(data)
            run.check(client=origin is AppendOrigin.CLIENT)
            info = self.log.append_as_leader(run, self.epoch, origin=origin)
            answer = f"{info.first_offset} {info.last_offset}"
        except KafkaError as error:
            answer = ERRORS[error.code]
        self.log.advance_high_watermark(self.log.log_end_offset)
        self.note(line, answer)

    # ---- operations

    def values(self) -> list[bytes]:
        return [self.rng.randbytes(self.rng.choice([0, 5, 60])) for _ in range(self.rng.randint(1, 5))]

    def tick(self) -> int:
        self.now += self.rng.choice([-40, 0, 1, 7, 900])
        return self.now

    def plain(self) -> None:
        codec = self.rng.choice([Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4])
        self.lead(batch(self.values(), timestamp=self.tick(), codec=codec))

    def produce(self) -> None:
        """An idempotent or transactional batch: as it should be, repeated, or out of place."""
        rng = self.rng
        pid = rng.randint(1, 4)
        epoch, sequence = self.sequences.setdefault(pid, [0, 0])
        values = self.values()
        twist = rng.random()
        if twist < 0.1:
            sequence = max(0, sequence - rng.randint(1, 3))
        elif twist < 0.15:
            epoch -= 1
        elif twist < 0.25:
            epoch, sequence = epoch + 1, rng.choice([0, 0, 3])
        if epoch < 0:
            epoch = 0
        before = self.log.log_end_offset
        self.lead(
            batch(values, timestamp=self.tick(), producer_id=pid, epoch=epoch, sequence=sequence,
                  transactional=pid > 2)
        )  # fmt: skip
        if self.log.log_end_offset > before:
            self.sequences[pid] = [epoch, sequence + len(values)]

    def marker(self) -> None:
        rng = self.rng
        pid = rng.randint(3, 4)
        epoch = self.sequences.get(pid, [0, 0])[0]
        data = end_txn_marker(
            pid, epoch, committed=rng.random() < 0.5, coordinator_epoch=rng.choice([1, 1, 1, 0]), timestamp=self.tick()
        )
        self.lead(data, AppendOrigin.COORDINATOR)

    def replicate(self) -> None:
        parts, offset = [], self.log.log_end_offset
        for _ in range(self.rng.randint(1, 1 if self.tiny_index else 4)):
            offset += self.rng.choice([0, 0, 3])
            values = self.values()
            parts.append(batch(values, base_offset=offset, timestamp=self.tick(), leader_epoch=self.epoch))
            offset += len(values)
        while sum(map(len, parts)) > int(self.settings["internal.segment.bytes"]):
            parts.pop()  # 4.3 refuses what is larger than a segment even from a leader (KAFKA-17375)
        data = b"".join(parts)
        line = f"follower {self.store(data)}"
        info = self.log.append_as_follower(bytearray(data))
        self.log.advance_high_watermark(self.log.log_end_offset)
        self.note(line, str(info.last_offset))

    def new_epoch(self) -> None:
        self.epoch += self.rng.randint(1, 2)

    def roll(self) -> None:
        if self.log.active_segment.size:
            self.log.roll()
            self.note("roll", "ok")

    def somewhere(self) -> int:
        return self.rng.randint(self.log.log_start_offset, self.log.log_end_offset)

    def truncate(self) -> None:
        offset = max(self.somewhere(), self.log.log_end_offset - 30, self.log.log_start_offset)
        self.note_truncation(f"truncate {offset}", str(self.log.truncate_to(offset)).lower())

    def restart(self) -> None:
        offset = self.log.log_end_offset + self.rng.choice([0, 10])
        self.log.truncate_fully_and_start_at(offset)
        self.note_truncation(f"restart {offset}", "ok")

    def note_truncation(self, line: str, answer: str) -> None:
        self.note(line, answer)
        for pid in list(self.sequences):
            entry = self.log.producers.entries.get(pid)
            self.sequences[pid] = [max(entry.epoch, 0), entry.last_sequence + 1] if entry is not None else [0, 0]

    def log_start(self) -> None:
        offset = self.somewhere()
        self.note_change(f"logstart {offset}", lambda: str(self.log.advance_log_start(offset)).lower())

    def note_change(self, line: str, action) -> None:  # type: ignore[no-untyped-def] # a small lambda
        try:
            answer = action()
        except KafkaError as error:
            answer = ERRORS[error.code]
        self.note(line, answer)

    def retain(self) -> None:
        self.note_change("retain", lambda: str(self.log.delete_old_segments()))

    def reopen(self) -> None:
        start, end = self.log.log_start_offset, self.log.log_end_offset
        clean = self.tiny_index or self.rng.random() < 0.5
        if clean:
            self.log.close()
        else:
            epochs = self.log.leader_epochs
            if epochs.dirty:  # Kafka writes them at once; we do so before the recovery point moves
                (self.log.dir / LEADER_EPOCH_FILE).write_bytes(epochs.encoded())
            self.log.release()
        self.bench.scheduler.run_all()
        self.note("close" if clean else "crash", "ok")
        del self.log
        self.open(start, end if clean else self.rng.randint(start, end), clean=clean)
        self.note_truncation("retain", str(self.log.delete_old_segments()))

    def run(self) -> None:
        weighted = {
            self.plain: 10, self.produce: 16, self.marker: 5, self.replicate: 6, self.new_epoch: 1, self.roll: 1,
            self.truncate: 2, self.restart: 0.3, self.log_start: 1, self.retain: 1, self.reopen: 2,
        }  # fmt: skip
        for _ in range(STEPS):
            self.rng.choices(list(weighted), list(weighted.values()))[0]()
        self.log.close()
        self.bench.scheduler.run_all()
        self.note("close", "ok")


def tree(folder: Path) -> dict[str, object]:
    """Every file's bytes; of snapshots the producers, whose order is a hash map's."""
    found: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".deleted":
            continue
        data = path.read_bytes()
        if path.suffix == ".snapshot":
            found[path.name] = sorted(
                (e.producer_id, e.epoch, e.coordinator_epoch, e.last_timestamp, e.txn_first_offset, e.batches)
                for e in decode(data, path.name)
            )
        elif path.suffix != ".txnindex" or data:
            found[path.name] = data
    return found


def test_the_same_operations_leave_the_same_directory(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    scripts = {}
    for seed in range(SCRIPTS):
        (ours / f"{seed:03}").mkdir(parents=True)
        script = scripts[seed] = Script(seed, ours / f"{seed:03}")
        script.run()
        folder = theirs / f"{seed:03}"
        folder.mkdir(parents=True)
        (folder / "script").write_text("\n".join(script.lines) + "\n")
        (folder / "batches").write_bytes(script.batches)
    program = Path(__file__).with_name("LogScript.java")
    command = java_command(KAFKA_4, tmp_path / "conf", str(program), str(theirs))
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for seed, script in scripts.items():
        answers = (theirs / f"{seed:03}" / "answers").read_text().splitlines()
        for number, (line, mine, kafkas) in enumerate(zip(script.lines, script.answers, answers, strict=True)):
            assert mine == kafkas, f"script {seed}, step {number}: {line}"
        mine, kafkas = tree(ours / f"{seed:03}" / "topic-0"), tree(theirs / f"{seed:03}" / "topic-0")
        assert list(mine) == list(kafkas), f"script {seed}"
        for name, content in mine.items():
            assert content == kafkas[name], f"script {seed}, {name}"
