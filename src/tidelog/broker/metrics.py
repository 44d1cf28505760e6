"""Counters that the broker keeps, as plain numbers: incrementing one costs an addition, and nothing else happens until
somebody asks (`/metrics`, `exposition.py`). They hang on the broker, never on a module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tidelog.common.named_tuple import NamedTuple


class BrokerMetrics:
    """One per broker. Who counts adds to a number in place; who shows them takes them down in one go."""

    def __init__(self) -> None:
        #: Requests that came, by API key; those that takers took are counted by them (`network.sink`).
        self.requests: Counter[int] = Counter()
        #: Requests whose handler failed in a way that it did not foresee, by API key.
        self.failures: Counter[int] = Counter()
        #: Seconds of background work, by task.
        self.background_seconds: dict[str, float] = {}


class Traffic(NamedTuple):
    """What the network counts by itself, because counting anywhere else would cost the hot path a call."""

    #: Requests that compiled code took, by API key.
    taken: Mapping[int, int]
    connections: int
