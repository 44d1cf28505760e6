"""Counters that the broker keeps, as plain numbers: incrementing one costs an addition, and nothing else happens until
somebody asks (`/metrics`, `http.py`). They hang on the broker, never on a module."""

from __future__ import annotations

from collections import Counter


class Metrics:
    def __init__(self) -> None:
        #: Requests answered, by API key.
        self.requests: Counter[int] = Counter()
        #: Error codes answered by handlers that failed unexpectedly, by API key.
        self.failures: Counter[int] = Counter()
        self.connections_opened = 0
        self.connections_closed = 0
        self.bytes_in = 0
        self.bytes_out = 0
        #: Seconds of background work, by task.
        self.background_seconds: dict[str, float] = {}
