"""Every key of Kafka 4.3's own clients is ours, with its type and default, or is known not to mean anything here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.kafka import KAFKA_4, java_command, require_java
from tidelog.client.config import admin, consumer, producer
from tidelog.client.config.parsing import ClientKeys, reason_without_effect
from tidelog.common.config import format_value

pytestmark = pytest.mark.java
SOURCE = Path(__file__).parents[2] / "support" / "java" / "ClientDefaults.java"
KINDS = {"producer": producer.KEYS, "consumer": consumer.KEYS, "admin": admin.KEYS}

#: Where ours is another on purpose.
OTHERS = {
    "bootstrap.servers": "required: an error if it is not set",
    "key.serializer": "bytes, where Java has none",
    "value.serializer": "bytes, where Java has none",
    "key.deserializer": "bytes, where Java has none",
    "value.deserializer": "bytes, where Java has none",
    "partition.assignment.strategy": "names, where Java has classes",
    "ssl.truststore.type": "PEM is all that there is",
    "ssl.keystore.type": "PEM is all that there is",
    "ssl.cipher.suites": "unset, where Java has an empty list",
}
#: Ours alone: Java has them in sasl.jaas.config; its producer has max.block.ms for what the others have a time-out.
OURS = {"sasl.username", "sasl.password", "default.api.timeout.ms"}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[str, str]]]:
    require_java()
    command = java_command(KAFKA_4, tmp_path_factory.mktemp("conf"), str(SOURCE))
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, dict[str, tuple[str, str]]] = {kind: {} for kind in KINDS}
    for line in done.stdout.splitlines():
        kind, name, type_name, default = line.split("\t")
        found[kind][name] = (type_name, default)
    return found


@pytest.mark.parametrize(("kind", "keys"), KINDS.items())
def test_keys_types_and_defaults_are_kafkas(
    kind: str, keys: ClientKeys, theirs: dict[str, dict[str, tuple[str, str]]]
) -> None:
    assert len(theirs[kind]) > 60
    differing = {}
    for name, (type_name, default) in theirs[kind].items():
        if name not in keys:
            assert reason_without_effect(name), f"{name} of Kafka's {kind} is neither ours nor explained"
            continue
        key = keys.keys[name]
        assert key.type.name == type_name, name
        if str(format_value(key.type, key.default)).replace("None", "null") != default:
            differing[name] = default
    assert set(differing) <= set(OTHERS), differing
    assert set(keys.keys) - set(theirs[kind]) <= OURS
