"""The seam to a follower's fetching: who copies from the leader is told by the partition when to begin and when to end.

Kafka's ReplicaFetcherManager keeps a few fetchers per leader, and each fetches for all partitions that it was given, in
one request: a thousand partitions cost one round trip. Partitions know nothing of that. They say whom they follow and
from where, whenever that changes, and what comes is appended to their logs as it is, epochs and offsets included.

Fetching from other brokers is not part of this version: a broker is alone in its cluster, and leads whatever it hosts.
`NoFetchers` stands in the place of fetchers and says so, should a controller want otherwise.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tidelog.broker.replication.follower import FollowerState
    from tidelog.common.types import TopicPartition

logger = logging.getLogger("tidelog.replication")


class Fetchers(Protocol):
    """Both calls return at once: what they ask for happens later, on the same event loop."""

    def begin(self, tp: TopicPartition, state: FollowerState) -> None:
        """Fetch for this partition from this leader, in this epoch; whatever was fetched for it before ends here."""
        ...

    def end(self, tp: TopicPartition) -> None:
        """Fetch no more. An answer that is under way must not be appended after this."""
        ...


class NoFetchers:
    """A broker that cannot follow: the replica stays as it is, out of sync, and the log says why."""

    def begin(self, tp: TopicPartition, state: FollowerState) -> None:
        logger.warning("%s is to follow broker %d, which this version cannot: it stays behind", tp, state.leader)

    def end(self, tp: TopicPartition) -> None:
        """Nothing was begun."""
