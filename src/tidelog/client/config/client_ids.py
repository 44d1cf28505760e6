"""Names for clients that were given none: Kafka's, so that logs, quotas and tools tell one from the other.

    producer-1, producer-2, …           a transactional one is called after its id: producer-billing-1
    consumer-orders-1, …                by group; a static member after its group.instance.id: consumer-orders-seat-7
    adminclient-1, …

Numbers count the clients of one process, by kind, as Java's do. They are the only thing here that a process shares: two
clients with one name would be one to the brokers' quotas, and whoever reads a broker's log could not tell them apart.
(Java calls a consumer without a group `consumer-null-1`; here it is `consumer-1`.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tidelog.client.config import common
from tidelog.client.config.parsing import ClientConfig


class ClientNames:
    """The names of one kind of client. `next` of a counter is one step: threads never get the same number."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._numbers: Iterator[int] = itertools.count(1)

    def settle(self, config: ClientConfig, *words: str | None) -> dict[str, object]:
        """For a rule of the client's keys: `client.id`, unless it is set. The last word replaces the number."""
        if config[common.CLIENT_ID]:
            return {}
        *before, last = words
        parts = [self._kind, *before, last or str(next(self._numbers))]
        return {common.CLIENT_ID.name: "-".join(part for part in parts if part)}
