"""A stopped Apache Kafka's directory, served: its topics, records, groups, configs and ids are there."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import NewTopic

from support.confluent import alter, configs, consume, create, produce
from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker
from tidelog.testing import Broker

pytestmark = pytest.mark.java

RECORDS = 200


@pytest.mark.parametrize(
    ("version", "mode"), [(KAFKA_4, "kraft"), (KAFKA_3, "kraft"), (KAFKA_3, "zookeeper")], ids=lambda value: str(value)
)
def test_a_stopped_kafka_is_served_and_can_go_back(tmp_path, version, mode):
    values = [f"v{i}".encode() for i in range(RECORDS)]
    kafka = KafkaBroker(version, tmp_path / "kafka", mode=mode, properties={"offsets.topic.num.partitions": "3"})
    try:
        kafka.start()
        settings = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
        create(kafka.address, NewTopic("plain", 3, 1), NewTopic("kept", 1, 1, config=settings))
        produce(kafka.address, "plain", values)
        produce(kafka.address, "kept", values[:10], **{"transactional.id": "tx", "compression.type": "lz4"})
        assert sorted(consume(kafka.address, "plain", 50, "readers"))
        kafka.stop()
        names = {path.name for path in kafka.data.iterdir()}

        with Broker(kafka.data) as tidelog:
            server = tidelog.server
            assert server.metadata.cluster_id == tidelog.server.metadata.cluster_id != ""
            assert {"plain", "kept", "__consumer_offsets", "__transaction_state"} <= set(server.metadata.topics)
            assert sorted(consume(tidelog.address, "plain", RECORDS)) == sorted(values)
            assert consume(tidelog.address, "kept", 10) == values[:10]
            # The group goes on where it had committed.
            assert len(consume(tidelog.address, "plain", RECORDS - 50, "readers")) == RECORDS - 50
            assert configs(tidelog.address, "kept") == (settings if mode == "kraft" else {})
            guarded = [name for name in ("plain", "kept") if server.configs.is_guarded(name)]
            assert guarded == ([] if mode == "kraft" else ["plain", "kept"])
            for name in guarded:
                config = server.configs.log_config(name)
                assert (config.retention_ms, config.retention_bytes, config.compact) == (-1, -1, False)
            seen = max(max(log.producers.entries, default=-1) for log in server.log_manager.logs.values())
            assert tidelog.call(server.producer_ids.next()) > seen
            produce(tidelog.address, "plain", [b"ours"])
            if guarded:
                alter(tidelog.address, "kept", cleanup_policy="compact")
                assert not server.configs.is_guarded("kept")
                tidelog.restart()
                assert tidelog.server.configs.log_config("kept").compact
                assert tidelog.server.configs.is_guarded("plain")
        assert names <= {path.name for path in kafka.data.iterdir()}, "nothing was removed"

        kafka.start()
        assert sorted(consume(kafka.address, "plain", RECORDS + 1)) == sorted([*values, b"ours"])
    finally:
        kafka.close()
