"""Several administrators at once, the same requests to Tidelog and to Apache Kafka: both do what the model allows."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from support.admin_model import CLIENTS, KEYS, NAMES, Topics, code_of, possible, request_of
from support.kafka import KAFKA_4, KafkaBroker
from tidelog.net.node_client import NodeClient
from tidelog.protocol import messages as m
from tidelog.testing import Broker

pytestmark = pytest.mark.java
ROUNDS = 25
PATIENCE_SECONDS = 60


def rounds() -> list[list[tuple[str, str, Any]]]:
    rng = random.Random(14)  # the same requests each time
    details = {
        "create": lambda: rng.randint(1, 3),
        "delete": lambda: 0,
        "grow": lambda: rng.randint(1, 5),
        "set": lambda: rng.choice(KEYS),
        "unset": lambda: rng.choice(KEYS),
    }

    def action() -> tuple[str, str, Any]:
        kind = rng.choice(list(details))
        return kind, rng.choice(NAMES), details[kind]()

    return [[action() for _ in range(CLIENTS)] for _ in range(ROUNDS)]


async def seen(node: NodeClient) -> Topics:
    """The topics as a client is told of them."""
    Topic = m.MetadataRequest.MetadataRequestTopic
    asked = m.MetadataRequest(topics=[Topic(name=name) for name in NAMES], allow_auto_topic_creation=False)
    found: Topics = {}
    for topic in (await node.send(asked)).topics:
        if not topic.error_code:
            resource = m.DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=2, resource_name=topic.name, configuration_keys=None
            )
            described = (await node.send(m.DescribeConfigsRequest(resources=[resource]))).results[0]
            own = {entry.name: entry.value for entry in described.configs if entry.config_source == 1}
            found[topic.name] = (len(topic.partitions), own)
    return found


async def drive(port: int) -> Topics:
    nodes = [await NodeClient.connect("127.0.0.1", port) for _ in range(CLIENTS)]
    topics: Topics = {}
    clock = asyncio.get_running_loop().time
    for chosen in rounds():
        answers = await asyncio.gather(
            *(node.send(request_of(action)) for node, action in zip(nodes, chosen, strict=True))
        )
        codes = [code_of(action[0], answer) for action, answer in zip(chosen, answers, strict=True)]
        ends = possible(topics, chosen, codes)
        assert ends, f"{chosen} cannot be answered {codes} from {topics}"
        deadline = clock() + PATIENCE_SECONDS
        while (now := await seen(nodes[0])) not in ends:  # Kafka's broker follows its controller
            assert clock() < deadline, f"{now} is none of {ends}"
            await asyncio.sleep(0.05)
        topics = now
    for node in nodes:
        await node.close()
    return topics


def test_tidelog(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        asyncio.run(drive(broker.port))


def test_kafka(tmp_path: Path) -> None:
    with KafkaBroker(KAFKA_4, tmp_path) as kafka:
        asyncio.run(drive(kafka.port))
