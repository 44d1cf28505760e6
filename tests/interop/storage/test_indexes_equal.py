"""Our index files are byte-equal to the ones that Apache Kafka writes for the same batches."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker
from support.logs import LogBench, run_of
from tidelog.log.config import LogConfig
from tidelog.records.format.batch import iter_batches

pytestmark = pytest.mark.java
CONFIG = {"segment.bytes": "1048576", "index.interval.bytes": "2000", "segment.index.bytes": "1000000"}


def produce_to(kafka: KafkaBroker) -> None:
    """Batches of very different sizes, with timestamps that jump back and forth, over several segments."""
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.create_topics([NewTopic("topic", 1, 1, config=CONFIG)])["topic"].result(60)
    rng = random.Random(11)
    producer = Producer({"bootstrap.servers": kafka.address, "linger.ms": 0, "enable.idempotence": True})
    now = int(time.time() * 1000) - 3_600_000  # retention looks at the clock, and refuses what comes from the future
    for _ in range(400):
        for _ in range(rng.choice([1, 1, 2, 5, 40])):
            now += rng.choice([-50, 0, 1, 1, 10, 1000])
            producer.produce("topic", value=bytes(rng.choice([5, 100, 900, 9000])), partition=0, timestamp=now)
        assert producer.flush(60) == 0


@pytest.mark.parametrize("version", [KAFKA_3, KAFKA_4])
def test_byte_equal(version: str, tmp_path: Path) -> None:
    kafka = KafkaBroker(version, tmp_path / "kafka", mode="zookeeper" if version == KAFKA_3 else "kraft")
    with kafka:
        produce_to(kafka)
    theirs = kafka.data / "topic-0"
    bench = LogBench(tmp_path / "ours", config=LogConfig.from_topic(CONFIG))
    bench.dir.parent.mkdir()
    log = bench.open()
    for path in sorted(theirs.glob("*.log")):
        data = path.read_bytes()
        for batch in iter_batches(data, check_crc=True):
            log.append_as_follower(run_of(data[batch.position : batch.position + batch.size]))
    log.close()
    names = sorted(path.name for path in theirs.iterdir() if path.suffix in (".log", ".index", ".timeindex"))
    assert len(names) >= 9, "the test wants several segments"
    for name in names:
        assert (bench.dir / name).read_bytes() == (theirs / name).read_bytes(), name
    snapshots = sorted(path.name for path in theirs.glob("*.snapshot"))
    assert [path.name for path in sorted(bench.dir.glob("*.snapshot"))] == snapshots
    assert (bench.dir / "leader-epoch-checkpoint").read_bytes() == (theirs / "leader-epoch-checkpoint").read_bytes()
