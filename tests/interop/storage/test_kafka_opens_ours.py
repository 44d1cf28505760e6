"""An Apache Kafka 3.9 broker opens a directory that we wrote, serves every record, appends; then we open it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kazoo.client import KazooClient

from support.kafka import KAFKA_3, KafkaBroker
from support.logs import START_MS, LogBench, batch, records_of, run_of, small_config
from tidelog.common.rng import seeded_rng
from tidelog.common.uuids import random_uuid, uuid_to_text
from tidelog.log.append import AppendOrigin
from tidelog.log.names import LEADER_EPOCH_FILE
from tidelog.records.format.attributes import Codec
from tidelog.records.format.control import end_txn_marker

pytestmark = pytest.mark.java
TOPIC = "topic"
#: Nobody has written to this one: it has no `leader-epoch-checkpoint`, which Kafka would have written.
EMPTY = "empty"


def write_ours(bench: LogBench, topic_id: bytes) -> list[bytes]:
    """Several segments of all codecs, an idempotent producer, a committed and an aborted transaction."""
    log = bench.open(topic_id=topic_id)
    for codec in Codec:
        for _ in range(10):
            first = log.log_end_offset
            values = [b"%d %s" % (first + n, codec.name.encode()) for n in range(20)]
            log.append_as_leader(run_of(batch(values, codec=codec, timestamp=START_MS + first)), 0)
    log.append_as_leader(run_of(batch([b"i0", b"i1"], producer_id=7, epoch=0, sequence=0)), 0)
    for committed in (True, False):
        values = [b"txn %s" % str(committed).encode()]
        data = batch(values, producer_id=8, epoch=0, sequence=0 if committed else 1, transactional=True)
        log.append_as_leader(run_of(data), 0)
        marker = end_txn_marker(8, 0, committed=committed, coordinator_epoch=0, timestamp=START_MS)
        log.append_as_leader(run_of(marker), 0, origin=AppendOrigin.COORDINATOR)
    log.advance_high_watermark(log.log_end_offset)
    assert len(log.segments) > 2
    values = [record.value or b"" for record in records_of(log)]
    log.close()
    return values


def lay_znodes(address: str, topic_ids: dict[str, bytes]) -> None:
    client = KazooClient(address)
    client.start(120)
    try:
        for topic, topic_id in topic_ids.items():
            assignment = {
                "version": 3,
                "topic_id": uuid_to_text(topic_id),
                "partitions": {"0": [1]},
                "adding_replicas": {},
                "removing_replicas": {},
            }
            config = {"version": 1, "config": {"retention.ms": "-1"}}
            client.create(f"/brokers/topics/{topic}", json.dumps(assignment).encode(), makepath=True)
            client.create(f"/config/topics/{topic}", json.dumps(config).encode(), makepath=True)
    finally:
        client.stop()
        client.close()


def read(address: str, count: int, isolation: str, topic: str = TOPIC) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": address, "group.id": f"g-{isolation}", "isolation.level": isolation})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[bytes] = []
        for _ in range(240):
            for message in consumer.consume(1000, 0.5):
                assert message.error() is None or message.error().retriable(), message.error()
                if message.error() is None:
                    found.append(message.value())
            if len(found) >= count:
                break
        return found
    finally:
        consumer.close()


def test_kafka_opens_serves_appends_and_gives_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    topic_id = random_uuid(seeded_rng(7))
    bench = LogBench(data, config=small_config(segment_bytes=6000))
    everything = write_ours(bench, topic_id)
    visible = [value for value in everything if not value.startswith(b"\0") and value != b"txn False"]
    empty, empty_id = LogBench(data), random_uuid(seeded_rng(8))
    empty.dir = data / f"{EMPTY}-0"
    led = empty.open(topic_id=empty_id)
    led.assign_epoch(0, 0)
    led.close()
    assert LEADER_EPOCH_FILE not in empty.names()
    kafka = KafkaBroker(KAFKA_3, tmp_path / "kafka", mode="zookeeper", data=data)
    kafka.start_zookeeper()
    lay_znodes(f"127.0.0.1:{kafka.zookeeper_port}", {TOPIC: topic_id, EMPTY: empty_id})
    with kafka:
        assert read(kafka.address, len(visible), "read_committed") == visible
        producer = Producer({"bootstrap.servers": kafka.address})
        for n in range(100):
            producer.produce(TOPIC, value=b"by kafka %d" % n, partition=0)
        producer.produce(EMPTY, value=b"the first", partition=0)
        assert producer.flush(60) == 0
        assert read(kafka.address, 1, "read_committed", EMPTY) == [b"the first"]
    assert (empty.dir / LEADER_EPOCH_FILE).read_text().splitlines()[:2] == ["0", "1"]
    assert [record.value for record in records_of(empty.open())] == [b"the first"]
    log = bench.open()
    log.advance_high_watermark(log.log_end_offset)
    values = [record.value for record in records_of(log)]
    assert values[-100:] == [b"by kafka %d" % n for n in range(100)]
    assert values[: len(everything)] == everything
    log.close()
