"""Our consumers in groups of Apache Kafka 3.9 and 4.3, across a restart of the broker that coordinates them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from support.confluent import produce
from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker, require_java
from tidelog.client.consumer.blocking import Consumer

pytestmark = pytest.mark.java

CLASSIC = {"heartbeat_interval_ms": 200, "session_timeout_ms": 20_000}
KINDS = [
    (KAFKA_3, {"partition_assignment_strategy": "range", **CLASSIC}),
    (KAFKA_3, {"partition_assignment_strategy": "cooperative-sticky", **CLASSIC}),
    (KAFKA_4, {"partition_assignment_strategy": "sticky", **CLASSIC}),
    (KAFKA_4, {"partition_assignment_strategy": "cooperative-sticky", "group_instance_id": "static", **CLASSIC}),
    (KAFKA_4, {"group_protocol": "consumer"}),
]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], KafkaBroker]]:
    """One broker of each version, started when it is wanted."""
    require_java()
    started: dict[str, KafkaBroker] = {}

    def broker(version: str) -> KafkaBroker:
        if version not in started:
            started[version] = KafkaBroker(version, tmp_path_factory.mktemp("kafka"))
            started[version].start()
        return started[version]

    yield broker
    for one in started.values():
        one.close()


def poll_until(consumers: list[Consumer], seen: list[bytes], done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not done():
        assert time.monotonic() < deadline, [consumer.health() for consumer in consumers]
        for consumer in consumers:
            seen += [bytes(record.value) for record in consumer.poll(0.05)]


@pytest.mark.parametrize(("version", "settings"), KINDS)
def test_a_group_outlives_a_restart_of_its_coordinator(
    brokers: Callable[[str], KafkaBroker], version: str, settings: dict[str, object], request: pytest.FixtureRequest
) -> None:
    kafka = brokers(version)
    topic = "".join(char if char.isalnum() else "-" for char in request.node.name)
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.create_topics([NewTopic(topic, 4, 1)])[topic].result(60)
    static = settings.get("group_instance_id")
    both = [
        Consumer(
            bootstrap_servers=kafka.address,
            group_id=topic,
            auto_offset_reset="earliest",
            **{**settings, **({"group_instance_id": f"{static}-{index}"} if static else {})},
        )
        for index in range(2)
    ]
    for consumer in both:
        consumer.subscribe([topic])
    seen: list[bytes] = []
    before, after = [b"%d" % n for n in range(100)], [b"late-%d" % n for n in range(100)]
    poll_until(both, seen, lambda: all(len(consumer.assignment()) == 2 for consumer in both))
    produce(kafka.address, topic, before)
    poll_until(both, seen, lambda: len(seen) >= 100)
    for consumer in both:
        consumer.commit()
    kafka.stop()
    kafka.start()
    produce(kafka.address, topic, after)
    poll_until(both, seen, lambda: len(seen) >= 200)
    for consumer in both:
        consumer.close()
    assert sorted(seen) == sorted(before + after)
