"""Kafka's own declarations are the oracle of ours: every key of 3.9 and 4.x, its type, default and update mode."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.kafka import KAFKA_3, KAFKA_4, kafka_jars
from tidelog.broker import config as keys
from tidelog.broker.metadata.config_entries import text_of
from tidelog.log.config import TOPIC_KEYS

pytestmark = pytest.mark.java

#: Differences on purpose: what a broker alone does not need to be told, and JVM class names.
DEFAULTS = {"node.id": "-1", "controller.listener.names": "", "process.roles": ""}


def dump(version: str, kind: str, tmp_path: Path) -> dict[str, tuple[str, str, str]]:
    libs = kafka_jars.broker_libs(version)
    source = Path(__file__).with_name("KeyDump.java")
    subprocess.run(["javac", "-nowarn", "-cp", f"{libs}/*", "-d", str(tmp_path), str(source)], check=True)
    command = ["java", "-cp", f"{tmp_path}:{libs}/*", "KeyDump", kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 3]
    assert len(rows) > 30
    return {name: (kind, default, mode) for name, kind, default, mode in rows}


def test_broker_keys(tmp_path):
    newest, oldest = dump(KAFKA_4, "broker", tmp_path), dump(KAFKA_3, "broker", tmp_path)
    known = keys.BROKER_KEYS.keys
    assert not (newest.keys() | oldest.keys()) - known.keys(), "a key of Kafka's is not declared"
    wrong = []
    for name, (kind, default, mode) in {**oldest, **newest}.items():
        key = known[name]
        ours = text_of(key, key.default)
        expected = DEFAULTS.get(name, None if default == "<null>" else default)
        if (key.type.name, ours, key.update.value) != (kind, expected, mode):
            wrong.append((name, (key.type.name, ours, key.update.value), (kind, expected, mode)))
    assert not wrong


def test_topic_keys(tmp_path):
    newest, oldest = dump(KAFKA_4, "topic", tmp_path), dump(KAFKA_3, "topic", tmp_path)
    assert not (newest.keys() | oldest.keys()) - TOPIC_KEYS.keys.keys()
    for name, (kind, default, _) in newest.items():
        key = TOPIC_KEYS.keys[name]
        assert (name, key.type.name, text_of(key, key.default)) == (
            name,
            kind,
            None if default == "<null>" else default,
        )
