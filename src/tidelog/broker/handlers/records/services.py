"""What handlers of records may use.

Reading and appending go through `replicas`; whoever has to wait does so in `purgatories`; work too long for the event
loop goes to `workers`. `sessions` are the fetch sessions of KIP-227: they belong to the answers of Fetch and to nobody
else, and are lost with the broker, which is why clients can begin one anew at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.coordinator.transaction.coordinator import TransactionCoordinator
    from tidelog.broker.handlers.records.fetch_sessions import FetchSessionCache
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.manager import ReplicaManager
    from tidelog.broker.workers import Workers
    from tidelog.common.clock import Clock


class RecordServices(NamedTuple):
    """All that a handler of this room can touch."""

    replicas: ReplicaManager
    """Who leads what here, and the logs: everything is read from and appended to a partition that it hands out."""
    metadata: MetadataCache
    """Names of topic ids, and who leads what is not led here."""
    config: BrokerConfig
    clock: Clock
    workers: Workers
    """Threads for what would hold up the loop: unpacking, packing anew, converting, times in cold segments."""
    purgatories: Purgatories
    """Where a Fetch waits for bytes, a Produce for followers, a DeleteRecords for their log starts."""
    sessions: FetchSessionCache
    """What incremental fetches have asked for so far."""
    transactions: Callable[[], TransactionCoordinator]
    """Begins the coordinators: only a batch that opens a transaction needs them (KIP-890)."""
