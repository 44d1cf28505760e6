"""Configs as values: whose they are, what they say, where that comes from, and how to change them.

A key may be set in several places; the strongest that says something wins. For a topic's key, from strong to weak:

    DYNAMIC_TOPIC             set for this topic
    DYNAMIC_BROKER            set for this broker while it ran, under the broker's name of the key (`log.retention.ms`)
    DYNAMIC_DEFAULT_BROKER    set for all brokers while they ran
    STATIC_BROKER             in the broker's properties file
    DEFAULT                   what Kafka thinks best

The `synonyms` of an entry are all of these that have something to say, in this order.
"""

from __future__ import annotations

from typing import Any

from tidelog.client.admin.words import NumberWord
from tidelog.common.named_tuple import NamedTuple


class ConfigType(NumberWord):
    """Whose configs."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """Something that has configs. The empty name of a broker stands for the defaults of all brokers."""

    type: ConfigType
    name: str

    @classmethod
    def topic(cls, name: str) -> ConfigResource:
        return cls(ConfigType.TOPIC, name)

    @classmethod
    def broker(cls, node_id: int | None = None) -> ConfigResource:
        """One broker; None: what holds for all of them unless they say otherwise."""
        return cls(ConfigType.BROKER, "" if node_id is None else str(node_id))

    @classmethod
    def loggers(cls, node_id: int) -> ConfigResource:
        """The levels of a broker's log output."""
        return cls(ConfigType.BROKER_LOGGER, str(node_id))

    @classmethod
    def group(cls, group_id: str) -> ConfigResource:
        return cls(ConfigType.GROUP, group_id)

    @classmethod
    def client_metrics(cls, name: str) -> ConfigResource:
        """A subscription to the metrics of clients (KIP-714)."""
        return cls(ConfigType.CLIENT_METRICS, name)

    def __str__(self) -> str:
        return f"configs of {self.type.name.lower().replace('_', ' ')} {self.name or '(default)'}"


class ConfigSource(NumberWord):
    """Which layer a value comes from, the strongest first in Kafka's documentation."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    DYNAMIC_CLIENT_METRICS = 7
    DYNAMIC_GROUP = 8


class ValueType(NumberWord):
    """How a value's text is meant; brokers tell it since Kafka 2.6."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSynonym(NamedTuple):
    """A layer that has something to say about a key, under the name that it has there."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """A key's value. Secrets are never told: their value is None."""

    name: str
    value: str | None
    source: ConfigSource = ConfigSource.UNKNOWN
    read_only: bool = False
    sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: ValueType = ValueType.UNKNOWN
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether nobody has set it."""
        return self.source is ConfigSource.DEFAULT


def config_entry(entry: Any) -> ConfigEntry:
    """From an answer. Version 0 of DescribeConfigs has no sources, only whether it is a default; CreateTopics tells
    less than DescribeConfigs does.
    """
    source = ConfigSource(entry.config_source)
    if source is ConfigSource.UNKNOWN and getattr(entry, "is_default", False):
        source = ConfigSource.DEFAULT
    synonyms = getattr(entry, "synonyms", None) or ()
    return ConfigEntry(
        entry.name,
        entry.value,
        source,
        entry.read_only,
        entry.is_sensitive,
        tuple(ConfigSynonym(each.name, each.value, ConfigSource(each.source)) for each in synonyms),
        ValueType(getattr(entry, "config_type", 0)),
        getattr(entry, "documentation", None),
    )


class Append(str):
    """A value to add to a list, as `{"cleanup.policy": Append("compact")}`. What is in the list already stays once."""

    __slots__ = ()


class Subtract(str):
    """A value to take out of a list."""

    __slots__ = ()


#: A new value, a change of a list, or None: back to the default.
ConfigChange = str | int | float | bool | None


def config_text(value: ConfigChange) -> str | None:
    """A Python value as Kafka writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
