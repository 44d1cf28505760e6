"""The configs of topics: what was set for each, over what the broker's `log.*` keys give all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.common.types import INTERNAL_TOPICS
from tidelog.log.config import PROTOCOL_KEY, TOPIC_KEYS, LogConfig

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
            internal = topic in INTERNAL_TOPICS
            made = LogConfig.from_topic(_known(own), self._defaults_of(topic)) if own or internal else self.default
            self._made[topic] = made
        return made

    @property
    def default(self) -> LogConfig:
        """What a topic has that sets nothing."""
        if self._default is None:
            self._default = LogConfig.from_topic({}, self.broker_defaults())
        return self._default

    def _defaults_of(self, topic: str) -> Mapping[str, object]:
        """Coordinators write transactions and need magic 2: no protocol version, no older format."""
        defaults = self.broker_defaults()
        return {name: value for name, value in defaults.items() if topic not in INTERNAL_TOPICS or name != PROTOCOL_KEY}

    def broker_defaults(self) -> Mapping[str, object]:
        """Broker keys that were set and give topics their defaults, by the broker key's name."""
        keys = self._config.static.definition.keys
        names = BROKER_SYNONYMS | {PROTOCOL_KEY}
        return {name: self._config[keys[name]] for name in names if self._config.explicit(keys[name])}

    def _broker_changed(self, names: frozenset[str]) -> None:
        if names & BROKER_SYNONYMS:
            self._made.clear()
            self._default = None


def _known(overrides: Mapping[str, str]) -> dict[str, str]:
    """A store may hold keys that a newer or older Kafka set: they are kept there, and not used here."""
    return {name: value for name, value in overrides.items() if name in TOPIC_KEYS}
