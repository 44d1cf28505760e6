"""The configs that an Apache Kafka had: as nodes of the store, merged with ours, and made to fit. Pure.

When Kafka served the directories in between, a value that it changed since the last time wins (it came later), and
everything else stays as it is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.broker.adoption.metadata_log import BROKER_RESOURCE, TOPIC_RESOURCE, KafkaMetadata
from tidelog.broker.config.definition import BROKER_KEYS
from tidelog.broker.quotas.entities import entity_path
from tidelog.broker.security.scram import MECHANISMS, credential_text
from tidelog.broker.store import paths
from tidelog.common.config import ConfigDef, ConfigError

Values = Mapping[str, str]


def topic_nodes(metadata: KafkaMetadata) -> dict[str, dict[str, str]]:
    """Node → values, of every topic that Kafka has."""
    nodes = {}
    for topic in metadata.topics.values():
        nodes[paths.topic_config(topic.name)] = dict(metadata.configs.get((TOPIC_RESOURCE, topic.name), {}))
    return nodes


def entity_nodes(metadata: KafkaMetadata, node_id: int) -> dict[str, dict[str, str]]:
    """Node → values, of this broker and all brokers, client quotas and SCRAM credentials.

    KRaft keeps credentials in records of their own; in ZooKeeper, and in our store, they are configs of the user. Keys
    of brokers that we do not know (KRaft's own) are left out: they would only be reported at every start.
    """
    nodes: dict[str, dict[str, str]] = {}
    for (kind, name), values in metadata.configs.items():
        if kind == BROKER_RESOURCE and name in ("", str(node_id)):
            known = {key: value for key, value in values.items() if key in BROKER_KEYS}
            nodes[paths.broker_config(node_id if name else None)] = known
    for entity, quotas in metadata.quotas.items():
        path = entity_path(dict(entity))
        nodes.setdefault(path, {}).update({key: str(value) for key, value in quotas.items()})
    for (user, code), record in metadata.scram.items():
        mechanism = MECHANISMS.get(code)
        if mechanism is not None:
            path = entity_path({"user": user})
            text = credential_text(record.salt, record.stored_key, record.server_key, record.iterations)
            nodes.setdefault(path, {})[mechanism.name] = text
    return nodes


def merged(before: Values, now: Values, ours: Values) -> dict[str, str]:
    """Our values with what Kafka changed between `before` and `now`.

    Kafka had retention.ms=1 the last time and has 2 now: 2 holds, whatever we have. It had 1 and has 1: ours holds, 3
    if somebody set that here. It had 1 and has none: none holds. Key by key, as each was set by itself.
    """
    result = dict(ours)
    for name in before.keys() | now.keys():
        if before.get(name) != now.get(name):
            if name in now:
                result[name] = now[name]
            else:
                result.pop(name, None)
    return result


def fitted(keys: ConfigDef, values: Values) -> Iterator[tuple[str, str, str]]:
    """(name, value, nearest value) of what Kafka allows and we do not: its versions draw some limits differently.

    A value that no number can stand in for is not among them: whoever uses it gets the error.
    """
    for name, value in values.items():
        key = keys.keys.get(name)
        if key is None:
            continue
        try:
            key.parse(value)
        except ConfigError:
            nearest = key.nearest(value)
            if nearest is not None:
                yield name, value, nearest
