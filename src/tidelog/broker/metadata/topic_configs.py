"""The configs of topics: what was set for each, over what the broker's `log.*` keys give all of them.

A change is checked before it is stored, for the topic alone and for all topics under a changed default. What is stored
nevertheless and cannot hold (by another version, by hand) is left out with a warning: the topic is served.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType

from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.common.config import ConfigDef, ConfigError
from tidelog.common.errors import KafkaError
from tidelog.common.types import INTERNAL_TOPICS, MAX_INT64
from tidelog.log.config import PROTOCOL_KEY, TOPIC_KEYS, LogConfig
from tidelog.log.message_format import magic_of, parse_version
from tidelog.log.topic_keys import MESSAGE_FORMAT_VERSION

logger = logging.getLogger(__name__)

#: Broker keys that give topic keys their defaults.
BROKER_SYNONYMS = frozenset(name for key in TOPIC_KEYS for name in key.synonyms)
_EMPTY: Mapping[str, str] = MappingProxyType({})


class TopicConfigs:
    """Held by the event loop. `log_config` is made once per topic and kept until something changes."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._overrides: dict[str, Mapping[str, str]] = {}
        self._made: dict[str, LogConfig] = {}
        self._default: LogConfig | None = None
        #: Overrides that lie over all others while an adopted topic's own are unknown (retention and cleaning off).
        self._guarded: dict[str, Mapping[str, str]] = {}
        config.on_change(self._broker_changed)

    def overrides(self, topic: str) -> Mapping[str, str]:
        """What was set for the topic itself."""
        return self._overrides.get(topic, _EMPTY)

    def set(self, topic: str, overrides: Mapping[str, str]) -> None:
        self._made.pop(topic, None)
        if overrides:
            self._overrides[topic] = dict(overrides)
        else:
            self._overrides.pop(topic, None)

    def guard(self, topic: str, values: Mapping[str, str]) -> None:
        """Hold these values for a topic, whatever else is set."""
        self._guarded[topic] = values
        self._made.pop(topic, None)

    def unguard(self, topic: str) -> None:
        self._guarded.pop(topic, None)
        self._made.pop(topic, None)

    def is_guarded(self, topic: str) -> bool:
        return topic in self._guarded

    def forget(self, topic: str) -> None:
        self.set(topic, _EMPTY)
        self.unguard(topic)

    def log_config(self, topic: str) -> LogConfig:
        made = self._made.get(topic)
        if made is None:
            own = {**self.overrides(topic), **self._guarded.get(topic, _EMPTY)}
            plain = not own and topic not in INTERNAL_TOPICS
            made = self.default if plain else usable_config(own, self._defaults_of(topic), f"topic {topic}")
            self._made[topic] = made
            _warn_of_format(topic, made)
        return made

    def check(self, topic: str) -> None:
        """Whether everything that is set for a topic holds, of the keys that are known; raises ConfigError."""
        own = {name: text for name, text in self.overrides(topic).items() if name in TOPIC_KEYS}
        LogConfig.from_topic(own, self._defaults_of(topic))

    @property
    def default(self) -> LogConfig:
        """What a topic has that sets nothing."""
        if self._default is None:
            self._default = usable_config({}, self.broker_defaults(), "all topics")
        return self._default

    def _defaults_of(self, topic: str) -> Mapping[str, object]:
        """Coordinators write transactions and need magic 2: no protocol version, no older format."""
        defaults = self.broker_defaults()
        return {name: value for name, value in defaults.items() if topic not in INTERNAL_TOPICS or name != PROTOCOL_KEY}

    def broker_defaults(self) -> Mapping[str, object]:
        """Broker keys that were set and give topics their defaults, by the broker key's name."""
        return topic_defaults(self._config)

    def check_under(self, config: BrokerConfig) -> None:
        """Whether every topic's own settings hold beside the defaults of another configuration; raises KafkaError."""
        defaults = topic_defaults(config)
        if defaults == self.broker_defaults():
            return
        LogConfig.from_topic({}, defaults)
        for topic, own in self._overrides.items():
            try:
                LogConfig.from_topic(usable_overrides(own), defaults)
            except ConfigError as error:
                raise KafkaError(error.code, f"Topic {topic}: {error.message}") from error

    def _broker_changed(self, names: frozenset[str]) -> None:
        if names & BROKER_SYNONYMS:
            self._made.clear()
            self._default = None


def topic_defaults(config: BrokerConfig) -> dict[str, object]:
    keys = config.static.definition.keys
    return {name: config[keys[name]] for name in BROKER_SYNONYMS | {PROTOCOL_KEY} if config.explicit(keys[name])}


def usable_overrides(
    overrides: Mapping[str, str], whose: str | None = None, keys: ConfigDef = TOPIC_KEYS
) -> dict[str, str]:
    """Those that this version knows and that parse; `whose` are named in a warning where one does not."""
    usable = {}
    for name, text in overrides.items():
        key = keys.keys.get(name)
        if key is None:  # a store may hold keys that a newer or older Kafka set: they are kept there, and not used here
            continue
        try:
            key.parse(text)
            usable[name] = text
        except ConfigError as error:
            if whose is not None:
                logger.warning("A stored config of %s is ignored: %s", whose, error.message)
    return usable


def usable_config(overrides: Mapping[str, str], defaults: Mapping[str, object], whose: str | None = None) -> LogConfig:
    """What holds of these settings. Of compaction lags that contradict each other the lower limit does: a record
    that was to stay for so long is not compacted away earlier."""
    own = usable_overrides(overrides, whose)
    try:
        return LogConfig.from_topic(own, defaults)
    except ConfigError as error:
        if whose is not None:
            text = "max.compaction.lag.ms of %s is ignored, beside a larger min.compaction.lag.ms: %s"
            logger.warning(text, whose, error.message)
        return LogConfig.from_topic({**own, "max.compaction.lag.ms": str(MAX_INT64)}, defaults)


def _warn_of_format(topic: str, made: LogConfig) -> None:
    """A format that was asked for and is not stored."""
    asked = made.message_format_version
    if MESSAGE_FORMAT_VERSION.name in made.overrides and magic_of(parse_version(asked)) != made.record_magic:
        text = "message.format.version %s of topic %s is ignored, because of %s: magic %d is stored"
        logger.warning(text, asked, topic, PROTOCOL_KEY, made.record_magic)
