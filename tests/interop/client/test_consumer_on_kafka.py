"""The reading side of the consumer against Apache Kafka 4: codecs, transactions, times, retention, restarts, Arrow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.consumers import FACES, Face, take, values
from support.kafka import KAFKA_4, KafkaBroker
from tidelog import Admin, OffsetOutOfRangeError, Producer, TopicPartition

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(KAFKA_4, tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_as_objects_and_as_columns(kafka: KafkaBroker, codec: str) -> None:
    tp = TopicPartition(f"read-{codec}", 0)
    written = [b"%0100d" % number for number in range(3000)]
    with Producer(bootstrap_servers=kafka.address, compression_type=codec) as producer:
        for value in written:
            producer.send(tp.topic, value, value, headers=[("n", value[-4:])])
    with FACES[0].consumer(kafka.address) as consumer:
        consumer.assign([tp])
        records = take(consumer, 3000)
        assert values(records) == written
        assert [record.headers for record in records] == [(("n", value[-4:]),) for value in written]
        assert records[0].leader_epoch == 0
        consumer.seek_to_beginning()
        found: list[bytes] = []
        while len(found) < 3000:
            found += consumer.poll_arrow(30, columns=["value"])["value"].to_pylist()
        assert found == written


def test_committed_transactions_alone(kafka: KafkaBroker, face: Face) -> None:
    tp = TopicPartition(f"transactions-{face.name}", 0)
    with Producer(bootstrap_servers=kafka.address, transactional_id=tp.topic) as producer:
        producer.init_transactions()
        for value, end in ((b"kept", producer.commit_transaction), (b"gone", producer.abort_transaction)) * 3:
            producer.begin_transaction()
            producer.send(tp.topic, value).result(30)
            end()
    with face.consumer(kafka.address, isolation_level="read_committed") as consumer:
        consumer.assign([tp])
        assert values(take(consumer, 3)) == [b"kept"] * 3
        assert not consumer.poll(0.2)
        assert consumer.position(tp) == 12  # six records and six markers
        assert consumer.lag() == {tp: 0}
        assert values(consumer.tail(tp.topic, 2)) == [b"kept"] * 2


def test_times_resets_and_records_that_were_deleted(kafka: KafkaBroker, face: Face) -> None:
    tp = TopicPartition(f"times-{face.name}", 0)
    base = 1_700_000_000_000
    with Producer(bootstrap_servers=kafka.address) as producer, Admin(bootstrap_servers=kafka.address) as admin:
        admin.create_topic(tp.topic, configs={"retention.ms": -1})
        for number in range(10):
            producer.send(tp.topic, b"%d" % number, timestamp=base + 1000 * number)
        producer.flush()
        with face.consumer(kafka.address, auto_offset_reset="none") as consumer:
            consumer.assign([tp], since=base + 4500)
            assert values(take(consumer, 5)) == [b"5", b"6", b"7", b"8", b"9"]
            found = consumer.offsets_for_times({tp: base + 2000})[tp]
            assert (found.offset, found.timestamp) == (2, base + 2000)
            admin.delete_records({tp: 3}).result()
            consumer.seek(tp, 1)
            with pytest.raises(OffsetOutOfRangeError):
                consumer.poll(30)
            consumer.seek_to_beginning()
            assert values(take(consumer, 7))[0] == b"3"


def test_reading_goes_on_after_a_restart(kafka: KafkaBroker, face: Face) -> None:
    tp = TopicPartition(f"restart-{face.name}", 0)

    def write(value: bytes) -> None:
        with Producer(bootstrap_servers=kafka.address) as producer:
            producer.send(tp.topic, value).result(60)

    write(b"before")
    with face.consumer(kafka.address, group_id=tp.topic, request_timeout_ms=5000) as consumer:
        consumer.subscribe([tp.topic])
        assert values(take(consumer, 1)) == [b"before"]
        kafka.stop()
        kafka.start()
        write(b"after")
        assert values(take(consumer, 1)) == [b"after"]
        consumer.commit()
        assert consumer.committed([tp])[tp].offset == 2
