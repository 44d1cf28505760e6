"""What handlers of credentials and quotas may use: both are configs of entities, kept in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.controller.entity_configs import EntityConfigs
    from tidelog.broker.store.api import Store


class SecurityServices(NamedTuple):
    """All that a handler of this room can touch."""

    store: Store
    """Read for every description: credentials and quotas are asked for rarely, and kept nowhere else."""
    entity_configs: EntityConfigs
    """Changes a node in one step: read, decide, write by the version read, leave a note for other brokers."""
