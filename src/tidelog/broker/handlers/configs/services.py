"""What handlers of configs may use.

A change is decided and written in one step of its own; what it means for this node is carried out by whoever holds the
value: `apply_broker_config` and `apply_entity_config` are the node's ears for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.controller.entity_configs import Decide, EntityConfigs
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.metadata.topic_configs import TopicConfigs
    from tidelog.broker.store.api import Store


class ChangeTopicConfig(Protocol):
    """A topic's change, unlike that of other entities, is one step with the check that the topic exists."""

    async def __call__(self, topic: str, decide: Decide, *, validate_only: bool = False) -> None: ...


class ConfigServices(NamedTuple):
    """All that a handler of this room can touch."""

    node_id: int
    config: BrokerConfig
    topic_configs: TopicConfigs
    metadata: MetadataCache
    """Which topics and brokers there are to have configs."""
    store: Store
    """Where those of groups and client metrics are read: nobody keeps them all in memory."""
    entity_configs: EntityConfigs
    change_topic_config: ChangeTopicConfig
    apply_broker_config: Callable[[frozenset[str]], None]
    """Told the names of this broker's keys whose values have changed."""
    apply_entity_config: Callable[[str, str, Mapping[str, str]], None]
    """Told the root in the store, the entity's name, and all that is set for it now."""
