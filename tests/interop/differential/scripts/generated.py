"""Requests that nobody thought of: random messages of every schema, and bytes that are no request at all."""

from __future__ import annotations

from typing import Any

from interop.differential.session import Session
from support.messages import Randomizer
from tidelog.common.errors import KafkaError, ProtocolError
from tidelog.protocol.api import ApiKey, api_spec, request_class
from tidelog.protocol.schema import Field

#: What would change the state of everything, wait for long, or answer with all that a broker has.
NOT_AT_RANDOM = {
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.JOIN_GROUP,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.API_VERSIONS,
    ApiKey.LIST_GROUPS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.CREATE_DELEGATION_TOKEN,
    # Kafka 4.3 forgets to answer to a resource that is named twice, and to a request without transactions.
    ApiKey.ALTER_CONFIGS,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.LIST_TRANSACTIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
}
#: Null means everything there is.
NEVER_NULL = {"topics", "components", "topic_partitions"}
MINUS_ONE_IS_ALL = {
    ApiKey.METADATA,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ELECT_LEADERS,
}
TIMES = {"timeout_ms", "max_wait_ms", "timeout", "transaction_timeout_ms"}
RANDOM_CASES = 3


class Calm(Randomizer):
    """Random messages whose requests are not given up, and name things, not everything."""

    def value(self, field: Field, root: Any, version: int, depth: int) -> Any:
        if field.name in TIMES:
            return self.random.choice((30_000, 60_000))
        if field.name == "num_partitions":
            return self.random.choice((-2, -1, 0, 1, 3, 20_000))
        if field.name == "allow_auto_topic_creation":
            return False
        found = super().value(field, root, version, depth)
        if field.array and field.name in NEVER_NULL and not found:
            return [self.single(field, root, version, depth + 1)]
        return found


def random_messages(s: Session) -> None:
    for key in ApiKey:
        if key in NOT_AT_RANDOM:
            continue
        for version in s.versions(key):
            if key == ApiKey.METADATA and version < 4:
                continue  # creates what it is asked for
            for number in range(RANDOM_CASES * (10 if s.thorough else 1)):
                message = Calm(f"{key}-{version}-{number}").message(api_spec(key).request, version)
                s.ask(f"random {number}", message, version)


def malformed(s: Session) -> None:
    """Bodies that are cut short, go on too long, or never were one."""
    for key in ApiKey:
        for version in s.versions(key):
            for label, body in _bodies(key, version).items():
                s.ask_raw(label, key, version, body)


def _bodies(key: ApiKey, version: int) -> dict[str, bytes]:
    if key in (ApiKey.LIST_GROUPS, ApiKey.LIST_CONFIG_RESOURCES):
        return {}
    out = {"sevens": b"\x07" * 40}
    if key in NOT_AT_RANDOM:
        return out
    if key == ApiKey.METADATA and version < 4:
        return out  # creates what it is asked for
    if key not in MINUS_ONE_IS_ALL:
        out["ones"] = b"\xff" * 40
    try:
        sound = Calm(f"malformed-{key}-{version}").message(request_class(key).__name__, version).encode(version)
    except (KafkaError, ProtocolError):
        return out
    if sound:
        out["nothing"] = b""
        out["cut"] = sound[: len(sound) // 2]
        out["last byte missing"] = sound[:-1]
        out["a tail"] = sound + b"tail"
    return out


def unknown_apis(s: Session) -> None:
    """Keys and versions that nobody serves."""
    for key in (93, 500, 32767, -1, 4, 5, 6, 7):
        for version in (0, 1, 99):
            s.ask_raw(f"key {key}", key, version, b"\x00" * 20)
    for key in ApiKey:
        for version in (-1, 99):
            if s.versions(key) and key != ApiKey.API_VERSIONS:
                s.ask_raw(f"version {version}", key, version, b"\x00" * 20)
