"""Changes of configs, decided: what is set now + what is asked → what will be set, or the error that Kafka gives. Pure.

The four operations of IncrementalAlterConfigs (KIP-339) work on single keys; APPEND and SUBTRACT on lists only,
starting from the default where nothing is set. AlterConfigs, which came first, replaces everything: what a request does
not name goes back to its default. Two tools that use it at the same time undo each other, hence the newer request.

A value is checked three times over: by itself (does it parse, is it within its range), beside the others that will be
set with it (a lower limit above an upper one), and, for broker keys, beside what topics have set under them. What is
refused is refused as a whole: no request is half done.

Broker keys differ in when they can change (KIP-226): **read-only** ones at the next start, **per-broker** ones for one
broker at a time, **cluster-wide** ones also for all at once. A broker has two dynamic layers for them, its own over the
default of all, both over `server.properties`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from operator import gt, lt
from typing import Any

from tidelog.broker.config.broker_config import BrokerConfig, listener_key
from tidelog.broker.config.definition import BROKER_KEYS
from tidelog.broker.metadata.topic_configs import TopicConfigs, usable_overrides
from tidelog.common.config import ConfigDef, ConfigError, Key, Type, Update, at_least, format_value
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.log.config import TOPIC_KEYS, check_topic_config


class Resource(IntEnum):
    """What has configs, as requests number it."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class AlterOperation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """One key of a request. AlterConfigs is a list of SETs over nothing."""

    name: str
    operation: int
    value: str | None


def check_form(changes: Iterable[Change]) -> None:
    """Each key once; a value wherever the operation needs one; an operation that exists."""
    seen: set[str] = set()
    empty = []
    for change in changes:
        if change.name in seen:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
        seen.add(change.name)
        if change.operation not in tuple(AlterOperation):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {change.operation}")
        if change.value is None and change.operation != AlterOperation.DELETE:
            empty.append(change.name)
    if empty:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(empty)}")


def apply_changes(present: Mapping[str, str], changes: Iterable[Change], keys: ConfigDef) -> dict[str, str]:
    """What will be set. To delete what is not set is no error: the wish is fulfilled."""
    values = dict(present)
    for change in changes:
        if change.operation == AlterOperation.DELETE:
            values.pop(change.name, None)
            continue
        text = change.value or ""
        if change.operation in (AlterOperation.APPEND, AlterOperation.SUBTRACT):
            text = _combined(values.get(change.name), change, text, keys)
        values[change.name] = text
    return values


def plan_topic_config(
    stored: Mapping[str, str], changes: Iterable[Change], *, replace: bool, defaults: Mapping[str, object]
) -> dict[str, str]:
    """What a topic will have set."""
    return plan_entity_config(
        stored, changes, replace=replace, keys=TOPIC_KEYS, check=lambda values: check_topic_config(values, defaults)
    )


def plan_entity_config(
    stored: Mapping[str, str],
    changes: Iterable[Change],
    *,
    replace: bool,
    keys: ConfigDef,
    check: Callable[[Mapping[str, str]], object],
) -> dict[str, str]:
    """What an entity will have set. Keys that another Kafka set and this one does not know stay; new ones must be
    known. What is stored and cannot be is dropped."""
    present = {} if replace else _without_unusable(stored, keys)
    values = apply_changes(present, changes, keys)
    check({name: value for name, value in values.items() if name in keys or name not in present})
    return values


def _without_unusable(stored: Mapping[str, str], keys: ConfigDef) -> dict[str, str]:
    usable = usable_overrides(stored, keys=keys)
    return {name: value for name, value in stored.items() if name in usable or name not in keys}


def plan_broker_config(
    stored: Mapping[str, str],
    changes: Iterable[Change],
    *,
    replace: bool,
    config: BrokerConfig,
    topics: TopicConfigs,
    per_broker: bool,
) -> dict[str, str]:
    """What will be set for this broker or for all: each value allowed, and all of them beside each other, beside the
    other layer and beside what topics have set."""
    values = apply_changes({} if replace else config.usable(stored), changes, config.static.definition)
    check_broker_values(values, per_broker=per_broker)
    try:
        after = config.with_dynamic(*broker_layers(values, config, per_broker=per_broker))
        topics.check_under(after)
    except KafkaError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, error.message) from error
    _check_reach(config, after)
    return values


def broker_layers(
    values: Mapping[str, str], config: BrokerConfig, *, per_broker: bool
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Both dynamic layers, the broker's own first, one of them new."""
    return (values, config.dynamic_default) if per_broker else (config.dynamic_broker, values)


def _combined(present: str | None, change: Change, text: str, keys: ConfigDef) -> str:
    """A list with items added or taken away; one that is there already, or is not, changes nothing."""
    key = keys.keys.get(change.name)
    if key is None or key.type is not Type.LIST:
        verb = AlterOperation(change.operation).name
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Can't {verb} to key {change.name} because its type is not LIST.")
    if present is None:
        present = format_value(Type.LIST, key.default) or ""
    parts = [part for part in present.split(",") if part]
    for item in text.split(","):
        if change.operation == AlterOperation.SUBTRACT:
            if item in parts:
                parts.remove(item)
        elif item not in parts:
            parts.append(item)
    return ",".join(parts)


#: Pools of threads: each change may at most double or halve them (Kafka's rule).
POOLS = frozenset(
    (
        "num.io.threads",
        "num.network.threads",
        "num.replica.fetchers",
        "num.recovery.threads.per.data.dir",
        "background.threads",
        "log.cleaner.threads",
    )
)


def check_broker_values(values: Mapping[str, str], *, per_broker: bool) -> None:
    """Dynamic broker configs: changeable while it runs, at this scope, and allowed values. Keys that nobody knows may
    belong to a plug-in: they are kept."""
    for name, value in values.items():
        key = BROKER_KEYS.keys.get(name) or listener_key(name)
        if key is None:
            continue
        if key.update is Update.READ_ONLY:
            text = f"Cannot update these configs dynamically: [{name}]"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        if key.update is Update.PER_BROKER and not per_broker:
            text = f"Cannot update these configs at default cluster level, broker id must be specified: [{name}]"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        try:
            key.parse(value)
        except ConfigError as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, error.message) from error


def _check_reach(before: BrokerConfig, after: BrokerConfig) -> None:
    """How far a running broker can go from what it has. What counts is what will be in force, in whatever layer."""
    for name in sorted(POOLS):
        key: Key[int] = BROKER_KEYS.keys[name]
        present, wanted = before[key], after[key]
        if wanted != present and not max(1, present // 2) <= wanted <= present * 2:
            text = f"Dynamic thread count update validation failed for {name}={wanted}: at most half or twice {present}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    if after[BROKER_KEYS.keys["listeners"]] != before[BROKER_KEYS.keys["listeners"]]:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "listeners cannot be changed while the broker runs")


def check_values(values: Mapping[str, str], keys: ConfigDef, kind: str) -> None:
    """Configs of groups and client metrics. Both are Kafka's newest kinds of entities (KIP-848, KIP-714) and strict: a
    key that is not known is refused, where topics and brokers keep it. The error differs between the two, as there."""
    for name, value in values.items():
        key: Key[Any] | None = keys.keys.get(name)
        if key is None:
            code = ErrorCode.INVALID_REQUEST if keys is CLIENT_METRICS_KEYS else ErrorCode.INVALID_CONFIG
            raise KafkaError(code, f"Unknown {kind} config name: {name}")
        key.parse(value)


def check_group_values(values: Mapping[str, str], config: BrokerConfig) -> None:
    """Configs of groups: known, within the broker's limits (`group.consumer.min.…` and `…max.…`), and a session that
    outlasts a heartbeat."""
    check_values(values, GROUP_KEYS, "group")
    for name, value in values.items():
        kind, _, rest = name.partition(".")
        for bound, wanted, beyond in (("min", "greater", lt), ("max", "less", gt)):
            limit: Key[int] | None = BROKER_KEYS.keys.get(f"group.{kind}.{bound}.{rest}")
            if limit is not None and beyond(int(value), config[limit]):
                text = f"{name} must be {wanted} than or equal to {limit.name} ({config[limit]})"
                raise KafkaError(ErrorCode.INVALID_CONFIG, text)
    for kind in ("consumer", "share"):
        session, heartbeat = (
            int(values.get(f"{kind}.{what}") or config[BROKER_KEYS.keys[f"group.{kind}.{what}"]])
            for what in ("session.timeout.ms", "heartbeat.interval.ms")
        )
        if session <= heartbeat:
            text = f"{kind}.session.timeout.ms must be greater than {kind}.heartbeat.interval.ms"
            raise KafkaError(ErrorCode.INVALID_CONFIG, text)


GROUP_KEYS = ConfigDef("Group")
GROUP_KEYS.define(
    "consumer.session.timeout.ms",
    Type.INT,
    45_000,
    at_least(1),
    doc="After how long without a heartbeat a member of this consumer group is dropped.",
    update=Update.CLUSTER_WIDE,
    synonyms=("group.consumer.session.timeout.ms",),
)
GROUP_KEYS.define(
    "consumer.heartbeat.interval.ms",
    Type.INT,
    5_000,
    at_least(1),
    doc="How often members of this consumer group send heartbeats.",
    update=Update.CLUSTER_WIDE,
    synonyms=("group.consumer.heartbeat.interval.ms",),
)
GROUP_KEYS.define(
    "consumer.assignment.interval.ms",
    Type.INT,
    1_000,
    at_least(0),
    doc="The least time between two assignments of this consumer group.",
    update=Update.CLUSTER_WIDE,
    synonyms=("group.consumer.assignment.interval.ms",),
)
GROUP_KEYS.define(
    "share.session.timeout.ms",
    Type.INT,
    45_000,
    at_least(1),
    doc="After how long without a heartbeat a member of this share group is dropped.",
    update=Update.CLUSTER_WIDE,
    synonyms=("group.share.session.timeout.ms",),
)
GROUP_KEYS.define(
    "share.heartbeat.interval.ms",
    Type.INT,
    5_000,
    at_least(1),
    doc="How often members of this share group send heartbeats.",
    update=Update.CLUSTER_WIDE,
    synonyms=("group.share.heartbeat.interval.ms",),
)
GROUP_KEYS.define(
    "share.record.lock.duration.ms",
    Type.INT,
    30_000,
    at_least(1000),
    doc="How long an acquired record stays with its consumer of this share group.",
    update=Update.CLUSTER_WIDE,
    synonyms=("group.share.record.lock.duration.ms",),
)
GROUP_KEYS.define(
    "share.auto.offset.reset",
    Type.STRING,
    "latest",
    doc="Where a share group begins that has no offset: `earliest`, `latest` or `by_duration:<ISO 8601 duration>`.",
    update=Update.CLUSTER_WIDE,
)
GROUP_KEYS.define(
    "share.isolation.level",
    Type.STRING,
    "read_uncommitted",
    doc="Which records of transactions a share group sees.",
    update=Update.CLUSTER_WIDE,
)

CLIENT_METRICS_KEYS = ConfigDef("Client metrics")
CLIENT_METRICS_KEYS.define(
    "metrics", Type.LIST, [], doc="Prefixes of the metrics that clients shall push.", update=Update.CLUSTER_WIDE
)
CLIENT_METRICS_KEYS.define(
    "interval.ms",
    Type.INT,
    300_000,
    at_least(100),
    doc="How often clients shall push their metrics.",
    update=Update.CLUSTER_WIDE,
)
CLIENT_METRICS_KEYS.define(
    "match", Type.LIST, [], doc="Which clients: `name=regular expression` pairs.", update=Update.CLUSTER_WIDE
)
