"""A real process, traced by strace: every prefix of its system calls, less what was not yet synced, opens again.

SIGKILL keeps the page cache, so it cannot show a lost sync. Here the writes, renames and syncs that the process really
made are replayed onto a disk that forgets; what it had promised on its standard output by then must be there. Apache
Kafka's dump tool then reads what our recovery left of each.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.crash import ScratchFileSystem
from support.kafka import KAFKA_4, dump_log_class, java_tool
from support.log_writer import CONFIG
from support.managed_logs import TP, all_records, batches_of, open_manager
from support.strace import COMMAND, Said, read_trace
from tidelog.testing.crash_disk import CrashDisk, Survival

TESTS = Path(__file__).resolve().parents[2]
PROMISES = 10
SURVIVALS = (Survival.SYNCED, Survival.NAMES, Survival.ZEROS, Survival.TORN)


def trace_a_writer(home: Path) -> Path:
    """Run the writer under strace until it has made some promises; returns the trace."""
    (home / "shadow").mkdir(parents=True)
    trace = home / "trace"
    writer = [sys.executable, "-m", "support.traced_writer", str(home / "data"), "5", str(home / "shadow")]
    process = subprocess.Popen(
        [*COMMAND, "-o", str(trace), *writer],
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env={"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for _ in range(PROMISES):
        assert process.stdout.readline().startswith("flushed")
    process.terminate()
    process.communicate()
    return trace


def crash_states(home: Path, scratch: Path) -> Iterator[tuple[int, Path]]:
    """(offset promised by then, what the disk holds) for every operation and survival, equal states once."""
    data = home / "data"
    disk = CrashDisk(data)
    promised, seen = 0, set()
    operations = read_trace(home / "trace", data)
    assert len(operations) > 150
    for number, operation in enumerate(operations):
        if isinstance(operation, Said):
            if operation.text.startswith("flushed"):
                promised = int(operation.text.split()[1])
            continue
        disk.apply(operation)
        for survival in SURVIVALS:
            target = scratch / f"{number}-{survival.name}"
            disk.materialise(survival, target)
            state = (promised, *((p.name, p.is_file() and p.read_bytes()) for p in sorted(target.rglob("*"))))
            if hash(state) in seen:
                shutil.rmtree(target)
                continue
            seen.add(hash(state))
            yield promised, target


def check_start(promised: int, directory: Path) -> None:
    manager = open_manager(directory, fs=ScratchFileSystem(), config=CONFIG)
    assert manager.live_dirs, "the directory went offline"
    log = manager.logs.get(TP)
    assert log is not None or promised == 0, "the partition is gone"
    if log is not None:
        assert log.log_end_offset >= promised
        for batch in batches_of(log):
            batch.check_crc()
        offsets = [record.offset for record in all_records(log)]
        assert offsets == sorted(set(offsets))
    manager.shutdown()


@pytest.mark.java
@pytest.mark.timeout(400)
def test_every_prefix_of_the_real_system_calls(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: apt-get install strace")
    home = tmp_path / "traced"
    home.mkdir()
    trace_a_writer(home)
    logging.disable(logging.ERROR)
    recovered: list[Path] = []
    try:
        for promised, directory in crash_states(home, tmp_path / "states"):
            try:
                check_start(promised, directory)
            except Exception as error:
                raise AssertionError(f"{directory.name}, {promised} promised: {error!r}") from error
            recovered.append(directory)
    finally:
        logging.disable(logging.NOTSET)
    assert len(recovered) > 100
    check_with_kafka(tmp_path / "conf", recovered)


def check_with_kafka(conf: Path, recovered: list[Path]) -> None:
    """The dump tool accepts the logs and indexes that recovery left, of states spread over the run."""
    chosen = recovered[:: max(1, len(recovered) // 40)]
    files = [str(path) for state in chosen for path in sorted(state.rglob("*.*")) if path.suffix in (".log", ".index")]
    said = java_tool(KAFKA_4, conf, dump_log_class(KAFKA_4), "--files", ",".join(files)).stdout
    for complaint in ("invalid bytes", "Mismatches", "Non-consecutive", "isvalid: false"):
        assert complaint not in said, said[max(0, said.index(complaint) - 1500) :][:3000]
