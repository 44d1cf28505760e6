"""The system calls of a real process, cut at each of them: what was not synced is gone, and the log must open.

SIGKILL keeps the page cache, so it cannot show a missing fsync. This can, and without trusting our own recording disk.
"""

from __future__ import annotations

import json
import logging
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interop.storage.dump import accepted
from support import strace
from support.crash import ScratchFileSystem
from support.kafka import KAFKA_4
from support.log_writer import CONFIG
from support.managed_logs import TP, all_records, batches_of, open_manager
from tidelog.testing.crash_disk import CrashDisk, Survival
from tidelog.testing.fs import Operation

TESTS = Path(__file__).resolve().parents[2]
SURVIVALS = (Survival.SYNCED, Survival.NAMES, Survival.ZEROS, Survival.TORN)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Operation | str]]:
    """A writer under strace that makes a dozen promises: (its directory, what it did)."""
    if not strace.available():
        pytest.skip("strace is missing, or may not trace here")
    home = tmp_path_factory.mktemp("strace")
    root, output = home / "data", home / "trace"
    program = [sys.executable, "-m", "support.log_writer", str(root), "5", "12"]
    subprocess.run(
        strace.command(output, *program), check=True, cwd=TESTS, stdout=subprocess.DEVNULL, timeout=300,
        env={"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    return root, list(strace.journal(output, root))


def check(target: Path, promise: str) -> None:
    _, offset, table = promise.split(" ", 2) if promise.startswith("flushed") else ("", "0", "{}")
    logging.disable(logging.ERROR)
    try:
        manager = open_manager(target, fs=ScratchFileSystem(), config=CONFIG)
    finally:
        logging.disable(logging.NOTSET)
    log = manager.logs.get(TP)
    assert log is not None or offset == "0", "the partition is gone"
    if log is not None:
        assert log.log_end_offset >= int(offset)
        for batch in batches_of(log):
            batch.check_crc()
        found = {r.key.decode(): r.offset for r in all_records(log) if r.key is not None}
        for key, flushed in json.loads(table).items():
            assert found.get(key, -1) >= int(flushed), f"{key}: offset {flushed} was flushed, found {found.get(key)}"
    manager.shutdown()


def test_every_prefix_opens(trace: tuple[Path, list[Operation | str]], tmp_path: Path) -> None:
    root, steps = trace
    disk = CrashDisk(root)
    promise = ""
    seen: set[int] = set()
    target = tmp_path / "remains"
    for number, step in enumerate(steps):
        if isinstance(step, str):
            promise = step
            continue
        disk.apply(step)
        for survival in SURVIVALS:
            disk.materialise(survival, target)
            _leave_out_maps(target)
            state = hash((promise, *((p, p.is_file() and p.read_bytes()) for p in sorted(target.rglob("*")))))
            if state not in seen:
                seen.add(state)
                try:
                    check(target, promise)
                except Exception as error:
                    raise AssertionError(f"step {number} ({step.kind} {step.path.name}), {survival.value}") from error
            shutil.rmtree(target)
    assert len(seen) > 100
    assert promise.startswith("flushed")


@pytest.mark.java
def test_kafka_s_dump_tool_accepts_what_was_recovered(
    trace: tuple[Path, list[Operation | str]], tmp_path: Path
) -> None:
    root, steps = trace
    rng = random.Random(3)
    chosen = set(rng.sample(range(len(steps) // 3, len(steps)), 4))
    disk = CrashDisk(root)
    promise = ""
    for number, step in enumerate(steps):
        if isinstance(step, str):
            promise = step
        else:
            disk.apply(step)
        if number in chosen:
            target = tmp_path / str(number)
            disk.materialise(Survival.SYNCED, target)
            _leave_out_maps(target)
            check(target, promise)
            if (target / str(TP)).exists():
                accepted(KAFKA_4, tmp_path / "conf", target / str(TP))


def _leave_out_maps(target: Path) -> None:
    """Indexes are written through maps, which strace does not see: let the start rebuild them."""
    for path in target.rglob("*index"):
        path.unlink()
