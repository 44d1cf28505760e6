"""Configs that change while the broker runs: read from the store at the start, in force as soon as they are altered.

Kafka keeps them apart from `server.properties`: `kafka-configs.sh --alter` writes them into the store, per broker, for
all brokers, per topic, per group. What is more particular wins (broker > all brokers > properties > default), and a
topic's own value wins over all of these.

A broker's key may be the default of a topic's (`log.retention.ms` → `retention.ms`): when it changes, the configs of
all logs are made anew. A change is in force before it is answered, and nothing of it needs a restart.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller.loading import load_configs, read_configs
from tidelog.broker.logging_setup import ROOT, set_level
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.topic_configs import BROKER_SYNONYMS, TopicConfigs, usable_overrides
from tidelog.broker.replication.manager import ReplicaManager
from tidelog.broker.store import paths
from tidelog.broker.store.api import Store
from tidelog.log.manager.manager import LogManager


async def load_dynamic(
    store: Store,
    node_id: int,
    config: BrokerConfig,
    topic_configs: TopicConfigs,
    group_configs: dict[str, Mapping[str, str]],
) -> list[str]:
    """Read everything that is set; returns the topics whose configs cannot be read.

    A node that cannot be read does not keep the broker from starting, but what it said is unknown: the caller guards
    these topics, as their retention may be longer than the default and what is deleted by mistake is gone.
    """
    topics = await read_configs(store, paths.TOPIC_CONFIGS)
    for topic, overrides in topics.items():
        topic_configs.set(topic, overrides or {})
    stored = await load_configs(store, paths.BROKER_CONFIGS)
    config.apply_dynamic(stored.get(str(node_id), {}), stored.get(paths.DEFAULT_ENTITY, {}))
    groups = await load_configs(store, paths.GROUP_CONFIGS)
    if groups:
        from tidelog.broker.controller.config_changes import GROUP_KEYS  # most brokers have no such configs

        for group_id, values in ((paths.unsanitize(part), values) for part, values in groups.items()):
            group_configs[group_id] = usable_overrides(values, f"group {group_id}", GROUP_KEYS)
    return [topic for topic, overrides in topics.items() if overrides is None]


class DynamicConfigs:
    """Carries changes to where they matter. Called on the event loop, after the change is durable."""

    def __init__(
        self,
        config: BrokerConfig,
        topic_configs: TopicConfigs,
        group_configs: dict[str, Mapping[str, str]],
        metadata: MetadataCache,
        replicas: ReplicaManager,
        log_manager: LogManager,
    ) -> None:
        self._config = config
        self._topic_configs = topic_configs
        self._group_configs = group_configs
        self._metadata = metadata
        self._replicas = replicas
        self._log_manager = log_manager

    def broker_changed(self, names: frozenset[str]) -> None:
        """Values of the broker's own keys have changed: carry into the logs what they give topics by default."""
        if names & BROKER_SYNONYMS:
            for topic in self._metadata.topics:
                self._replicas.update_topic_config(topic, self._topic_configs.log_config(topic))
        self._log_manager.reconfigure(self._config.explicit_values())
        if keys.TIDELOG_LOG_LEVEL.name in names:
            set_level(ROOT, self._config[keys.TIDELOG_LOG_LEVEL])

    def entity_changed(self, root: str, name: str, values: Mapping[str, str]) -> None:
        """Configs of a group, or client metrics (which have no effect), are stored: let them be true."""
        if root == paths.GROUP_CONFIGS:
            if values:
                self._group_configs[name] = values
            else:
                self._group_configs.pop(name, None)
