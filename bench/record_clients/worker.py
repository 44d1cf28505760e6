"""One client's side of bench/client_records.py, in a process of its own: does one work once, prints one line of JSON.

    worker.py CLIENT WORK ADDRESS TOPIC SIZE COUNT

CLIENT is a module beside this one; each has a function per work that it can do (see WORKS). A work begins its
measurement itself, when a first record is acknowledged (or the consumer knows the topic), and ends it when the last one
is acknowledged or read: what it costs to start is another matter (librdkafka waits half a second for a producer id).
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

#: send: hand over and forget, then flush · futures: keep each record's future and look at all · wait: coroutines that
#: await their record, many at a time · consume: up to 1,000 at a time · iterate: one by one · lone: one record, and its
#: acknowledgement awaited, again and again.
WORKS = ("send", "futures", "wait", "consume", "iterate", "lone")
#: How many coroutines `wait` has.
WAITERS = 1000
#: What all producers are told: Kafka's defaults of today, and batches as large as librdkafka's are anyway.
LINGER_MS, BATCH_BYTES, REQUEST_BYTES = 5, 1_000_000, 1_048_576
#: ... and what consumers are: fetches that no broker finds small.
FETCH_BYTES = 8 << 20
AT_ONCE = 1000
POLL_SECONDS = 30


class Run:
    """What is to be done, and the stop-watch."""

    def __init__(self, address: str, topic: str, size: int, count: int) -> None:
        self.address, self.topic, self.size, self.count = address, topic, size, count
        self.value = b"x" * size
        self.seconds = self.cpu = 0.0
        self.latencies: list[float] = []
        self._began = (0.0, 0.0)

    def start(self) -> None:
        self._began = (time.perf_counter(), _cpu())

    def stop(self) -> None:
        self.seconds, self.cpu = time.perf_counter() - self._began[0], _cpu() - self._began[1]

    def check(self, seen: int, size: int) -> None:
        """A consumer has looked at every value."""
        if seen < self.count or size != seen * self.size:
            raise SystemExit(f"{seen} records of {size} bytes came, not {self.count} of {self.size} each")

    def result(self) -> dict[str, float]:
        if self.latencies:
            ordered = sorted(self.latencies)
            return {"p50_us": ordered[len(ordered) // 2] * 1e6, "p99_us": ordered[len(ordered) * 99 // 100] * 1e6}
        return {"rate": self.count / self.seconds, "cpu_us": self.cpu / self.count * 1e6}


def _cpu() -> float:
    """User and system time of this process and all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    client, work, address, topic, size, count = sys.argv[1:]
    run = Run(address, topic, int(size), int(count))
    getattr(importlib.import_module(f"record_clients.{client}"), work)(run)
    print(json.dumps(run.result()))


if __name__ == "__main__":
    main()
