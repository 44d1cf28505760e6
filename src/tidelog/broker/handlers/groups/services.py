"""What handlers of groups may use.

A group's state belongs to its coordinator, and every change of it is a write to the coordinator's shard. `store` and
`changes` serve the oldest clients alone, whose offsets lie in the tree; `controller` makes `__consumer_offsets` and
`__transaction_state` when the first client looks for a coordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.controller.api import ClusterController
    from tidelog.broker.controller.changes import Changes
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.store.api import Store


class GroupServices(NamedTuple):
    """All that a handler of this room can touch."""

    coordinators: Callable[[], Coordinators]
    """Begins them with the first request that needs one: a broker without groups does without."""
    metadata: MetadataCache
    """Which topics and partitions there are: offsets of others are refused before the coordinator is asked."""
    config: BrokerConfig
    controller: ClusterController
    changes: Changes
    """A commit to the store is a change like any other: it goes on if its client leaves."""
    store: Store
