"""What a producer tells of itself, under the names of Java's `producer-metrics` where there is one.

Figures are counted where things happen and put together when somebody asks; nothing is kept for rates. Whoever wants
one asks twice.
"""

from __future__ import annotations

from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer.sender import Sender


class Metrics:
    """The figures of one producer, since it was made."""

    def __init__(self, accumulator: Accumulator, sender: Sender) -> None:
        self._accumulator = accumulator
        self._sender = sender

    def __call__(self) -> dict[str, float]:
        counters, pool = self._sender.counters, self._accumulator.pool
        batches, requests = max(counters.batches, 1), max(counters.requests, 1)
        return {
            "record-total": self._accumulator.records,
            "record-send-total": counters.records_sent,
            "record-error-total": counters.errors,
            "record-retry-total": counters.retries,
            "byte-total": counters.bytes_sent,
            "batch-total": counters.batches,
            "batch-split-total": counters.splits,
            "batch-size-avg": counters.bytes_sent / batches,
            "records-per-request-avg": counters.records_sent / requests,
            "record-queue-time-avg": 1000 * counters.queue_total / batches,
            "request-total": counters.requests,
            "request-latency-avg": 1000 * counters.latency_total / requests,
            "request-latency-max": 1000 * counters.latency_max,
            "requests-in-flight": self._sender.in_flight,
            "buffer-total-bytes": pool.total,
            "buffer-available-bytes": pool.available,
            "waiting-threads": len(self._accumulator.waiters),
            "connection-count": sum(link.node is not None for link in self._sender.links.values()),
        }
