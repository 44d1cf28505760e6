"""Broker keys: declared completely, a `server.properties` taken as it is, mistakes explained, layers in order."""

from __future__ import annotations

import pytest

from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.config.endpoints import Endpoint
from tidelog.broker.network.server import limits_from
from tidelog.common.config import ConfigError, Type
from tidelog.common.properties import parse_properties
from tidelog.log.config import TOPIC_KEYS

KRAFT = """
process.roles=broker,controller
node.id=3
controller.quorum.voters=3@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
num.network.threads=3
log.dirs=/var/a,/var/b
log.retention.hours=24
"""
ZOOKEEPER = """
broker.id=0
zookeeper.connect=localhost:2181
zookeeper.connection.timeout.ms=18000
log.dirs=/tmp/kafka-logs
group.initial.rebalance.delay.ms=0
log.message.format.version=2.8
inter.broker.protocol.version=3.9-IV0
listener.name.internal.ssl.keystore.location=/x
"""


def test_a_kraft_file_is_understood():
    config = BrokerConfig(parse_properties(KRAFT))
    assert config.unknown == ()
    assert config.node_id == 3
    assert config.listeners == [Endpoint("PLAINTEXT", "PLAINTEXT", "", 9092)], "controller listeners are not opened"
    assert config.advertised == [Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)]
    assert config.log_dirs == ["/var/a", "/var/b"]
    assert config.retention_ms == 24 * 3_600_000


def test_a_zookeeper_file_is_understood():
    config = BrokerConfig(parse_properties(ZOOKEEPER))
    assert config.unknown == ()
    assert config.node_id == 0
    assert config[keys.ZOOKEEPER_CONNECT] == "localhost:2181"


def test_every_key_has_a_sentence_and_a_default_that_its_own_rules_allow():
    for key in keys.BROKER_KEYS:
        assert key.doc.rstrip().endswith((".", ".)")), key.name
        if key.default is not None and key.type is not Type.PASSWORD:
            text = ",".join(key.default) if key.type is Type.LIST else str(key.default)
            assert key.parse(text) == key.default or key.name == "node.id", key.name


def test_every_synonym_of_a_topic_key_is_a_broker_key():
    for key in TOPIC_KEYS:
        for name in key.synonyms:
            assert name in keys.BROKER_KEYS, f"{key.name} ← {name}"


def test_unknown_keys_are_named_and_prefixed_ones_are_not():
    config = BrokerConfig({"foo.bar": "1", "listener.name.x.ssl.key": "2", "num.partitions": "4", "baz": ""})
    assert config.unknown == ("foo.bar", "baz")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"num.partitions": "0"}, "at least 1"),
        ({"num.partitions": "many"}, "Not a number of type INT"),
        ({"log.cleanup.policy": "shred"}, "compact, delete"),
        ({"listeners": "9092"}, "Expected NAME://host:port"),
        ({"listeners": "FOO://:9092"}, "No security protocol is defined for FOO"),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "given twice"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "non-routable"),
        ({"inter.broker.listener.name": "SSL"}, "one of the listeners: PLAINTEXT"),
        ({"listener.security.protocol.map": "A:TLS"}, "PLAINTEXT, SSL"),
        ({"node.id": "1", "broker.id": "2"}, "must equal broker.id"),
        ({"compression.gzip.level": "0"}, "between 1 and 9"),
        ({"auto.create.topics.enable": "yes"}, "true or false"),
        ({"inter.broker.protocol.version": "2.8-IV7"}, "one of Apache Kafka's"),
        ({"inter.broker.protocol.version": "0.10.2"}, r"version 0\.11\.0 or higher"),
        ({"inter.broker.protocol.version": "0.9.0", "log.message.format.version": "0.10.2"}, r"version 0\.10\.0 or"),
    ],
)
def test_wrong_values_say_what_is_allowed(values, says):
    with pytest.raises(ConfigError, match=says):
        BrokerConfig(values)


def test_dynamic_layers_override_in_order_and_tell_what_changed():
    config = BrokerConfig({"log.retention.ms": "1000", "num.partitions": "7"})
    seen: list[frozenset[str]] = []
    config.on_change(seen.append)
    assert config.apply_dynamic({}, {"log.retention.ms": "2000"}) == {"log.retention.ms"}
    assert config.retention_ms == 2000
    config.apply_dynamic({"log.retention.ms": "3000"}, {"log.retention.ms": "2000"})
    assert config.retention_ms == 3000
    config.apply_dynamic({}, {})
    assert config.retention_ms == 1000
    assert config.apply_dynamic({}, {}) == frozenset()
    assert seen == [{"log.retention.ms"}] * 3


def test_a_stored_value_that_cannot_be_is_left_out():
    config = BrokerConfig({})
    config.apply_dynamic({"log.retention.ms": "soon", "num.partitions": "9"}, {})
    assert config.retention_ms == 168 * 3_600_000
    assert config[keys.NUM_PARTITIONS] == 1, "a key that is not dynamic cannot be set dynamically"


@pytest.mark.parametrize(
    ("values", "ms"),
    [
        ({}, 168 * 3_600_000),
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"}, 3),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_the_finest_unit_of_retention_wins(values, ms):
    assert BrokerConfig(values).retention_ms == ms


def test_ipv6_listeners():
    config = BrokerConfig({"listeners": "PLAINTEXT://[::1]:9092"})
    assert str(config.listeners[0]) == "PLAINTEXT://[::1]:9092"
    assert config.listeners[0].host == "::1"


LISTENERS = {
    "listeners": "CLIENTS://:9092,BROKERS://:9094",
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT",
    "inter.broker.listener.name": "BROKERS",
}


def test_limits_of_one_listener_and_of_all():
    config = BrokerConfig({**LISTENERS, "max.connections": "10", "listener.name.clients.max.connections": "4"})
    limits = limits_from(config)
    assert (limits.max_connections, limits.protected) == (10, "BROKERS")
    assert (limits.of("CLIENTS").max_connections, limits.of("BROKERS").max_connections) == (4, 10)
    seen: list[frozenset[str]] = []
    config.on_change(seen.append)
    config.apply_dynamic(
        {"listener.name.clients.max.connections": "6", "listener.name.brokers.max.connection.creation.rate": "9"}, {}
    )
    changed = {"listener.name.clients.max.connections", "listener.name.brokers.max.connection.creation.rate"}
    assert seen == [changed]
    assert limits_from(config).of("CLIENTS").max_connections == 6
    assert limits_from(config).of("BROKERS").creation_rate == 9
    config.apply_dynamic({"listener.name.clients.max.connections": "many"}, {})
    assert limits_from(config).of("CLIENTS").max_connections == 4, "a stored value that cannot be is left out"


def test_a_single_listener_is_not_protected():
    assert limits_from(BrokerConfig({})).protected is None


def test_a_wrong_limit_of_a_listener_is_explained():
    with pytest.raises(ConfigError, match=r"-1 for configuration listener.name.clients.max.connections: .*at least 0"):
        BrokerConfig({**LISTENERS, "listener.name.clients.max.connections": "-1"})
