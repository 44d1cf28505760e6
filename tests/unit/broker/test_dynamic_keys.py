"""Every key that is called dynamic changes something that can be seen, at once, and still after a restart.

The list is that of the declarations. Keys that the reference page marks as without effect belong to what is not built;
keys that give topics their defaults are looked up in a log's configuration; every other one has its probe here.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.loop import async_test, until
from tidelog.broker.config.definition import BROKER_KEYS
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.metadata.topic_configs import BROKER_SYNONYMS
from tidelog.broker.server import Broker
from tidelog.common.config import Type, Update
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.log.config import TOPIC_KEYS
from tidelog.net.node_client import NodeClient
from tidelog.protocol import messages as m

SET, DELETE = 0, 1
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"
TP = TopicPartition("t", 0)
DYNAMIC = {key.name: key for key in BROKER_KEYS if key.update is not Update.READ_ONLY}
IDLE = set(re.findall(r"### `([\w.]+)`\n\n\*No effect here\.\*", PAGE.read_text()))
#: Dynamic in name: what Apache Kafka takes only for listeners that are opened later is refused, or waits for them.
LISTENERS = {"listeners", "listener.security.protocol.map"}

Probe = Callable[[Broker], Any]
PROBES: dict[str, tuple[str, Probe]] = {
    "background.threads": ("5", lambda broker: broker.network.workers.executor._max_workers),
    "num.network.threads": ("4", lambda broker: broker.network.sendfile_threads.room),
    "num.recovery.threads.per.data.dir": ("3", lambda broker: broker.log_manager._threads),
    "producer.id.expiration.ms": ("5000", lambda broker: broker.log_manager.logs[TP].producers.expiration_ms),
    "log.cleaner.threads": ("2", lambda broker: len(broker.background.cleaners)),
    "log.cleaner.io.max.bytes.per.second": (
        "1000",
        lambda broker: broker.log_manager.cleaner.throttler.bytes_per_second,
    ),
    "log.cleaner.dedupe.buffer.size": ("5000000", lambda broker: broker.log_manager.cleaner.config.map_memory),
    "log.cleaner.io.buffer.size": ("100000", lambda broker: broker.log_manager.cleaner.config.read_buffer),
    "log.cleaner.io.buffer.load.factor": ("0.5", lambda broker: broker.log_manager.cleaner.config.load_factor),
    "log.cleaner.backoff.ms": ("7", lambda broker: broker.log_manager.cleaner.config.backoff_ms),
    "max.connections": ("77", lambda broker: broker.network.table.limits.max_connections),
    "max.connections.per.ip": ("77", lambda broker: broker.network.table.limits.max_connections_per_ip),
    "max.connections.per.ip.overrides": ("10.0.0.1:7", lambda b: dict(b.network.table.limits.per_ip_overrides)),
    "max.connection.creation.rate": ("77", lambda broker: broker.network.table.limits.creation_rate),
    "tidelog.log.level": ("DEBUG", lambda broker: logging.getLogger().level),
    "replica.alter.log.dirs.io.max.bytes.per.second": (
        "9",
        lambda b: b.config[BROKER_KEYS.keys["replica.alter.log.dirs.io.max.bytes.per.second"]],  # asked at each chunk
    ),
    "group.consumer.assignment.interval.ms": (
        "900",
        lambda broker: broker.coordinators.group_config.assignment_interval_of("g"),
    ),
    "transaction.partition.verification.enable": ("false", lambda b: b.log_manager.logs[TP].verifications.required),
    "cordoned.log.dirs": ("*", lambda broker: [broker.log_manager.is_cordoned(d) for d in broker.log_manager.dirs]),
}
#: Values that are neither the default nor what any value could be taken for.
OTHER = {
    "log.cleanup.policy": "compact",
    "log.message.timestamp.type": "LogAppendTime",
    "compression.type": "zstd",
    "log.segment.bytes": "2000000",
    "compression.gzip.level": "3",
    "compression.lz4.level": "3",
    "compression.zstd.level": "5",
    "log.cleaner.min.cleanable.ratio": "0.25",
}


def test_every_dynamic_key_has_its_probe():
    assert not PROBES.keys() - DYNAMIC.keys(), "these are not dynamic"
    assert DYNAMIC.keys() - IDLE - LISTENERS - BROKER_SYNONYMS == PROBES.keys()


def _value(name: str) -> str:
    if name in PROBES:
        return PROBES[name][0]
    if DYNAMIC[name].type is Type.BOOLEAN:
        return "false" if DYNAMIC[name].default else "true"
    return OTHER.get(name, "123456")


def _probe(name: str) -> Probe:
    if name in PROBES:
        return PROBES[name][1]
    field = next(key.name.replace(".", "_") for key in TOPIC_KEYS if name in key.synonyms)
    return lambda broker: getattr(broker.log_manager.logs[TP].config, field)


def values(path: Path) -> dict[str, str]:
    return {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": f"{path / 'a'},{path / 'b'}", "node.id": "1"}


async def alter(broker: Broker, name: str, value: str | None) -> Any:
    request = m.IncrementalAlterConfigsRequest
    config = request.AlterableConfig(name=name, config_operation=DELETE if value is None else SET, value=value)
    scope = "1" if DYNAMIC[name].update is Update.PER_BROKER else ""
    node = await NodeClient.connect("127.0.0.1", broker.endpoints[0].port)
    try:
        resource = request.AlterConfigsResource(resource_type=4, resource_name=scope, configs=[config])
        return (await node.send(request(resources=[resource]))).responses[0]
    finally:
        await node.close()


@pytest.fixture
def plain_root():
    """The root logger's level belongs to the whole process."""
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.INFO)
    yield
    logging.getLogger().setLevel(level)


@pytest.mark.parametrize("name", sorted(DYNAMIC.keys() - IDLE - LISTENERS))
def test_a_dynamic_key_is_in_force_at_once_and_after_a_restart(tmp_path, name, monkeypatch, plain_root):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    probe = _probe(name)

    @async_test
    async def run():
        async with Broker(values(tmp_path)) as broker:
            await broker.controller.create_topics([NewTopic("t", 1, 1)])
            before = probe(broker)
            answer = await alter(broker, name, _value(name))
            assert (answer.error_code, answer.error_message) == (0, None)
            await until(lambda: probe(broker) != before)
            after = probe(broker)
        async with Broker(values(tmp_path)) as broker:
            await until(lambda: probe(broker) == after)
            assert (await alter(broker, name, None)).error_code == 0
            if name != "log.cleaner.threads":  # one that is too many ends when it has waited
                assert probe(broker) == before

    run()


@async_test
async def test_listeners_stay_as_they_were_opened(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        assert (await alter(broker, "listeners", "PLAINTEXT://127.0.0.1:1")).error_code == ErrorCode.INVALID_REQUEST
        wider = "PLAINTEXT:PLAINTEXT,MORE:SSL"
        assert (await alter(broker, "listener.security.protocol.map", wider)).error_code == 0
        assert [endpoint.name for endpoint in broker.config.listeners] == ["PLAINTEXT"]


@async_test
async def test_a_surplus_cleaner_ends(tmp_path):
    async with Broker({**values(tmp_path), "log.cleaner.threads": "2", "log.cleaner.backoff.ms": "10"}) as broker:
        assert broker.background.cleaners == {0, 1}
        assert (await alter(broker, "log.cleaner.threads", "1")).error_code == 0
        await until(lambda: broker.background.cleaners == {0})
        assert (await alter(broker, "log.cleaner.threads", "2")).error_code == 0
        await until(lambda: broker.background.cleaners == {0, 1})
        assert broker.failure is None


# -- cordoned.log.dirs, as Apache Kafka 4.3 has it ---------------------------------------------------------------------


def _where(broker: Broker, topic: str) -> set[str]:
    return {log.dir.parent.name for tp, log in broker.log_manager.logs.items() if tp.topic == topic}


@async_test
async def test_a_cordoned_directory_gets_no_new_partitions(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        assert (await alter(broker, "cordoned.log.dirs", str(tmp_path / "a"))).error_code == 0
        await broker.controller.create_topics([NewTopic("beside", 4, 1)])
        assert _where(broker, "beside") == {"b"}
        request = m.AlterReplicaLogDirsRequest
        topic = request.AlterReplicaLogDirTopic(name="beside", partitions=[0])
        move = request(dirs=[request.AlterReplicaLogDir(path=str(tmp_path / "a"), topics=[topic])])
        node = await NodeClient.connect("127.0.0.1", broker.endpoints[0].port)
        moved = await node.send(move)
        dirs = await node.send(m.DescribeLogDirsRequest(topics=None))
        await node.close()
        assert moved.results[0].partitions[0].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert {Path(found.log_dir).name: found.is_cordoned for found in dirs.results} == {"a": True, "b": False}


@async_test
async def test_a_broker_that_is_cordoned_as_a_whole_takes_partitions_by_hand_only(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("grows", 1, 1)])
        assert (await alter(broker, "cordoned.log.dirs", "*")).error_code == 0
        refused = (await broker.controller.create_topics([NewTopic("t", 1, 1)]))[0]
        assert isinstance(refused, KafkaError)
        assert refused.code is ErrorCode.INVALID_REPLICATION_FACTOR
        assert "cordoned" in refused.message
        with pytest.raises(KafkaError, match="cordoned"):
            await broker.controller.create_partitions("grows", 2, None)
        by_hand = (await broker.controller.create_topics([NewTopic("hand", assignments={0: [1]})]))[0]
        assert not isinstance(by_hand, KafkaError)
        assert (await alter(broker, "cordoned.log.dirs", None)).error_code == 0
        assert not isinstance((await broker.controller.create_topics([NewTopic("t", 1, 1)]))[0], KafkaError)
