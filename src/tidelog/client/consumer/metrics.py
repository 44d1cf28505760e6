"""What a consumer counts: plain numbers, read by `metrics()`. Names are Java's, with underscores.

    fetch_*                 answers of brokers: how many, how long they took, how long we were throttled
    bytes_, records_        what came, and what was handed out
    poll_, commit_          calls of the user's, and commits with those that failed
    rebalance_total         how often a group gave us partitions

Counting costs an addition per fetch and per poll, none per record; rates are the reader's division of two readings.
"""

from __future__ import annotations

from typing import Any


class ConsumerMetrics:
    """Counters since the start, and the last and largest of what is no count."""

    def __init__(self) -> None:
        self.fetch_total = 0
        self.bytes_consumed_total = 0
        self.records_consumed_total = 0
        self.poll_total = 0
        self.commit_total = 0
        self.commit_failed_total = 0
        self.rebalance_total = 0
        self.fetch_latency_total_s = 0.0
        self.fetch_latency_max_s = 0.0
        self.fetch_throttle_time_max_ms = 0
        self.last_poll_at: float | None = None
        self.last_commit_at: float | None = None

    def fetched(self, seconds: float, throttle_ms: int) -> None:
        self.fetch_total += 1
        self.fetch_latency_total_s += seconds
        self.fetch_latency_max_s = max(self.fetch_latency_max_s, seconds)
        self.fetch_throttle_time_max_ms = max(self.fetch_throttle_time_max_ms, throttle_ms)

    def received(self, size: int) -> None:
        self.bytes_consumed_total += size

    def committed(self, now: float) -> None:
        self.commit_total += 1
        self.last_commit_at = now

    def snapshot(self, now: float) -> dict[str, Any]:
        """A dict of numbers; ages in seconds, None for what has not happened yet."""
        numbers: dict[str, Any] = {name: value for name, value in vars(self).items() if not name.endswith("_at")}
        numbers["fetch_latency_avg_s"] = self.fetch_latency_total_s / self.fetch_total if self.fetch_total else 0.0
        numbers["last_poll_seconds_ago"] = None if self.last_poll_at is None else now - self.last_poll_at
        numbers["last_commit_seconds_ago"] = None if self.last_commit_at is None else now - self.last_commit_at
        return numbers
