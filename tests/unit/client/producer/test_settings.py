"""Every setting of the producer has its effect: interceptors, serializers, partitioners, batches, memory, compression.

Those of delivery (acks, retries, time-outs, requests in flight) are in test_delivery, transactions in
test_transactions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from support.produced import batches_of, records_of, values_of
from tidelog import Producer
from tidelog.client.producer.interceptors import ProducerInterceptor
from tidelog.client.producer.partitioners import Cluster, Partitioner
from tidelog.client.producer.record import ProducerRecord, RecordMetadata
from tidelog.common.config import ConfigError
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.records.format.attributes import Codec
from tidelog.testing import Broker

# --- interceptors ---------------------------------------------------------------------------------------------------


class Note(ProducerInterceptor):
    """Appends its name to each value, and remembers what it was told."""

    def __init__(self, name: str = "n") -> None:
        self.name = name
        self.settings: Mapping[str, Any] = {}
        self.acknowledged: list[tuple[RecordMetadata | None, Exception | None]] = []
        self.closed = False

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.settings = configs

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=f"{record.value}-{self.name}")

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        self.acknowledged.append((metadata, error))

    def close(self) -> None:
        self.closed = True


class Broken(ProducerInterceptor):
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise ZeroDivisionError

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        raise ZeroDivisionError


def test_interceptors_in_their_order_before_the_serializer(
    broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Note("a"), Note("b")
    settings = {"bootstrap.servers": broker.address, "value.serializer": "str", "mine": 1}
    with Producer({**settings, "interceptor.classes": [first, Broken, second]}) as producer:
        where = producer.send(topic, "x", partition=0).result(10)
        with pytest.raises(UsageError):
            producer.send(topic, "x", key=object())
    assert values_of(broker, topic, 0) == [b"x-a-b"]
    assert first.acknowledged[0] == second.acknowledged[0] == (where, None)
    metadata, error = first.acknowledged[1]
    assert metadata is None
    assert isinstance(error, UsageError)
    assert first.settings["mine"] == 1
    assert first.closed
    assert second.closed
    assert "Broken.on_send failed" in caplog.text


def test_interceptors_hear_of_failed_records(broker: Broker, topic: str) -> None:
    note = Note()
    settings = {"bootstrap.servers": broker.address, "linger.ms": 60_000, "interceptor.classes": [note]}
    producer = Producer(settings)
    producer.send(topic, "x", partition=1)
    with pytest.raises(KafkaError):
        producer.close(timeout=0)
    ((metadata, error),) = note.acknowledged
    assert metadata is not None
    assert (metadata.partition, metadata.offset) == (1, -1)
    assert isinstance(error, KafkaError)


def test_interceptors_by_name(broker: Broker) -> None:
    with Producer({"bootstrap.servers": broker.address, "interceptor.classes": f"{__name__}:Note"}):
        pass
    with pytest.raises(UsageError, match="cannot be imported"):
        Producer({"bootstrap.servers": broker.address, "interceptor.classes": "no.such:Class"})


# --- serializers and partitioners -----------------------------------------------------------------------------------


def test_serializers(broker: Broker, topic: str) -> None:
    settings = {"key.serializer": "int", "value.serializer": "json"}
    with Producer({"bootstrap.servers": broker.address, **settings}) as producer:
        where = producer.send(topic, {"a": 1}, 7).result(10)
    (record,) = records_of(broker, topic, where.partition)
    assert (record.key, record.value) == (b"\x00\x00\x00\x07", b'{"a":1}')


def test_round_robin_takes_one_partition_after_the_other(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, partitioner_class="round_robin") as producer:
        placed = [producer.send(topic, b"x", b"same key").result(10).partition for _ in range(8)]
    assert placed == [0, 1, 2, 3, 0, 1, 2, 3]


def test_random_uses_all_partitions(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, partitioner_class="random", linger_ms=0) as producer:
        sent = [producer.send(topic, b"x", b"same key") for _ in range(200)]
        counts = Counter(one.result(10).partition for one in sent)
    assert sorted(counts) == [0, 1, 2, 3]


class ByLength(Partitioner):
    seen: tuple[Any, ...] = ()

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.offset = int(configs["my.offset"])

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: Cluster
    ) -> int:
        ByLength.seen = (topic, key, key_bytes, value, value_bytes, cluster.partition_count_for_topic(topic))
        return len(value) + self.offset


def test_a_partitioner_of_ones_own(broker: Broker, topic: str) -> None:
    settings = {"partitioner.class": ByLength, "my.offset": "1", "key.serializer": "int"}
    with Producer({"bootstrap.servers": broker.address, **settings}) as producer:
        assert producer.send(topic, b"ab", 5).result(10).partition == 3
        assert ByLength.seen == (topic, 5, b"\x00\x00\x00\x05", b"ab", b"ab", 4)
        assert producer.send(topic, b"ab", 5, partition=0).result(10).partition == 0
        with pytest.raises(UsageError, match="the partitioner chose 6"):
            producer.send(topic, b"x" * 5, 5)


def test_ignore_keys(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, partitioner_ignore_keys=True) as producer:
        sent = [producer.send(topic, b"x", b"key-%d" % number) for number in range(50)]
        assert len({one.result(10).partition for one in sent}) == 1


def test_records_without_a_key_stay_together_until_a_batch_is_full(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, batch_size=4000, linger_ms=100) as producer:
        sent = [producer.send(topic, b"x" * 100) for _ in range(2000)]
        placed = [one.result(10).partition for one in sent]
    changes = sum(one != other for one, other in pairwise(placed))
    assert sorted(Counter(placed)) == [0, 1, 2, 3]
    assert changes < 2000 / 30


# --- batches and memory ---------------------------------------------------------------------------------------------


def test_batch_size_limits_a_batch(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, batch_size=2000, linger_ms=1000) as producer:
        for _ in range(100):
            producer.send(topic, b"x" * 100, partition=0)
        producer.send(topic, b"y" * 5000, partition=0)
    sizes = [batch.size for batch in batches_of(broker, topic, 0)]
    assert all(1800 < size <= 2000 for size in sizes[:-2])
    assert sizes[-1] > 5000


def test_batch_size_0_is_a_batch_for_each_record(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, batch_size=0) as producer:
        for _ in range(10):
            producer.send(topic, b"x", partition=0)
    assert len(batches_of(broker, topic, 0)) == 10


def test_linger_waits_for_more(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, linger_ms=300) as producer:
        producer.partitions_for(topic)
        for number in range(50):
            producer.send(topic, b"x", partition=number % 2)
    assert [len(batches_of(broker, topic, number)) for number in (0, 1)] == [1, 1]


def test_a_full_buffer_blocks_for_max_block_ms(broker: Broker, topic: str) -> None:
    settings = {"buffer.memory": 8000, "batch.size": 4000, "max.block.ms": 100, "linger.ms": 0}
    producer = Producer({"bootstrap.servers": broker.address, **settings})
    producer.partitions_for(topic)

    def send_many() -> None:
        for _ in range(1000):
            producer.send(topic, b"x" * 100, partition=0)

    broker.stop()
    try:
        with pytest.raises(KafkaError, match=r"buffer\.memory.*max\.block\.ms \(0\.1 s\)"):
            send_many()
    finally:
        broker.start()
    producer.flush(30)
    producer.send(topic, b"last", partition=0).result(30)
    producer.close()
    assert values_of(broker, topic, 0)[-1] == b"last"


def test_a_full_buffer_waits_for_room_and_loses_nothing(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, buffer_memory=20_000, batch_size=4000) as producer:
        for number in range(3000):
            producer.send(topic, b"%0100d" % number, partition=0)
    assert values_of(broker, topic, 0) == [b"%0100d" % number for number in range(3000)]


def test_max_block_ms_limits_the_wait_for_metadata(broker: Broker) -> None:
    settings = {"max.block.ms": 200, "retry.backoff.ms": 10}
    with (
        Broker(config={"auto.create.topics.enable": "false"}) as other,
        Producer({"bootstrap.servers": other.address, **settings}) as producer,
        pytest.raises(KafkaError, match=r"no metadata of topic missing within max\.block\.ms") as caught,
    ):
        producer.send("missing", b"x")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_max_request_size_refuses_a_record_before_it_is_sent(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, max_request_size=1000) as producer:
        with pytest.raises(KafkaError, match=r"larger than max\.request\.size") as caught:
            producer.send(topic, b"x" * 1000)
        assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
        assert producer.metrics()["request-total"] == 0


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compression(broker: Broker, topic: str, codec: str) -> None:
    with Producer(bootstrap_servers=broker.address, compression_type=codec) as producer:
        for number in range(100):
            producer.send(topic, b"%0100d" % number, partition=0)
    found = batches_of(broker, topic, 0)
    assert {batch.header.codec for batch in found} == {Codec.from_name(codec)}
    assert sum(batch.size for batch in found) < 5000
    assert values_of(broker, topic, 0) == [b"%0100d" % number for number in range(100)]


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", 1, 9), ("lz4", 1, 12), ("zstd", 1, 19)])
def test_compression_levels(broker: Broker, topic: str, codec: str, low: int, high: int) -> None:
    value = b" ".join(b"%d" % (number * number) for number in range(20_000))
    for partition, level in enumerate((low, high)):
        settings = {"compression.type": codec, f"compression.{codec}.level": level, "max.request.size": 1 << 20}
        with Producer({"bootstrap.servers": broker.address, **settings}) as producer:
            producer.send(topic, value, partition=partition).result(30)
    sizes = [batches_of(broker, topic, partition)[0].size for partition in (0, 1)]
    assert sizes[1] < sizes[0]


# --- what settings decide together ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "id_given"),
    [({}, True), ({"acks": "1"}, False), ({"retries": 0}, False), ({"enable.idempotence": False}, False)],
)
def test_idempotence_by_default(broker: Broker, topic: str, settings: dict[str, Any], id_given: bool) -> None:
    with Producer({"bootstrap.servers": broker.address, **settings}) as producer:
        producer.send(topic, b"x", partition=0).result(10)
    (batch,) = batches_of(broker, topic, 0)
    assert (batch.header.producer_id >= 0) is id_given


@pytest.mark.parametrize("settings", [{"acks": "1"}, {"retries": 0}, {"max.in.flight.requests.per.connection": 6}])
def test_idempotence_that_was_asked_for_cannot_be_had(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="idempotent"):
        Producer({"bootstrap.servers": "localhost:1", "enable.idempotence": True, **settings})


def test_where_the_log_gives_the_time_it_is_told(broker: Broker) -> None:
    broker.create_topic("stamped", 1, config={"message.timestamp.type": "LogAppendTime"})
    with Producer(bootstrap_servers=broker.address) as producer:
        where = producer.send("stamped", b"x", timestamp=5).result(10)
    assert where.timestamp > 1_600_000_000_000


def test_a_misspelt_keyword_is_named() -> None:
    with pytest.raises(UsageError, match="did you mean linger_ms"):
        Producer(bootstrap_servers="localhost:1", lingr_ms=5)
