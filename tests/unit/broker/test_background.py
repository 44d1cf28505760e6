"""The loops of a running broker: retention, flushing, checkpoints, expiry, cleaning, each at its own interval."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from support.patience import eventually
from support.produced import batches_of
from tidelog.common.types import TopicPartition
from tidelog.log.checkpoint import read_offsets
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.testing import Broker

QUICK = "50"
CONFIG = {
    "log.initial.task.delay.ms": "0",
    "log.retention.check.interval.ms": QUICK,
    "log.flush.scheduler.interval.ms": QUICK,
    "log.flush.interval.ms": "3600000",
    "log.flush.offset.checkpoint.interval.ms": QUICK,
    "replica.high.watermark.checkpoint.interval.ms": QUICK,
    "producer.id.expiration.check.interval.ms": QUICK,
    "log.cleaner.backoff.ms": QUICK,
    "log.cleaner.dedupe.buffer.size": "1048576",
}
SMALL = {"internal.segment.bytes": "1000", "file.delete.delay.ms": "0"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path, config=CONFIG) as broker:
        yield broker


def log_of(broker: Broker, topic: str) -> PartitionLog:
    log = broker.server.log_manager.get(TopicPartition(topic, 0))
    assert log is not None
    return log


def produce(broker: Broker, topic: str, records: int, **settings: object) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 0, **settings})
    for number in range(records):
        producer.produce(topic, b"x" * 300, key=b"%d" % (number % 2), partition=0)
        producer.flush(30)


def alter(broker: Broker, kind: ResourceType, name: str, **values: str) -> None:
    entries = [
        ConfigEntry(key.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for key, value in values.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": broker.address})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def test_retention_deletes_what_a_changed_topic_lets_go(broker: Broker) -> None:
    broker.create_topic("t", config=SMALL)
    produce(broker, "t", 12)
    log = log_of(broker, "t")
    assert len(log.segments) > 2
    alter(broker, ResourceType.TOPIC, "t", retention_bytes="1500")
    eventually(lambda: log.size <= 2500 and log.log_start_offset > 0)  # the loop may be in the middle of it
    gone = log.log_start_offset
    alter(broker, ResourceType.TOPIC, "t", retention_bytes="-1", retention_ms="1")
    eventually(lambda: log.log_start_offset == log.log_end_offset == 12)
    assert log.log_start_offset > gone
    eventually(lambda: not list(log.dir.glob("*.deleted")))


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [(ResourceType.BROKER, "1", "log_flush_interval_ms"), (ResourceType.TOPIC, "t", "flush_ms")],
    ids=["of the broker", "of a topic"],
)
def test_flushing_by_time_follows_a_change_of_its_interval(
    broker: Broker, kind: ResourceType, name: str, key: str
) -> None:
    broker.create_topic("t")
    produce(broker, "t", 1)
    log = log_of(broker, "t")
    rounds = broker.server.metrics.background_seconds
    seen = rounds.get("flush", 0.0)
    eventually(lambda: rounds.get("flush", 0.0) > seen)
    assert log.recovery_point == 0, "it is not time yet"
    alter(broker, kind, name, **{key: "1"})
    eventually(lambda: log.recovery_point == 1)
    alter(broker, kind, name, **{key: "3600000"})
    produce(broker, "t", 1)
    seen = rounds["flush"]
    eventually(lambda: rounds["flush"] > seen)
    assert log.recovery_point == 1


def test_a_segment_that_has_ended_is_flushed(broker: Broker) -> None:
    broker.create_topic("t", config=SMALL)
    produce(broker, "t", 8)
    log = log_of(broker, "t")
    eventually(lambda: log.recovery_point == log.active_segment.base_offset > 0)


def test_checkpoints_are_written(broker: Broker) -> None:
    broker.create_topic("t", config=SMALL)
    produce(broker, "t", 8)
    log, tp = log_of(broker, "t"), TopicPartition("t", 0)

    def written(name: str) -> int:
        return read_offsets(broker.server.fs, broker.data_dir / name).get(tp, -1)

    eventually(lambda: written("replication-offset-checkpoint") == 8)
    eventually(lambda: written("recovery-point-offset-checkpoint") == log.active_segment.base_offset)


def test_producers_expire(tmp_path: Path) -> None:
    with Broker(tmp_path, config={**CONFIG, "producer.id.expiration.ms": "1"}) as broker:
        broker.create_topic("t")
        produce(broker, "t", 1, **{"enable.idempotence": True})
        log = log_of(broker, "t")
        (written,) = batches_of(broker, "t", 0)
        assert written.header.producer_id >= 0
        guard = log.start_verification(77, 0, 0)  # of a write that its coordinator has then refused
        eventually(lambda: not log.producers.entries)
        eventually(lambda: not log.verifications.accepts(77, guard))


def test_compacted_topics_are_cleaned(broker: Broker) -> None:
    config = {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    broker.create_topic("t", config=config)
    produce(broker, "t", 12)
    log = log_of(broker, "t")
    eventually(lambda: log.size < 12 * 300)
    assert (log.log_start_offset, log.log_end_offset) == (0, 12)


FIXED = ["log_retention_check_interval_ms", "log_flush_scheduler_interval_ms"]


@pytest.mark.parametrize("key", FIXED)
def test_the_intervals_of_the_rounds_are_fixed_at_the_start_as_in_kafka(broker: Broker, key: str) -> None:
    """tests/interop/config/test_fixed_intervals.py asks Apache Kafka the same."""
    with pytest.raises(KafkaException, match="Cannot update these configs dynamically"):
        alter(broker, ResourceType.BROKER, "1", **{key: "1000"})


def test_another_interval_of_deletion_counts_from_the_next_start(tmp_path: Path) -> None:
    rare = {**CONFIG, "log.retention.check.interval.ms": "3600000", "log.initial.task.delay.ms": "3600000"}
    with Broker(tmp_path, config=rare) as broker:
        broker.create_topic("t", config={**SMALL, "retention.ms": "1"})
        produce(broker, "t", 8)
        with pytest.raises(KafkaException, match="Cannot update these configs dynamically"):
            alter(broker, ResourceType.BROKER, str(broker.server.node_id), log_retention_check_interval_ms=QUICK)
        log = log_of(broker, "t")
        eventually(lambda: log.recovery_point > 0)  # other loops have come round meanwhile
        assert log.log_start_offset == 0
    with Broker(tmp_path, config=CONFIG) as broker:
        eventually(lambda: log_of(broker, "t").log_start_offset == 8)
