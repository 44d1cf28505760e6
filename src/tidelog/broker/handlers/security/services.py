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
    entity_configs: EntityConfigs
