"""Stored configs: nothing is stored that cannot hold, and a start with something that cannot warns and serves."""

from __future__ import annotations

import json

import pytest

from support.loop import async_test
from tidelog.broker import config as keys
from tidelog.broker.controller.config_changes import Change, plan_broker_config, plan_topic_config
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.net.node_client import NodeClient
from tidelog.protocol import messages as m

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
#: What can be written for brokers and cannot hold: (for which broker, keys).
CONTRADICTIONS = {
    "overrides": ("", {"max.connections.per.ip.overrides": "garbage"}),
    "overrides without a number": ("1", {"max.connections.per.ip.overrides": "127.0.0.1:many"}),
    "no protocol for a listener": ("1", {"listener.security.protocol.map": "EXTERNAL:PLAINTEXT"}),
    "another protocol for a listener": ("1", {"listener.security.protocol.map": "PLAINTEXT:SSL"}),
    "lags": ("", {"log.cleaner.min.compaction.lag.ms": "200", "log.cleaner.max.compaction.lag.ms": "100"}),
    "cordoned elsewhere": ("1", {"cordoned.log.dirs": "/nowhere"}),
    "cordoned all and one": ("1", {"cordoned.log.dirs": "*,/nowhere"}),
}


def values(path):
    return {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(path), "node.id": "1"}


async def alter(broker, kind, name, changes):
    request = m.IncrementalAlterConfigsRequest
    configs = [
        request.AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
        for key, value in changes.items()
    ]
    resource = request.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    node = await NodeClient.connect("127.0.0.1", broker.endpoints[0].port)
    try:
        return (await node.send(request(resources=[resource]))).responses[0]
    finally:
        await node.close()


async def store(broker, path, configs):
    """As an earlier version wrote it, unchecked."""
    data = json.dumps({"version": 1, "config": configs}).encode()
    if await broker.store.exists(path) is None:
        await broker.store.create(path, data)
    else:
        await broker.store.set(path, data)


@pytest.mark.parametrize(("name", "changes"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
@async_test
async def test_what_cannot_hold_is_refused_and_not_stored(tmp_path, name, changes):
    async with Broker(values(tmp_path)) as broker:
        answer = await alter(broker, BROKER, name, changes)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert answer.error_message
        assert await broker.store.exists(f"/config/brokers/{name or '<default>'}") is None
        assert (await alter(broker, BROKER, name, {"log.retention.ms": "5000"})).error_code == 0
    async with Broker(values(tmp_path)) as broker:
        assert broker.config.retention_ms == 5000


@pytest.mark.parametrize(("name", "changes"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
@async_test
async def test_a_start_warns_of_what_cannot_hold_and_serves(tmp_path, name, changes, caplog):
    async with Broker(values(tmp_path)) as broker:
        await store(broker, f"/config/brokers/{name or '<default>'}", {"log.retention.ms": "5000", **changes})
    async with Broker(values(tmp_path)) as broker:
        assert broker.config.retention_ms == 5000, "the others hold"
        ignored = dict(broker.config.ignored)
        assert ignored.items() <= changes.items()
        assert ignored
        for key, value in ignored.items():
            assert any(
                record.levelname == "WARNING" and (key in record.message or value in record.message)
                for record in caplog.records
            )
        # The next change is not refused for it, and takes it out of the store.
        assert (await alter(broker, BROKER, name, {"log.retention.ms": "6000"})).error_code == 0
    caplog.clear()
    async with Broker(values(tmp_path)) as broker:
        assert broker.config.retention_ms == 6000
        assert not broker.config.ignored
        assert "ignored" not in caplog.text


@async_test
async def test_a_default_that_contradicts_a_topic_is_refused(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("t", 1, 1, configs={"min.compaction.lag.ms": "100000"})])
        answer = await alter(broker, BROKER, "", {"log.cleaner.max.compaction.lag.ms": "50000"})
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert "Topic t" in answer.error_message
        assert (await alter(broker, BROKER, "", {"log.cleaner.max.compaction.lag.ms": "150000"})).error_code == 0
        assert (await alter(broker, TOPIC, "t", {"min.compaction.lag.ms": "200000"})).error_code != 0
    async with Broker(values(tmp_path)) as broker:
        assert broker.configs.log_config("t").min_compaction_lag_ms == 100000


@async_test
async def test_a_topics_stored_contradictions_are_named_and_it_is_served(tmp_path, caplog):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("t", 1, 1), NewTopic("u", 1, 1)])
        await store(broker, "/config/topics/t", {"min.compaction.lag.ms": "100000", "segment.bytes": "soon"})
        await store(broker, "/config/brokers/<default>", {"log.cleaner.max.compaction.lag.ms": "50000"})
    async with Broker(values(tmp_path)) as broker:
        config = broker.replicas.partition(TopicPartition("t", 0)).log.config
        assert (config.min_compaction_lag_ms, config.segment_bytes) == (100000, 1 << 30)
        assert config.max_compaction_lag_ms > 100000, "what was to stay is not compacted away earlier"
        assert broker.configs.log_config("u").max_compaction_lag_ms == 50000
        assert "stored config of topic t is ignored: Invalid value soon for configuration segment.bytes" in caplog.text
        assert "max.compaction.lag.ms of topic t is ignored" in caplog.text
        resource = m.DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=TOPIC, resource_name="t", configuration_keys=None
        )
        node = await NodeClient.connect("127.0.0.1", broker.endpoints[0].port)
        described = (await node.send(m.DescribeConfigsRequest(resources=[resource]))).results[0]
        await node.close()
        shown = {entry.name: entry.value for entry in described.configs}
        assert shown["segment.bytes"] == str(1 << 30)


def test_a_change_drops_what_cannot_be_and_keeps_what_is_not_known():
    stored = {"segment.bytes": "soon", "of.another.kafka": "1", "retention.ms": "5"}
    planned = plan_topic_config(stored, [Change("flush.ms", SET, "7")], replace=False, defaults={})
    assert planned == {"of.another.kafka": "1", "retention.ms": "5", "flush.ms": "7"}


def test_a_broker_plan_is_checked_beside_the_other_layer(tmp_path):
    broker = Broker(values(tmp_path))
    broker.config.apply_dynamic({"log.cleaner.min.compaction.lag.ms": "200"}, {})
    change = Change("log.cleaner.max.compaction.lag.ms", SET, "100")
    with pytest.raises(KafkaError, match=r"max\.compaction\.lag\.ms"):
        plan_broker_config({}, [change], replace=False, config=broker.config, topics=broker.configs, per_broker=False)
    assert broker.config[keys.LOG_CLEANER_MAX_COMPACTION_LAG_MS] > 200
