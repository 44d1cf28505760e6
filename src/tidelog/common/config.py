"""One declaration per configuration key: name, type, default, validator, importance, dynamic or not, and its advice.

Everything else about a key is derived from its declaration: parsing and checking, the reference page, `--help`,
and what DescribeConfigs answers. Names and defaults are Kafka's. A key that nobody declared is reported, never dropped.

    KEYS = ConfigDef("topic")
    SEGMENT_BYTES = KEYS.define("segment.bytes", Type.INT, 1 << 30, at_least(1 << 20), doc="...")
    config = KEYS.parse({"segment.bytes": "1048576"})
    config[SEGMENT_BYTES]          # 1048576, typed
    config.explicit                # {"segment.bytes"}: what was set rather than defaulted

Kafka's configs are layered: a topic's own value, else the value of the broker's key that is its *synonym*, else the
default. DescribeConfigs tells all layers, and which of them counts. The layers are put together where they are known
(topics in `broker/metadata`, brokers in `broker/config`); here is one layer: what was set, over the defaults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar, cast

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple

T = TypeVar("T")


class Type(Enum):
    """Kafka's config types; the value is the code that DescribeConfigs reports."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Update(Enum):
    """When a change of the key takes effect."""

    READ_ONLY = "read-only"  # after a restart
    PER_BROKER = "per-broker"  # at once, set for one broker
    CLUSTER_WIDE = "cluster-wide"  # at once, also as a default for all brokers


class ConfigError(KafkaError):
    """A value that its key does not allow; the text names the key, the value and what is allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        self.name = name
        self.allowed = allowed
        super().__init__(ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {allowed}")


class Validator(NamedTuple):
    """A check, the sentence that says what it allows, and its limits where it is a range."""

    accepts: Callable[[Any], bool]
    allowed: str
    minimum: float | None = None
    maximum: float | None = None


def at_least(minimum: float) -> Validator:
    """The texts are those of Kafka's ConfigDef: tools and tests look for them in error messages."""
    return Validator(lambda value: value >= minimum, f"Value must be at least {minimum}", minimum)


def between(minimum: float, maximum: float) -> Validator:
    allowed = f"Value must be between {minimum} and {maximum}"
    return Validator(lambda value: minimum <= value <= maximum, allowed, minimum, maximum)


def one_of(*choices: str) -> Validator:
    """For strings that name one of a few things; upper and lower case count, as in Kafka."""
    return Validator(lambda value: value in choices, f"String must be one of: {', '.join(choices)}")


def subset_of(*choices: str) -> Validator:
    """For lists whose entries all name one of a few things: `cleanup.policy=compact,delete`."""
    return Validator(lambda value: set(value) <= set(choices), f"List entries must be among: {', '.join(choices)}")


def not_empty() -> Validator:
    return Validator(lambda value: bool(value), "Value must not be empty")


class Key(Generic[T]):
    """A declared key. Compare by identity: declare once, import where needed.

    `synonyms` are keys (of the broker) that give the default of this (topic) key: segment.bytes ← log.segment.bytes.
    """

    __slots__ = ("default", "doc", "importance", "name", "synonyms", "type", "update", "validator")

    def __init__(
        self,
        name: str,
        type: Type,
        default: T,
        validator: Validator | None = None,
        doc: str = "",
        importance: str = "medium",
        update: Update = Update.READ_ONLY,
        synonyms: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.validator = validator
        self.doc = doc
        self.importance = importance
        self.update = update
        self.synonyms = synonyms

    def parse(self, raw: object) -> T:
        """The value of a text; ConfigError if it is not of the key's type or not allowed. None stays None,
        unchecked.
        """
        value = _parse(self.name, self.type, raw)
        if self.validator is not None and value is not None and not self.validator.accepts(value):
            raise ConfigError(self.name, raw, self.validator.allowed)
        return cast(T, value)

    def nearest(self, raw: object) -> str | None:
        """The allowed value that is nearest to a number out of range, as text; None where there is no such thing."""
        try:
            value = _parse(self.name, self.type, raw)
        except ConfigError:
            return None
        if self.validator is None or not isinstance(value, (int, float)):
            return None
        limits = (self.validator.minimum, self.validator.maximum)
        close = [limit for limit in limits if limit is not None and self.validator.accepts(limit)]
        return str(min(close, key=lambda limit: abs(limit - value))) if close else None

    @property
    def sensitive(self) -> bool:
        """Whether its value must not be shown: DescribeConfigs answers null for it, and logs leave it out."""
        return self.type is Type.PASSWORD


class ConfigDef:
    """A set of declared keys, in the order of their declaration."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.keys: dict[str, Key[Any]] = {}

    def define(
        self,
        name: str,
        type: Type,
        default: T,
        validator: Validator | None = None,
        *,
        doc: str = "",
        importance: str = "medium",
        update: Update = Update.READ_ONLY,
        synonyms: tuple[str, ...] = (),
    ) -> Key[T]:
        """Declare a key; the name must be new, since a second declaration would silently change what the first one
        said.
        """
        if name in self.keys:
            raise ValueError(f"configuration {name} is declared twice")
        key = Key(name, type, default, validator, doc, importance, update, synonyms)
        self.keys[name] = key
        return key

    def __contains__(self, name: str) -> bool:
        return name in self.keys

    def __iter__(self) -> Iterator[Key[Any]]:
        return iter(self.keys.values())

    def parse(self, raw: Mapping[str, object]) -> Config:
        """Parse and check; names that are not declared end up in `Config.unknown`, in their given order."""
        values: dict[str, Any] = {}
        unknown = []
        for name, text in raw.items():
            key = self.keys.get(name)
            if key is None:
                unknown.append(name)
            else:
                values[name] = key.parse(text)
        return Config(self, values, tuple(unknown))

    def markdown(self) -> str:
        """The reference page's section for these keys."""
        lines = [f"## {self.title}", ""]
        for key in self.keys.values():
            default = "" if key.default == "" else format_value(key.type, key.default)
            lines += [
                f"### `{key.name}`",
                "",
                key.doc,
                "",
                f"- type: {key.type.name.lower()}",
                f"- default: `{default}`",
            ]
            if key.validator:
                lines.append(f"- {key.validator.allowed}")
            lines += [f"- update: {key.update.value}", ""]
        return "\n".join(lines)


class Config:
    """Parsed values of a `ConfigDef`: what was set, over the defaults."""

    __slots__ = ("_values", "definition", "unknown")

    def __init__(self, definition: ConfigDef, values: Mapping[str, Any], unknown: tuple[str, ...] = ()) -> None:
        self.definition = definition
        self._values = dict(values)
        self.unknown = unknown

    def __getitem__(self, key: Key[T]) -> T:
        """The value, typed by its key: a checker knows that `config[SEGMENT_BYTES]` is an int."""
        return cast(T, self._values.get(key.name, key.default))

    @property
    def explicit(self) -> frozenset[str]:
        """The names that were set, even if to the default: DescribeConfigs tells these from defaults."""
        return frozenset(self._values)

    def with_values(self, values: Mapping[str, Any]) -> Config:
        """A copy with these already parsed values over the present ones."""
        return Config(self.definition, {**self._values, **values}, self.unknown)


def format_value(type: Type, value: object) -> str | None:
    """The text form, as in files and in DescribeConfigs."""
    if value is None:
        return None
    if type is Type.BOOLEAN:
        return "true" if value else "false"
    if type is Type.LIST:
        return ",".join(cast("list[str]", value))
    return str(value)


_RANGES = {Type.SHORT: 15, Type.INT: 31, Type.LONG: 63}
_INTEGER = re.compile(r"[+-]?\d+\Z")


def _parse(name: str, type: Type, raw: object) -> object:
    """The value of a text by its type, as Kafka's ConfigDef reads it: blanks around it do not count, booleans are
    `true` and `false` in any case, numbers must fit the Java type of that name, and an empty list is no entry rather
    than an empty one. What is no text may stay as it is where a class is wanted, alone or in a list.
    """
    if raw is None or (type is Type.CLASS and not isinstance(raw, str)):
        return raw
    if type is Type.LIST and not isinstance(raw, str):
        entries = raw if isinstance(raw, (list, tuple)) else [raw]
        return [entry.strip() if isinstance(entry, str) else entry for entry in entries]
    text = str(raw).strip()
    if type is Type.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise ConfigError(name, raw, "Expected value to be either true or false")
        return text.lower() == "true"
    if type in _RANGES:
        bits = _RANGES[type]
        if not _INTEGER.match(text) or not -(1 << bits) <= int(text) < 1 << bits:
            raise ConfigError(name, raw, f"Not a number of type {type.name}")
        return int(text)
    if type is Type.DOUBLE:
        try:
            return float(text)
        except ValueError:
            raise ConfigError(name, raw, "Not a number of type DOUBLE") from None
    if type is Type.LIST:
        return [part.strip() for part in text.split(",")] if text else []
    return text
