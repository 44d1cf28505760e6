"""Configs as answers show them: value, where it comes from, and what would hold if it were not set (synonyms).

A topic's value comes from the topic, else from the first of its broker keys that somebody set (for this broker, for all
brokers, in the file), else from the defaults. The list of synonyms is that chain; its head is the source. With
`log.retention.hours=24` in the file and `log.retention.ms=5000` set for all brokers, a topic that was given
`retention.ms=1000` shows

    retention.ms = 1000    TOPIC
        log.retention.ms = 5000        DYNAMIC_DEFAULT_BROKER
        log.retention.hours = 24       STATIC_BROKER
        log.retention.hours = 168      DEFAULT

so that an administrator sees what deleting each of them would bring back. A value that is sensitive is shown nowhere in
the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from tidelog.broker.config.definition import BROKER_KEYS
from tidelog.broker.metadata.topic_configs import usable_config, usable_overrides
from tidelog.common.config import ConfigDef, Key, Type, Update, format_value
from tidelog.common.named_tuple import NamedTuple
from tidelog.log.config import TOPIC_KEYS, LogConfig

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.metadata.topic_configs import TopicConfigs

#: Topic keys that 4.x no longer lists, and internal ones: shown only where they are set.
HIDDEN_TOPIC_KEYS = frozenset(
    {
        "message.format.version",
        "message.timestamp.difference.max.ms",
        "message.downconversion.enable",
        "internal.segment.bytes",
    }
)
#: Broker keys whose value may come from another, coarser one.
BROKER_CHAINS: dict[str, tuple[str, ...]] = {
    "log.roll.ms": ("log.roll.ms", "log.roll.hours"),
    "log.roll.hours": ("log.roll.ms", "log.roll.hours"),
    "log.roll.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "log.roll.jitter.hours": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    "log.retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "log.retention.minutes": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "log.retention.hours": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
}


#: Broker keys that are set while replicas move, and not shown otherwise.
HIDDEN_BROKER_KEYS = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)


class ConfigSource(IntEnum):
    """Where a value comes from, in the numbers of DescribeConfigs."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Synonym(NamedTuple):
    """One layer in which a value is set, by whatever key."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One config of a resource. `value` is the one in force, and None if it must not be told."""

    name: str
    value: str | None
    source: ConfigSource
    synonyms: list[Synonym]
    read_only: bool = False
    sensitive: bool = False
    type: int = 0
    doc: str | None = None


def topic_entries(
    config: BrokerConfig,
    topic_configs: TopicConfigs,
    overrides: Mapping[str, str],
    names: Collection[str] | None = None,
) -> list[ConfigEntry]:
    """A topic's configs; all of them, or those of `names`."""
    effective = usable_config(overrides, topic_configs.broker_defaults())
    overrides = usable_overrides(overrides)
    entries = []
    for key in _wanted(TOPIC_KEYS, names):
        if key.name in HIDDEN_TOPIC_KEYS and key.name not in overrides:
            continue
        value = _topic_value(key, effective, overrides)
        synonyms = _chain(config, next(iter(key.synonyms), ""), key.synonyms, sensitive=False)
        if key.name in overrides:
            synonyms.insert(0, Synonym(key.name, value, ConfigSource.TOPIC))
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
        entries.append(ConfigEntry(key.name, value, source, synonyms, type=key.type.value, doc=key.doc))
    return entries


def broker_entries(config: BrokerConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """A broker's configs: every key, with the value in force."""
    entries = []
    for key in _wanted(BROKER_KEYS, names):
        if key.name in HIDDEN_BROKER_KEYS and not config.explicit(key):
            continue
        synonyms = _chain(config, key.name, BROKER_CHAINS.get(key.name, (key.name,)), sensitive=key.sensitive)
        entries.append(_broker_entry(key, config[key], synonyms))
    return entries


def default_broker_entries(config: BrokerConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """What was set for all brokers, and nothing else."""
    entries = []
    for name, value in config.dynamic_default.items():
        key = BROKER_KEYS.keys.get(name)
        if key is not None and (not names or name in names):
            shown = None if key.sensitive else value
            entries.append(_broker_entry(key, value, [Synonym(name, shown, ConfigSource.DYNAMIC_DEFAULT_BROKER)]))
    return entries


def group_entries(
    config: BrokerConfig, keys: ConfigDef, stored: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """A group's configs: what is set for it, else what the broker's key of the same meaning says for all groups.

    Kafka calls the latter a default all the same, whoever set it, and lists no synonyms but the key itself.
    """
    entries = []
    for key in _wanted(keys, names):
        default = config[BROKER_KEYS.keys[key.synonyms[0]]] if key.synonyms else key.default
        value = stored.get(key.name, text_of(key, default))
        source = ConfigSource.GROUP if key.name in stored else ConfigSource.DEFAULT
        synonyms = [Synonym(key.name, value, source)]
        entries.append(ConfigEntry(key.name, value, source, synonyms, type=key.type.value, doc=key.doc))
    return entries


def client_metrics_entries(
    keys: ConfigDef, stored: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """The configs of a subscription of client metrics (KIP-714): no other key stands behind them."""
    entries = []
    for key in _wanted(keys, names):
        source = ConfigSource.CLIENT_METRICS if key.name in stored else ConfigSource.DEFAULT
        value = stored.get(key.name, text_of(key, key.default))
        entries.append(ConfigEntry(key.name, value, source, [], type=key.type.value, doc=key.doc))
    return entries


def _broker_entry(key: Key[Any], value: object, synonyms: list[Synonym]) -> ConfigEntry:
    return ConfigEntry(
        key.name,
        None if key.sensitive else text_of(key, value),
        synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        synonyms,
        read_only=key.update is Update.READ_ONLY,
        sensitive=key.sensitive,
        type=key.type.value,
        doc=key.doc,
    )


def _wanted(keys: Iterable[Key[Any]], names: Collection[str] | None) -> list[Key[Any]]:
    return [key for key in keys if not names or key.name in names]


def _chain(config: BrokerConfig, name: str, names: Iterable[str], *, sensitive: bool) -> list[Synonym]:
    """Everything that is set for these broker keys, strongest layer first, last their defaults; from the first that is
    about `name` on."""
    keys = [BROKER_KEYS.keys[name] for name in names if name in BROKER_KEYS]
    layers: tuple[tuple[ConfigSource, Callable[[Key[Any]], str | None]], ...] = (
        (ConfigSource.DYNAMIC_BROKER, lambda key: config.dynamic_broker.get(key.name)),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER, lambda key: config.dynamic_default.get(key.name)),
        (ConfigSource.STATIC_BROKER, lambda key: config.raw.get(key.name)),
        (ConfigSource.DEFAULT, lambda key: text_of(key, key.default)),
    )
    chain = []
    for source, get in layers:
        for key in keys:
            value = get(key)
            if value is not None:
                chain.append(Synonym(key.name, None if sensitive else value, source))
    position = next((index for index, synonym in enumerate(chain) if synonym.name == name), len(chain))
    return chain[position:]


def _topic_value(key: Key[Any], effective: LogConfig, overrides: Mapping[str, str]) -> str | None:
    """What was set for the topic is shown as it is parsed; what comes from the broker, as the log has it."""
    if key.name in overrides:
        return text_of(key, key.parse(overrides[key.name]))
    value = getattr(effective, key.name.replace(".", "_"))
    if isinstance(value, (frozenset, tuple)):
        value = sorted(value)
    return text_of(key, value)


def text_of(key: Key[Any], value: object) -> str | None:
    """The value as Kafka writes it: a capital E in doubles, commas in lists, null for what is unset."""
    if key.type is Type.DOUBLE and isinstance(value, float):
        return repr(value).replace("e+", "E").replace("e", "E")
    if isinstance(value, str):
        return value
    return format_value(key.type, value)
