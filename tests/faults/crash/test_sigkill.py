"""Real processes, killed with SIGKILL while they append, roll, compact and checkpoint, over and over."""

from __future__ import annotations

import json
import logging
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.log_writer import CONFIG
from support.managed_logs import TP, all_records, batches_of, open_manager
from tidelog.log.reading.reader import LogDirectory
from tidelog.log.reading.verify import ERROR, PartitionVerifier

TESTS = Path(__file__).resolve().parents[2]


def run_until_killed(directory: Path, seed: int, lines: int) -> tuple[int, dict[str, str]]:
    """Let a writer make so many promises, kill it in the middle of what follows, and return the last promise."""
    process = subprocess.Popen(
        [sys.executable, "-m", "support.log_writer", str(directory), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env={"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"},
    )
    assert process.stdout is not None
    promise: tuple[int, dict[str, str]] = (0, {})
    try:
        assert process.stdout.readline() == "ready\n"
        for _ in range(lines):
            promise = _parse(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
    for line in rest.splitlines(keepends=True):
        if line.endswith("\n"):
            promise = _parse(line)
    return promise


def _parse(line: str) -> tuple[int, dict[str, str]]:
    word, offset, table = line.split(" ", 2)
    assert word == "flushed", line
    return int(offset), json.loads(table)


def check(directory: Path, promise: tuple[int, dict[str, str]]) -> None:
    flushed, table = promise
    logging.disable(logging.ERROR)
    try:
        manager = open_manager(directory, config=CONFIG)
    finally:
        logging.disable(logging.NOTSET)
    log = manager.logs[TP]
    assert log.log_end_offset >= flushed
    for batch in batches_of(log):
        batch.check_crc()
    found = {r.key.decode(): r.offset for r in all_records(log) if r.key is not None}
    for key, offset in table.items():
        assert found[key] >= int(offset), f"{key}: offset {offset} was flushed, the log's last is {found[key]}"
    manager.shutdown()
    partition = LogDirectory(directory).partition(TP.topic, TP.partition)
    assert [finding for finding in PartitionVerifier(partition).findings() if finding.severity == ERROR] == []


def kill_over_and_over(directory: Path, rounds: int) -> None:
    rng = random.Random(11)
    for seed in range(rounds):
        check(directory, run_until_killed(directory, seed, rng.randrange(1, 25)))


def test_killed_again_and_again(tmp_path: Path) -> None:
    kill_over_and_over(tmp_path / "data", 8)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_killed_for_a_long_time(tmp_path: Path) -> None:
    kill_over_and_over(tmp_path / "data", 500)
