"""Counters that the broker keeps, as plain numbers: incrementing one costs an addition, and nothing else happens until
somebody asks (`/metrics`, `http.py`). They hang on the broker, never on a module."""

from __future__ import annotations

from collections import Counter


class Metrics:
    def __init__(self) -> None:
        #: Requests that came, by API key; those that the hot path took are counted there (`network.sink`).
        self.requests: Counter[int] = Counter()
        #: Requests whose handler failed in a way that it did not foresee, by API key.
        self.failures: Counter[int] = Counter()
        #: Seconds of background work, by task.
        self.background_seconds: dict[str, float] = {}
