"""Kafka's own administration tools against Tidelog: users, quotas, quorum, features, elections, moves of replicas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.kafka import KAFKA_4, java_tool
from support.patience import eventually
from tidelog.testing import Broker

pytestmark = pytest.mark.java
TOOLS = "org.apache.kafka.tools."


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    dirs = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    with Broker(dirs[0], config={"log.dirs": ",".join(map(str, dirs))}) as broker:
        yield broker


@pytest.fixture
def tool(broker: Broker, tmp_path: Path) -> Callable[..., str]:
    def run(main: str, *arguments: str, check: bool = True) -> str:
        server = ("--bootstrap-server", broker.address)
        done = java_tool(KAFKA_4, tmp_path / "conf", main, *server, *arguments, check=check)
        return done.stdout + done.stderr

    return run


def test_users_and_quotas(tool):
    user = ("--entity-type", "users", "--entity-name", "alice")
    for change in ("SCRAM-SHA-256=[iterations=8192,password=secret]", "producer_byte_rate=1024"):
        assert "Completed" in tool("kafka.admin.ConfigCommand", "--alter", *user, "--add-config", change)
    shown = tool("kafka.admin.ConfigCommand", "--describe", *user)
    assert "producer_byte_rate=1024.0" in shown
    assert "SCRAM-SHA-256=iterations=8192" in shown
    tool("kafka.admin.ConfigCommand", "--alter", *user, "--delete-config", "producer_byte_rate")
    assert "producer_byte_rate" not in tool("kafka.admin.ConfigCommand", "--describe", *user)


def test_quorum_features_and_cluster(tool, broker):
    assert "LeaderId:               1" in tool(TOOLS + "MetadataQuorumCommand", "describe", "--status")
    assert "transaction.version" in tool(TOOLS + "FeatureCommand", "describe")
    refused = tool(TOOLS + "FeatureCommand", "upgrade", "--feature", "transaction.version=1", check=False)
    assert "Could not" in refused
    tool(TOOLS + "LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")


def test_a_replica_is_moved_with_a_throttle(tool, broker, tmp_path):
    broker.create_topic("moves", 1)
    here = Path(broker.server.log_manager.logs[next(iter(broker.server.replicas.hosted("moves")))].dir).parent
    other = next(d.path for d in broker.server.log_manager.dirs if d.path != here)
    plan = {"topic": "moves", "partition": 0, "replicas": [1], "log_dirs": [str(other)]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"version": 1, "partitions": [plan]}))
    command = (TOOLS + "reassign.ReassignPartitionsCommand", "--reassignment-json-file", str(file))
    started = tool(*command, "--execute", "--throttle", "100000000", "--replica-alter-log-dirs-throttle", "100000000")
    assert "Successfully started moving log directory" in started
    eventually(lambda: not broker.server.log_manager.future)
    verified = tool(*command, "--verify")
    assert "completed" in verified
    assert "Clearing broker-level throttles" in verified
    assert not broker.server.config.dynamic_broker


def test_levels_of_loggers(tool):
    logger = ("--entity-type", "broker-loggers", "--entity-name", "1")
    tool("kafka.admin.ConfigCommand", "--alter", *logger, "--add-config", "tidelog.requests=DEBUG")
    assert "tidelog.requests=DEBUG" in tool("kafka.admin.ConfigCommand", "--describe", *logger)
    tool("kafka.admin.ConfigCommand", "--alter", *logger, "--delete-config", "tidelog.requests")
