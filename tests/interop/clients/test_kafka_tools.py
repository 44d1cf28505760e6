"""Apache Kafka's own command-line tools, of 3.9 and 4.x, and kcat."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.kafka import KAFKA_3, KAFKA_4, java_tool

pytestmark = pytest.mark.java
TOOLS = "org.apache.kafka.tools."
CONSOLE_PRODUCER = {KAFKA_3: "kafka.tools.ConsoleProducer", KAFKA_4: TOOLS + "ConsoleProducer"}
CONFIG_COMMAND = {KAFKA_3: "kafka.admin.ConfigCommand", KAFKA_4: "kafka.admin.ConfigCommand"}


@pytest.fixture(params=[KAFKA_3, KAFKA_4])
def tool(request: pytest.FixtureRequest, server: Any, tmp_path: Path) -> Callable[..., str]:
    """`tool("TopicCommand", "--list")` runs a tool of one version against the broker."""

    def run(main: str, *arguments: str, **options: Any) -> str:
        main = {"ConsoleProducer": CONSOLE_PRODUCER, "ConfigCommand": CONFIG_COMMAND}.get(main, {}).get(
            request.param, main if main.startswith(("org.", "kafka.")) else TOOLS + main
        )
        bootstrap = ("--bootstrap-server", server.address)
        return java_tool(request.param, tmp_path / "conf", main, *bootstrap, *arguments, **options).stdout

    return run


def test_topic_command(tool: Callable[..., str], topic: Callable[[], str]) -> None:
    name = topic()
    tool("TopicCommand", "--create", "--topic", name, "--partitions", "3", "--config", "retention.ms=1000000")
    described = tool("TopicCommand", "--describe", "--topic", name)
    assert re.search(r"PartitionCount: ?3", described)
    assert "retention.ms=1000000" in described
    assert described.count("Isr: ") == 3
    tool("TopicCommand", "--alter", "--topic", name, "--partitions", "5")
    assert re.search(r"PartitionCount: ?5", tool("TopicCommand", "--describe", "--topic", name))
    assert name in tool("TopicCommand", "--list").split()
    tool("TopicCommand", "--delete", "--topic", name)
    assert name not in tool("TopicCommand", "--list").split()


def test_console_producer_and_consumer(tool: Callable[..., str], topic: Callable[[], str]) -> None:
    name = topic()
    tool("TopicCommand", "--create", "--topic", name)
    lines = [f"key{n}:value {n}" for n in range(50)]
    properties = ("--property", "parse.key=true", "--property", "key.separator=:")
    tool("ConsoleProducer", "--topic", name, *properties, input="\n".join(lines) + "\n")
    show = ("--property", "print.key=true", "--property", "key.separator=:", "--property", "print.offset=true")
    limits = ("--partition", "0", "--offset", "earliest", "--max-messages", "50", "--timeout-ms", "120000")
    printed = tool("consumer.ConsoleConsumer", "--topic", name, *limits, *show)
    shown = [line for line in printed.splitlines() if line.startswith("Offset:")]
    assert shown == [f"Offset:{n}:{line}" for n, line in enumerate(lines)]


def test_get_offsets_and_delete_records(tool: Callable[..., str], topic: Callable[[], str], tmp_path: Path) -> None:
    name = topic()
    tool("TopicCommand", "--create", "--topic", name)
    tool("ConsoleProducer", "--topic", name, input="a\nb\nc\nd\n")
    assert tool("GetOffsetShell", "--topic", name).strip() == f"{name}:0:4"
    wanted = tmp_path / "delete.json"
    wanted.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": 3}]}))
    assert "low_watermark: 3" in tool("DeleteRecordsCommand", "--offset-json-file", str(wanted))
    assert tool("GetOffsetShell", "--topic", name, "--time", "-2").strip() == f"{name}:0:3"


def test_config_command(tool: Callable[..., str], topic: Callable[[], str]) -> None:
    name = topic()
    tool("TopicCommand", "--create", "--topic", name)
    entity = ("--entity-type", "topics", "--entity-name", name)
    tool("ConfigCommand", "--alter", *entity, "--add-config", "segment.bytes=2097152,retention.ms=5000")
    described = tool("ConfigCommand", "--describe", *entity)
    assert "segment.bytes=2097152" in described
    assert "retention.ms=5000" in described
    tool("ConfigCommand", "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms=5000" not in tool("ConfigCommand", "--describe", *entity)
    brokers = ("--entity-type", "brokers", "--entity-default")
    tool("ConfigCommand", "--alter", *brokers, "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in tool("ConfigCommand", "--describe", *brokers)


def test_log_dirs(tool: Callable[..., str], topic: Callable[[], str]) -> None:
    name = topic()
    tool("TopicCommand", "--create", "--topic", name)
    tool("ConsoleProducer", "--topic", name, input="a\n")
    answer = tool("LogDirsCommand", "--describe", "--topic-list", name)
    described = json.loads(next(line for line in answer.splitlines() if line.startswith("{")))
    (replica,) = described["brokers"][0]["logDirs"][0]["partitions"]
    assert replica["partition"] == f"{name}-0"
    assert replica["size"] > 60


def test_performance_tools(server: Any, tool: Callable[..., str], topic: Callable[[], str], tmp_path: Path) -> None:
    name = topic()
    tool("TopicCommand", "--create", "--topic", name)
    arguments = ["--topic", name, "--num-records", "50000", "--record-size", "100", "--throughput", "-1"]
    arguments += ["--producer-props", f"bootstrap.servers={server.address}", "acks=all", "compression.type=lz4"]
    said = java_tool(KAFKA_3, tmp_path / "conf", TOOLS + "ProducerPerformance", *arguments).stdout
    assert "50000 records sent" in said
    said = tool("ConsumerPerformance", "--topic", name, "--messages", "50000", "--timeout", "120000")
    assert re.search(r", 50\d\d\d, ", said), said


def test_kcat(server: Any, topic: Callable[[], str]) -> None:
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed: apt-get install kcat")
    name = topic()
    kcat = ["kcat", "-b", server.address]
    lines = "".join(f"k{n}:v{n}\n" for n in range(100))
    produce = [*kcat, "-P", "-t", name, "-K", ":", "-z", "snappy"]
    subprocess.run(produce, input=lines, text=True, check=True, timeout=120)
    done = subprocess.run(
        [*kcat, "-C", "-t", name, "-K", ":", "-o", "beginning", "-e", "-q"], capture_output=True, text=True, timeout=120
    )
    assert sorted(done.stdout.splitlines()) == sorted(lines.splitlines())
    assert f'topic "{name}"' in subprocess.run([*kcat, "-L"], capture_output=True, text=True, timeout=120).stdout
