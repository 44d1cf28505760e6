"""From what a user gives to a checked config: a dict with Kafka's names, keywords with underscores, or both.

    config = parse(producer.KEYS, {"bootstrap.servers": "localhost:9092"}, {"linger_ms": 20})
    config[producer.LINGER_MS]      # 20

A keyword that is not known can only be a mistake: UsageError, with the nearest name. An unknown key in a dict may be
somebody else's (interceptors, serializers and partitioners are configured from the same dict), so it is kept in
`originals`, which `configure` is given, and warned of. Keys of Java's clients that mean nothing in Python say that.

Values may be texts, as in a properties file, or Python's own: numbers, booleans, lists, classes, instances, functions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from tidelog.common.config import Config, ConfigDef, Key
from tidelog.common.errors import UsageError

logger = logging.getLogger("tidelog.client")
T = TypeVar("T")

#: Settles what several keys decide together: what it returns holds instead of what was parsed; or it raises.
Rule = Callable[["ClientConfig"], Mapping[str, object]]

#: Keys of Java's clients without a meaning here, by how they begin, and why. They are no mistake: a file that was
#: written for Java may be used as it is.
_JAVA_ONLY = {
    "auto.include.jmx.reporter": "there is no JMX in Python: see metrics()",
    "bootstrap.controllers": "requests go to brokers, which forward them to the controllers",
    "config.providers": "values are taken as they are",
    "enable.metrics.push": "metrics are not pushed to brokers",
    "internal.": "it is a switch of Java's own",
    "metric.reporters": "metrics are read by metrics()",
    "metrics.": "metrics are read by metrics()",
    "sasl.client.callback.handler.class": "exchanges are built in",
    "sasl.kerberos.": "Kerberos (GSSAPI) is not supported",
    "share.": "there is no share consumer yet",
    "sasl.login.": "tokens come from sasl.login.callback.handler.class",
    "sasl.oauthbearer.": "tokens come from sasl.login.callback.handler.class",
    "security.providers": "TLS is Python's ssl",
    "ssl.engine.factory.class": "TLS is Python's ssl",
    "ssl.keymanager.algorithm": "TLS is Python's ssl",
    "ssl.keystore.password": "PEM files have none: see ssl.key.password",
    "ssl.provider": "TLS is Python's ssl",
    "ssl.secure.random.implementation": "TLS is Python's ssl",
    "ssl.trustmanager.algorithm": "TLS is Python's ssl",
    "ssl.truststore.password": "PEM files have none",
    "transaction.two.phase.commit.enable": "transactions always have a time-out",
}


class ClientKeys(ConfigDef):
    """The keys of one kind of client: its own and those that it shares with others, and the rules between them."""

    def __init__(self, title: str, *shared: ConfigDef) -> None:
        super().__init__(title)
        self.rules: list[Rule] = []
        for keys in shared:
            self.keys.update(keys.keys)

    def default(self, key: Key[T], value: T) -> None:
        """Another default for a shared key: whoever reads it by the shared constant gets this client's."""
        self.keys[key.name] = Key(
            key.name, key.type, value, key.validator, key.doc, key.importance, key.update, key.synonyms
        )


class ClientConfig(Config):
    """Parsed settings of one client. A key that was not set has the default of *this kind* of client."""

    __slots__ = ("originals",)

    def __init__(
        self,
        definition: ConfigDef,
        values: Mapping[str, Any],
        unknown: tuple[str, ...],
        originals: Mapping[str, object],
    ) -> None:
        super().__init__(definition, values, unknown)
        #: What the user gave, by Kafka's names, others' keys included: for `configure`.
        self.originals = dict(originals)

    def __getitem__(self, key: Key[T]) -> T:
        if key.name in self._values:
            return cast(T, self._values[key.name])
        return cast(T, self.definition.keys.get(key.name, key).default)

    def with_values(self, values: Mapping[str, Any]) -> ClientConfig:
        """A copy in which these parsed values hold."""
        return ClientConfig(self.definition, {**self._values, **values}, self.unknown, self.originals)

    def derived(self, keywords: Mapping[str, object]) -> ClientConfig:
        """The config of a client that stands on the connections of this one's: the same settings, under those given."""
        given = {keyword.replace("_", ".") for keyword in keywords}
        kept = {name: value for name, value in self.originals.items() if name in self.definition and name not in given}
        return parse(self.definition, kept, keywords)

    def is_set(self, key: Key[Any]) -> bool:
        """Whether the user set it, even if to the default."""
        return key.name in self.originals


def parse(
    definition: ConfigDef, mapping: Mapping[str, object] | None = None, keywords: Mapping[str, object] | None = None
) -> ClientConfig:
    """Parse, check, settle. ConfigError for a value that cannot be, UsageError for a keyword that nobody knows, and for
    settings that are no dict: other clients take their servers, or a topic, in this place.
    """
    if mapping is not None and not isinstance(mapping, Mapping):
        raise UsageError(f"settings are a dict or keywords, not {mapping!r}: bootstrap_servers='localhost:9092'")
    originals = dict(mapping or {})
    for keyword, value in (keywords or {}).items():
        name = keyword.replace("_", ".")
        if name not in definition:
            raise UsageError(f"there is no setting {keyword}{_suggestion(name, definition, underscores=True)}")
        if name in originals:
            raise UsageError(f"{name} is given twice: in the dict, and as the keyword {keyword}")
        originals[name] = value
    parsed = definition.parse(originals)
    config = ClientConfig(definition, parsed._values, parsed.unknown, originals)
    for name in config.unknown:
        logger.warning("the client key %s %s", name, _why_unknown(name, definition))
    for rule in getattr(definition, "rules", ()):
        config = config.with_values(rule(config))
    return config


def _why_unknown(name: str, definition: ConfigDef) -> str:
    reason = reason_without_effect(name)
    if reason is not None:
        return f"has no effect here: {reason}"
    return f"is not known and has no effect{_suggestion(name, definition)}"


def reason_without_effect(name: str) -> str | None:
    """Why a key of Java's clients means nothing here; None if it is none of those."""
    return next((reason for start, reason in _JAVA_ONLY.items() if name.startswith(start)), None)


def _suggestion(name: str, definition: ConfigDef, *, underscores: bool = False) -> str:
    from difflib import get_close_matches  # only for whoever made a mistake

    close = get_close_matches(name, definition.keys, n=1, cutoff=0.75)
    if not close:
        return ""
    return f": did you mean {close[0].replace('.', '_') if underscores else close[0]}?"
