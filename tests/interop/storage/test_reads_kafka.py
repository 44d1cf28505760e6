"""We read what Apache Kafka wrote, record for record: all formats, codecs, compacted and transactional topics."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker
from support.patience import eventually
from tidelog.log import LogDirectory

pytestmark = pytest.mark.java
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
FAST_CLEANING = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "86400000",
}
Row = tuple[int, int, bytes | None, bytes | None]


def create(kafka: KafkaBroker, name: str, config: dict[str, str] | None = None) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.create_topics([NewTopic(name, 1, 1, config=config or {})])[name].result(60)


def produce(kafka: KafkaBroker, topic: str, codec: str, count: int = 200, **config: Any) -> None:
    producer = Producer({"bootstrap.servers": kafka.address, "compression.type": codec, "linger.ms": 5, **config})
    for n in range(count):
        key = None if topic == "plain" and n % 7 == 0 else b"k%d" % (n % 20)
        producer.produce(topic, key=key, value=b"%s %d" % (codec.encode(), n) * 3, partition=0)
    assert producer.flush(60) == 0


def transactions(kafka: KafkaBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": "t"})
    producer.init_transactions(60)
    for turn in range(6):
        producer.begin_transaction()
        for n in range(5):
            producer.produce(topic, key=b"k%d" % n, value=b"turn %d" % turn, partition=0)
        if turn % 2:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)


def consumed(kafka: KafkaBroker, topic: str) -> list[Row]:
    settings = {"group.id": "g", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": kafka.address, **settings})
    rows: list[Row] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(120)
            assert message is not None, f"no end after {len(rows)} rows"
            error = message.error()
            if error is None:
                stamp = message.timestamp()[1] if message.timestamp()[0] else -1
                rows.append((message.offset(), stamp, message.key(), message.value()))
            elif error.code() == KafkaError._PARTITION_EOF:
                return rows
            else:
                assert error.retriable(), error
    finally:
        consumer.close()


def wait_until_compacted(kafka: KafkaBroker) -> None:
    """The cleaner writes down how far it came: it leaves nothing but the active segment, and then it rests."""

    def rests() -> bool:
        active = max(int(path.stem) for path in (kafka.data / "compacted-0").glob("*.log"))
        return active > 0 and f"compacted 0 {active}\n" in (kafka.data / "cleaner-offset-checkpoint").read_text()

    eventually(rests)


def check(kafka: KafkaBroker, expected: dict[str, list[Row]]) -> None:
    directory = LogDirectory(kafka.data)
    for topic, rows in expected.items():
        partition = directory.partition(topic, 0)
        ours = [(r.offset, r.timestamp, r.key, r.value) for r in partition.records(committed=True)]
        assert ours == rows, topic
        table = partition.to_arrow(columns=("offset", "key", "value"))
        everything = [(r.offset, r.key, r.value) for r in partition.records()]
        columns = (table.column(name).to_pylist() for name in ("offset", "key", "value"))
        assert list(zip(*columns, strict=True)) == everything, topic
    tidelog = str(Path(sys.executable).with_name("tidelog"))
    done = subprocess.run([tidelog, "log", "verify", str(kafka.data)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@pytest.mark.parametrize("version", [KAFKA_3, KAFKA_4])
def test_every_codec_compaction_and_transactions(version: str, tmp_path: Path) -> None:
    broker = {"log.cleaner.backoff.ms": "200", "log.cleaner.min.compaction.lag.ms": "0"}
    with KafkaBroker(version, tmp_path, properties=broker) as kafka:
        create(kafka, "plain")
        create(kafka, "transactional")
        create(kafka, "compacted", FAST_CLEANING)
        for codec in CODECS:
            produce(kafka, "plain", codec)
            produce(kafka, "compacted", codec)
            time.sleep(0.15)  # so that segment.ms passes and the next batch rolls the segment
        transactions(kafka, "transactional")
        wait_until_compacted(kafka)
        expected = {topic: consumed(kafka, topic) for topic in ("plain", "compacted", "transactional")}
    assert len(expected["plain"]) == 1000
    assert len(expected["compacted"]) < 1000
    assert len(expected["transactional"]) == 15
    check(kafka, expected)


def test_old_formats(tmp_path: Path) -> None:
    """3.9 in ZooKeeper mode still writes format v0 and v1 for topics that ask for it."""
    properties = {"inter.broker.protocol.version": "2.8"}
    with KafkaBroker(KAFKA_3, tmp_path, mode="zookeeper", properties=properties) as kafka:
        for topic, version in (("v0", "0.9.0"), ("v1", "0.10.2")):
            create(kafka, topic, {"message.format.version": version})
            for codec in CODECS[:4]:
                produce(kafka, topic, codec, **{"enable.idempotence": False})
        expected = {topic: consumed(kafka, topic) for topic in ("v0", "v1")}
    for name, magic in (("v0", 0), ("v1", 1)):
        batches = LogDirectory(kafka.data).partition(name, 0).batches()
        assert {batch.header.magic for batch in batches} == {magic}
    check(kafka, expected)
