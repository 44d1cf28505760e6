"""A `tidelog serve` process of its own, for tests that need the real thing: kill -9, restarts, foreign clients.

with TidelogServer(tmp_path) as server:
    server.address          # "127.0.0.1:port"
    server.kill(); server.start()   # same port, same data
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from support.ports import free_port

COMMAND = [str(Path(sys.executable).with_name("tidelog")), "serve"]
#: What a test wants by default: no waiting for more group members, and small internal topics.
SMALL = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "auto.create.topics.enable": "true",
}


class TidelogServer:
    """One broker process; its log is in `home/broker.log`."""

    def __init__(
        self, home: Path, *, properties: dict[str, str] | None = None, arguments: list[str] | None = None
    ) -> None:
        self.home = home
        self.data = home / "data"
        self.port = free_port()
        self.properties = {**SMALL, **(properties or {})}
        self.arguments = arguments or []
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> str:
        return (self.home / "broker.log").read_text(errors="replace")

    def command(self) -> list[str]:
        settings = [part for key, value in self.properties.items() for part in ("--set", f"{key}={value}")]
        return [*COMMAND, "--data-dir", str(self.data), "--listen", self.address, *settings, *self.arguments]

    def start(self, timeout: float = 120) -> TidelogServer:
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ}
            )
        line = self._first_line(timeout)
        if line != f"tidelog ready {self.address}":
            self.kill()
            raise AssertionError(f"the broker did not get ready (said {line!r}):\n{self.log[-4000:]}")
        return self

    def _first_line(self, timeout: float) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        deadline = time.monotonic() + timeout
        poll = select.poll()  # not `select`, which knows no descriptor above 1023: tests before may hold many files
        poll.register(self.process.stdout, select.POLLIN)
        while time.monotonic() < deadline:
            if poll.poll(100):
                return self.process.stdout.readline().decode().strip()
            if self.process.poll() is not None:
                break
        return ""

    def stop(self, timeout: float = 120) -> int:
        """SIGTERM and wait; returns the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout)
        self._forget()
        return status

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self._forget()

    def _forget(self) -> None:
        assert self.process is not None
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def __enter__(self) -> TidelogServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is None:
            return
        if self.process.poll() is not None:
            status, log = self.process.returncode, self.log[-4000:]
            self._forget()
            if kind is None:
                raise AssertionError(f"the broker died with {status}:\n{log}")
            return
        status = self.stop()
        if kind is None:
            assert status == 0, f"the broker ended with {status}:\n{self.log[-4000:]}"
