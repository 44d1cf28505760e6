"""The producer against Apache Kafka 4: both transaction protocols, idempotence over a restart, codecs, Arrow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from support.confluent import consume
from support.kafka import KAFKA_4, KafkaBroker
from tidelog import Admin, ConsumerGroupMetadata, OffsetAndMetadata, Producer
from tidelog import TopicPartition as TP
from tidelog.common.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(KAFKA_4, tmp_path_factory.mktemp("kafka")) as running:
        yield running


def committed_values(address: str, topic: str, count: int) -> list[bytes]:
    """The first `count` values that a read_committed consumer of librdkafka sees."""
    settings = {"bootstrap.servers": address, "group.id": "reader", "isolation.level": "read_committed"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    while len(values) < count:
        found = consumer.consume(count - len(values), 60)
        assert found
        values += [message.value() for message in found if message.error() is None]
    consumer.close()
    return values


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec(kafka: KafkaBroker, codec: str) -> None:
    topic = f"codec-{codec}"
    values = [b"%0100d" % number for number in range(2000)]
    with Producer(bootstrap_servers=kafka.address, compression_type=codec) as producer:
        for value in values:
            producer.send(topic, value, value)
    assert consume(kafka.address, topic, 2000) == values


def test_the_second_transaction_protocol_is_used_where_the_cluster_has_it(kafka: KafkaBroker) -> None:
    with Producer(bootstrap_servers=kafka.address, transactional_id="second") as producer:
        producer.init_transactions()
        transactions = producer._core.transactions  # what the cluster said is kept inside
        assert transactions.second
        epochs = []
        for number in range(6):
            producer.begin_transaction()
            producer.send("second", b"%d" % number)
            producer.send("second", b"%d again" % number).result(30)
            epochs.append(transactions.epoch)
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
        assert len(set(epochs)) == 6
    expected = [text for number in (0, 2, 4) for text in (b"%d" % number, b"%d again" % number)]
    assert committed_values(kafka.address, "second", 6) == expected


@pytest.mark.parametrize("second", [True, False])
def test_offsets_and_fencing(kafka: KafkaBroker, second: bool) -> None:
    name, group = f"offsets-{second}", f"group-{second}"
    with Producer(bootstrap_servers=kafka.address, transactional_id=name) as producer:
        producer._core.transactions._forced = second  # the broker serves both protocols
        producer.init_transactions()
        for number in range(3):
            producer.begin_transaction()
            producer.send(name, b"%d" % number)
            position = {TP(name, 0): OffsetAndMetadata(number + 1, metadata="mine")}
            producer.send_offsets_to_transaction(position, ConsumerGroupMetadata(group))
            producer.commit_transaction()
        with Producer(bootstrap_servers=kafka.address, transactional_id=name) as newer:
            newer.init_transactions()
            producer.begin_transaction()
            future = producer.send(name, b"fenced")
            with pytest.raises(KafkaError) as caught:
                producer.commit_transaction()
            assert caught.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
            assert isinstance(future.exception(30), KafkaError)
    reader = Consumer({"bootstrap.servers": kafka.address, "group.id": group})
    (found,) = reader.committed([TopicPartition(name, 0)], 60)
    reader.close()
    assert found.offset == 3


def test_arrow(kafka: KafkaBroker) -> None:
    values = [b"%d" % number for number in range(100_000)]
    with Producer(bootstrap_servers=kafka.address, compression_type="lz4") as producer:
        producer.send_arrow("arrow", {"value": pa.array(values)}).result(60)
    assert consume(kafka.address, "arrow", 100_000) == values


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"transactional_id": "parts"}, {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}],
    ids=["idempotent", "transactional", "neither"],
)
def test_batches_that_are_too_large_leave_in_parts(kafka: KafkaBroker, codec: str, settings: dict[str, Any]) -> None:
    """The topic takes less than `batch.size`: all is written, once and in order; a record that is too large fails. (As
    with any retry, without idempotence one request at a time keeps the order.)
    """
    topic = f"narrow-{codec}-{len(settings)}"
    rng = random.Random(7)
    values = [b"%06d" % number + rng.randbytes(94) for number in range(3000)]
    more = {"batch_size": 60_000, "linger_ms": 20, "compression_type": codec, **settings}
    with Admin(bootstrap_servers=kafka.address) as admin:
        admin.create_topic(topic, configs={"max.message.bytes": 4000})
    with Producer(bootstrap_servers=kafka.address, **more) as producer:
        if "transactional_id" in settings:
            producer.init_transactions()
            producer.begin_transaction()
        futures = [producer.send(topic, value, b"key") for value in values]
        producer.flush(60)
        assert [future.result(30).offset for future in futures] == list(range(3000))
        assert producer.metrics()["batch-split-total"] > 5
        if "transactional_id" in settings:
            producer.commit_transaction()
        else:
            large = producer.send(topic, rng.randbytes(5000))
            small = producer.send(topic, b"last")
            assert small.result(30).offset == 3000
            with pytest.raises(KafkaError, match=r"1 record, 50\d\d bytes") as caught:
                large.result(30)
            assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
            values.append(b"last")
    assert committed_values(kafka.address, topic, len(values)) == values
