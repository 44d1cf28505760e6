"""Kafka's long-running command-line programs, with what they print as they go."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.kafka import java_command

TOOLS = "org.apache.kafka.tools."


class Program:
    """One process; `lines` grows while it runs."""

    def __init__(self, version: str, home: Path, main: str, *arguments: str) -> None:
        command = java_command(version, home / "conf", TOOLS + main, *arguments)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self.errors: list[str] = []
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        pairs = ((self.process.stdout, self.lines), (self.process.stderr, self.errors))
        self._readers = [threading.Thread(target=into.extend, args=(pipe,), daemon=True) for pipe, into in pairs]
        for reader in self._readers:
            reader.start()

    def events(self, name: str) -> list[dict[str, Any]]:
        """Those of the JSON lines that verifiable programs print whose name it is."""
        found = (json.loads(line) for line in list(self.lines) if line.startswith("{"))
        return [event for event in found if event["name"] == name]

    def partitions(self) -> set[int]:
        """What a verifiable consumer has been given and not lost again."""
        owned: set[int] = set()
        for line in list(self.lines):
            event = json.loads(line) if line.startswith("{") else {"name": ""}
            named = {entry["partition"] for entry in event.get("partitions", ()) if isinstance(entry, dict)}
            if event["name"] == "partitions_assigned":
                owned |= named
            elif event["name"] == "partitions_revoked":
                owned -= named
        return owned

    def wait_for(self, condition: Callable[[], bool], timeout: float = 180) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            said = "".join(self.lines[-10:]) + "".join(self.errors[-20:])
            assert time.monotonic() < deadline, f"not in {timeout} s:\n{said}"
            assert self.process.poll() is None or condition(), f"ended with {self.process.poll()}:\n{said}"
            time.sleep(0.05)

    def finish(self, timeout: float = 180) -> int:
        """Wait until it ends by itself."""
        status = self.process.wait(timeout)
        for reader in self._readers:
            reader.join()
        return status

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self.process.send_signal(signal.SIGTERM)
        self.finish()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.finish()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


@contextlib.contextmanager
def running(version: str, home: Path, main: str, *arguments: str) -> Iterator[Program]:
    program = Program(version, home, main, *arguments)
    try:
        yield program
    finally:
        program.close()
