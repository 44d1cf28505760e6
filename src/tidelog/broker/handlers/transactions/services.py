"""What handlers of transactions may use: coordinators, which partitions there are, and who makes internal topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.controller.api import ClusterController
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.metadata.cache import MetadataCache


class TransactionServices(NamedTuple):
    """All that a handler of this room can touch."""

    coordinators: Callable[[], Coordinators]
    """Begins them with the first request that needs one."""
    metadata: MetadataCache
    """Which partitions there are: one that is not cannot be part of a transaction."""
    controller: ClusterController
    """Makes `__consumer_offsets` for a producer that commits offsets of a group before any consumer has come."""
