"""Where a config's value comes from: the chain that an administrator is shown."""

from __future__ import annotations

from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller.config_changes import CLIENT_METRICS_KEYS, GROUP_KEYS
from tidelog.broker.metadata.config_entries import (
    ConfigSource,
    client_metrics_entries,
    default_broker_entries,
    group_entries,
    topic_entries,
)
from tidelog.broker.metadata.topic_configs import TopicConfigs


def config(**dynamic: str) -> BrokerConfig:
    made = BrokerConfig({"log.dirs": "/tmp", "log.retention.hours": "24"})
    made.apply_dynamic({}, {name.replace("_", "."): value for name, value in dynamic.items()})
    return made


def test_a_topics_value_shows_what_deleting_it_would_bring_back() -> None:
    broker = config(log_retention_ms="5000")
    (entry,) = topic_entries(broker, TopicConfigs(broker), {"retention.ms": "1000"}, ["retention.ms"])
    assert (entry.value, entry.source) == ("1000", ConfigSource.TOPIC)
    assert entry.synonyms == [
        ("retention.ms", "1000", ConfigSource.TOPIC),
        ("log.retention.ms", "5000", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("log.retention.hours", "24", ConfigSource.STATIC_BROKER),
        ("log.retention.hours", "168", ConfigSource.DEFAULT),
    ]


def test_what_is_set_for_all_brokers_is_shown_alone() -> None:
    (entry,) = default_broker_entries(config(log_retention_ms="5000"))
    assert (entry.name, entry.value, entry.source) == ("log.retention.ms", "5000", ConfigSource.DYNAMIC_DEFAULT_BROKER)


def test_groups_and_subscriptions_have_defaults_until_something_is_set() -> None:
    name = "consumer.session.timeout.ms"
    (default,) = group_entries(config(), GROUP_KEYS, {}, [name])
    (own,) = group_entries(config(), GROUP_KEYS, {name: "50000"}, [name])
    assert (default.value, default.source) == ("45000", ConfigSource.DEFAULT)
    assert (own.value, own.source) == ("50000", ConfigSource.GROUP)
    sources = {entry.source for entry in client_metrics_entries(CLIENT_METRICS_KEYS, {})}
    assert sources == {ConfigSource.DEFAULT}
