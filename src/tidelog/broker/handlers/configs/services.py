"""What handlers of configs may use.

A change is decided and written by the controller; what it means for this node is carried out by whoever holds the
value: `apply_broker_config` and `apply_entity_config` are the node's ears for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.controller.controller import Controller
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.metadata.topic_configs import TopicConfigs
    from tidelog.broker.store.api import Store


class ConfigServices(NamedTuple):
    """All that a handler of this room can touch."""

    node_id: int
    config: BrokerConfig
    topic_configs: TopicConfigs
    metadata: MetadataCache
    store: Store
    controller: Controller
    apply_broker_config: Callable[[frozenset[str]], None]
    """Told the names of this broker's keys whose values have changed."""
    apply_entity_config: Callable[[str, str, Mapping[str, str]], None]
    """Told the root in the store, the entity's name, and all that is set for it now."""
