"""How a producer's batches are delivered: the settings that its sender goes by, and what it counts.

Settings are in Kafka's milliseconds and the clock in seconds: they are converted once, here. Counters only ever rise;
whoever wants rates or averages over a while asks twice and subtracts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.client.producer._batch import ProducerBatch


@dataclass(frozen=True)
class Delivery:
    """How batches are sent: the producer's settings, in seconds and bytes."""

    acks: int
    linger: float
    delivery_timeout: float
    request_timeout_ms: int
    max_request_size: int
    max_in_flight: int
    max_age: float
    max_idle: float = float("inf")
    transactional_id: str | None = None


@dataclass
class Counters:
    """What `metrics()` tells of sending."""

    requests: int = 0
    batches: int = 0
    records_sent: int = 0
    bytes_sent: int = 0
    retries: int = 0
    splits: int = 0
    errors: int = 0
    latency_total: float = 0.0
    latency_max: float = 0.0
    queue_total: float = 0.0


def account(lost: Sequence[ProducerBatch]) -> str:
    """What was not written, by partition: enough of them to see what they have in common, not all."""
    counts: dict[str, int] = {}
    for batch in lost:
        counts[str(batch.topic_partition)] = counts.get(str(batch.topic_partition), 0) + batch.count
    parts = ", ".join(f"{count} of {name}" for name, count in sorted(counts.items())[:10])
    return f"the producer was closed with {sum(counts.values())} records not acknowledged: {parts}"
