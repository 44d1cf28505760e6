"""Whom a quota is for: a user, a client id, both together, or an address.

An entity is a set of (type, name) pairs; a null name stands for all of its type that have no quota of their own
("default"). Each has one node, where Kafka 3 keeps it in ZooKeeper:

    user                  /config/users/<user>
    client-id             /config/clients/<client>
    user and client-id    /config/users/<user>/clients/<client>
    ip                    /config/ips/<address>

Names are percent-encoded in paths, as anybody may choose them; a default's part is `<default>`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from tidelog.broker.store import paths
from tidelog.common.errors import ErrorCode, KafkaError

USER, CLIENT, IP = "user", "client-id", "ip"

Entity = Mapping[str, str | None]


def entity_path(entity: Entity) -> str:
    """The entity's node. KafkaError for a combination of types that Kafka has no quotas for."""
    if any(name == "" for name in entity.values()):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Empty entity names are not supported")
    kinds = set(entity)
    if kinds == {USER}:
        return paths.user_config(entity[USER])
    if kinds == {CLIENT}:
        return paths.client_config(entity[CLIENT])
    if kinds == {USER, CLIENT}:
        return paths.user_client_config(entity[USER], entity[CLIENT])
    if kinds == {IP}:
        _check_address(entity[IP])
        return paths.ip_config(entity[IP])
    if not kinds:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    if IP in kinds:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Cannot combine an ip with another entity type")
    kind = next(kind for kind in entity if kind not in (USER, CLIENT, IP))
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")


def _check_address(name: str | None) -> None:
    """An address and nothing else: Kafka would also look up a host's name, which may be another tomorrow."""
    if name is None:
        return
    try:
        ipaddress.ip_address(name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is not a valid IP or resolvable host.") from None
