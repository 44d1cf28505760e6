"""kill -9 of the driver and of the broker while a stream is written: nothing lost, nothing twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.spark import Lab
from support.tidelog import TidelogServer

EXPECTED = [f"v{number:05}" for number in range(12_000)]


class Job:
    """One run of support.stream_job, with all its processes in a group of their own."""

    def __init__(self, lab: Lab, source: str, target: str, checkpoint: Path, master: str = "local[2]") -> None:
        tests = str(Path(__file__).resolve().parents[1])
        self.checkpoint = checkpoint
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.stream_job", lab.address, source, target, str(checkpoint), master],
            env={**os.environ, "PYTHONPATH": tests},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait_for_batches(self, count: int, timeout: float = 300) -> bool:
        """Until that many batches were committed; False when the job ended before."""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            done = list((self.checkpoint / "commits").glob("[0-9]*"))
            if len(done) >= count:
                return True
            assert time.monotonic() < deadline, "the job makes no progress"
            time.sleep(0.02)
        return False

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self._close()

    def wait(self, timeout: float = 500) -> int:
        try:
            return self.process.wait(timeout)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            self._close()

    def _close(self) -> None:
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[TidelogServer]:
    with TidelogServer(tmp_path / "broker") as running:
        yield running


def copy_with_kills(lab: Lab, server: TidelogServer, home: Path, rng: random.Random, kills: list[str]) -> None:
    """Run the job to its end, killing the driver or the broker now and then."""
    mine = Lab(lab.spark, server.address, server.data, f"kills{os.getpid()}")
    source, target = mine.topic(3), mine.topic(2)
    mine.produce(source, EXPECTED)
    batches = 0
    for victim in kills:
        job = Job(mine, source, target, home / "checkpoint")
        batches += rng.randint(1, 3)
        if job.wait_for_batches(batches):
            time.sleep(rng.uniform(0, 0.3))  # any moment of the next batch
            if victim == "broker":
                server.kill()
                server.start()
                job.wait_for_batches(batches + 2)
        job.kill()
    for _ in range(3):
        if Job(mine, source, target, home / "checkpoint").wait() == 0:
            break
    seen = mine.committed(target)
    assert len(seen) == len(set(seen)), "duplicates"
    assert sorted(seen) == EXPECTED


@pytest.mark.timeout(1200)
def test_kill_the_driver_and_the_broker(lab: Lab, own_server: TidelogServer, tmp_path: Path) -> None:
    copy_with_kills(lab, own_server, tmp_path, random.Random(os.getpid()), ["driver", "broker"])


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(8))
def test_many_kills(lab: Lab, own_server: TidelogServer, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    copy_with_kills(lab, own_server, tmp_path, rng, [rng.choice(["driver", "broker"]) for _ in range(4)])


def test_on_a_cluster_of_two_executors(lab: Lab, tmp_path: Path) -> None:
    source, target = lab.topic(3), lab.topic(2)
    lab.produce(source, EXPECTED[:3000])
    assert Job(lab, source, target, tmp_path / "checkpoint", "local-cluster[2,1,1024]").wait() == 0
    assert sorted(lab.committed(target)) == EXPECTED[:3000]
