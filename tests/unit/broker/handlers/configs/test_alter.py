"""Configs change: refused with Kafka's codes, or in force at once."""

from __future__ import annotations

import logging

import pytest

from support.admin_requests import (
    APPEND,
    CONFIG_BROKER,
    CONFIG_GROUP,
    CONFIG_LOGGER,
    CONFIG_METRICS,
    CONFIG_TOPIC,
    DELETE,
    SET,
    SUBTRACT,
    alter,
    create,
    describe,
    value_of,
)
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller.config_changes import check_group_values
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol import messages as m


def test_a_topic_config_takes_effect_at_once(ask, broker):
    create(ask, "live")
    log = next(p.log for p in broker.server.replicas.partitions() if p.tp.topic == "live")
    assert (
        alter(ask, CONFIG_TOPIC, "live", ("retention.ms", SET, "5"), ("cleanup.policy", APPEND, "compact")).error_code
        == 0
    )
    assert (log.config.retention_ms, sorted(log.config.cleanup_policy)) == (5, ["compact", "delete"])
    assert (
        alter(
            ask, CONFIG_TOPIC, "live", ("cleanup.policy", SUBTRACT, "delete"), ("retention.ms", DELETE, None)
        ).error_code
        == 0
    )
    assert (log.config.retention_ms, sorted(log.config.cleanup_policy)) == (604_800_000, ["compact"])


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        (CONFIG_TOPIC, "none", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (CONFIG_TOPIC, "", ("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_TOPIC, "target", ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (CONFIG_TOPIC, "target", ("retention.ms", SET, "x"), ErrorCode.INVALID_CONFIG),
        (CONFIG_TOPIC, "target", ("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (CONFIG_TOPIC, "target", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (CONFIG_TOPIC, "target", ("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "7", ("log.retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "x", ("log.retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "1", ("num.partitions", SET, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "", ("listeners", SET, "PLAINTEXT://:1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "1", ("log.retention.ms", SET, "x"), ErrorCode.INVALID_REQUEST),
        (CONFIG_LOGGER, "1", ("no.such", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        (CONFIG_LOGGER, "1", ("root", SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        (CONFIG_LOGGER, "1", ("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        (CONFIG_GROUP, "g", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (CONFIG_GROUP, "", ("consumer.session.timeout.ms", SET, "50000"), ErrorCode.INVALID_REQUEST),
        (99, "x", ("a", SET, "b"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_changes_refused(ask, kind, name, change, code):
    create(ask, "target")
    answer = alter(ask, kind, name, change)
    assert answer.error_code == code
    assert answer.error_message


def test_broker_configs_layer_over_each_other_and_reach_the_logs(ask, broker):
    create(ask, "inherits")
    log = next(p.log for p in broker.server.replicas.partitions() if p.tp.topic == "inherits")
    try:
        assert alter(ask, CONFIG_BROKER, "", ("log.retention.ms", SET, "7000")).error_code == 0
        assert log.config.retention_ms == 7000
        assert alter(ask, CONFIG_BROKER, "1", ("log.retention.ms", SET, "8000")).error_code == 0
        assert log.config.retention_ms == 8000
        entry = value_of(describe(ask, CONFIG_BROKER, "1"), "log.retention.ms")
        assert (entry.value, entry.config_source, entry.read_only) == ("8000", 2, False)
        assert [(s.value, s.source) for s in entry.synonyms] == [("8000", 2), ("7000", 3), ("168", 5)]
        assert [e.name for e in describe(ask, CONFIG_BROKER, "").configs] == ["log.retention.ms"]
        topic = value_of(describe(ask, CONFIG_TOPIC, "inherits"), "retention.ms")
        assert (topic.value, topic.config_source) == ("8000", 2)
    finally:
        alter(ask, CONFIG_BROKER, "1", ("log.retention.ms", DELETE, None))
        alter(ask, CONFIG_BROKER, "", ("log.retention.ms", DELETE, None))
    assert log.config.retention_ms == 604_800_000


def test_levels_of_loggers_change_while_it_runs(ask):
    name = "tidelog.requests"
    assert alter(ask, CONFIG_LOGGER, "1", (name, SET, "DEBUG")).error_code == 0
    assert logging.getLogger(name).level == logging.DEBUG
    assert value_of(describe(ask, CONFIG_LOGGER, "1"), name).value == "DEBUG"
    assert alter(ask, CONFIG_LOGGER, "1", (name, DELETE, None)).error_code == 0
    assert logging.getLogger(name).level == logging.NOTSET


def test_the_old_alter_replaces_everything(ask):
    create(ask, "old-style", configs=[("retention.ms", "1"), ("segment.ms", "2")])
    resource = m.AlterConfigsRequest.AlterConfigsResource(
        resource_type=CONFIG_TOPIC,
        resource_name="old-style",
        configs=[m.AlterConfigsRequest.AlterableConfig(name="flush.ms", value="3")],
    )
    assert ask(m.AlterConfigsRequest(resources=[resource])).responses[0].error_code == 0
    set_now = {e.name: e.value for e in describe(ask, CONFIG_TOPIC, "old-style").configs if e.config_source == 1}
    assert set_now == {"flush.ms": "3"}
    twice = ask(m.AlterConfigsRequest(resources=[resource, resource])).responses
    assert [r.error_code for r in twice] == [ErrorCode.INVALID_REQUEST] * 2


def test_groups_and_client_metrics_have_configs_too(ask):
    assert alter(ask, CONFIG_GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")).error_code == 0
    entry = value_of(describe(ask, CONFIG_GROUP, "g"), "consumer.session.timeout.ms")
    assert (entry.value, entry.config_source) == ("50000", 8)
    assert alter(ask, CONFIG_METRICS, "m", ("interval.ms", SET, "1000")).error_code == 0
    assert value_of(describe(ask, CONFIG_METRICS, "m"), "interval.ms").value == "1000"
    listed = ask(m.ListConfigResourcesRequest(resource_types=[CONFIG_GROUP, CONFIG_METRICS]))
    assert [(r.resource_name, r.resource_type) for r in listed.config_resources] == [("g", 32), ("m", 16)]
    assert [r.resource_name for r in ask(m.ListConfigResourcesRequest(), 0).config_resources] == ["m"]


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ({"consumer.session.timeout.ms": "44999"}, "group.consumer.min.session.timeout.ms"),
        ({"consumer.session.timeout.ms": "60001"}, "group.consumer.max.session.timeout.ms"),
        ({"consumer.heartbeat.interval.ms": "4999"}, "group.consumer.min.heartbeat.interval.ms"),
        ({"consumer.heartbeat.interval.ms": "15001"}, "group.consumer.max.heartbeat.interval.ms"),
        ({"consumer.assignment.interval.ms": "15001"}, "group.consumer.max.assignment.interval.ms"),
        ({"share.record.lock.duration.ms": "14999"}, "group.share.min.record.lock.duration.ms"),
        ({"share.session.timeout.ms": "60001"}, "group.share.max.session.timeout.ms"),
        ({"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "15000"}, None),
        ({"consumer.session.timeout.ms": "60000", "consumer.assignment.interval.ms": "0"}, None),
        ({"share.record.lock.duration.ms": "15000"}, None),
    ],
)
def test_a_group_keeps_within_the_brokers_limits(ask, values, limit):
    """As Apache Kafka 4.3.1 answers."""
    answer = alter(
        ask, CONFIG_GROUP, "bounded", *((name, SET, value) for name, value in values.items()), validate_only=True
    )
    assert answer.error_code == (ErrorCode.INVALID_CONFIG if limit else ErrorCode.NONE)
    assert limit is None or f"than or equal to {limit} (" in answer.error_message


def test_a_groups_session_outlasts_its_heartbeat():
    config = BrokerConfig({"log.dirs": "unused", "group.consumer.min.session.timeout.ms": "1000"})
    check_group_values({"consumer.session.timeout.ms": "5001"}, config)
    with pytest.raises(KafkaError, match=r"greater than consumer\.heartbeat\.interval\.ms"):
        check_group_values({"consumer.session.timeout.ms": "5000"}, config)


def test_limits_of_one_listener_are_checked_and_take_effect(ask, broker):
    name = "listener.name.plaintext.max.connections"
    for wrong in ("-5", "many"):
        assert alter(ask, CONFIG_BROKER, "1", (name, SET, wrong)).error_code == ErrorCode.INVALID_REQUEST
    assert alter(ask, CONFIG_BROKER, "1", (name, SET, "777")).error_code == 0
    assert broker.server.network.table.limits.of("PLAINTEXT").max_connections == 777
    assert alter(ask, CONFIG_BROKER, "1", (name, DELETE, None)).error_code == 0
    assert broker.server.network.table.limits.of("PLAINTEXT").max_connections == (1 << 31) - 1
