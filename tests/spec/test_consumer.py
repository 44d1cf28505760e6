"""Our consumer, statement by statement: 004 Consumer/客户端开发 to 消费者拦截器, and its parameters."""

from __future__ import annotations

import dataclasses
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from support.consumers import FACES, Face, take, values, write
from tidelog import (
    Consumer,
    ConsumerInterceptor,
    ConsumerRebalanceListener,
    ConsumerRecords,
    Deserializer,
    NoOffsetForPartitionError,
    Producer,
    TopicPartition,
)
from tidelog.client.config import common, parse
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.errors import InvalidGroupIdError
from tidelog.records.format.attributes import TimestampType
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(params=FACES[:2], ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


@pytest.fixture
def tp(broker: Broker, request: pytest.FixtureRequest) -> TopicPartition:
    """A topic of the test's own, with five records."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:150]
    broker.create_topic(name)
    write(broker, TopicPartition(name, 0), ["one", "two", "three", "four", "five"])
    return TopicPartition(name, 0)


# --- 客户端开发


def test_the_five_steps(broker: Broker, face: Face, tp: TopicPartition) -> None:
    """Configure, subscribe, poll, commit, close."""
    consumer = face.consumer(broker, group_id=tp.topic)
    consumer.subscribe([tp.topic])
    assert values(take(consumer, 5)) == [b"one", b"two", b"three", b"four", b"five"]
    consumer.commit()
    consumer.close()
    with face.consumer(broker, group_id=tp.topic) as after:
        assert after.committed([tp])[tp].offset == 5


def test_a_bootstrap_server_that_is_down_is_passed_over(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{nobody.getsockname()[1]}"
        with face.consumer(f"{dead},{broker.address}") as consumer:
            consumer.assign([tp])
            assert len(take(consumer, 5)) == 5


@pytest.mark.parametrize("group", ["", None])
def test_an_empty_group_id_is_an_error_of_the_client(
    broker: Broker, face: Face, tp: TopicPartition, group: str | None
) -> None:
    with face.consumer(broker, group_id=group) as consumer, pytest.raises(InvalidGroupIdError):
        consumer.subscribe([tp.topic])


# --- 订阅主题与分区


class Told(ConsumerRebalanceListener):
    def __init__(self) -> None:
        self.assigned: list[TopicPartition] = []

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        self.assigned += partitions


@pytest.mark.parametrize("listener", [True, False])
@pytest.mark.parametrize("pattern", [True, False])
def test_the_four_forms_of_subscribe(
    broker: Broker, face: Face, tp: TopicPartition, pattern: bool, listener: bool
) -> None:
    told = Told() if listener else None
    with face.consumer(broker, group_id=tp.topic) as consumer:
        consumer.subscribe(re.compile(tp.topic[:-1] + ".") if pattern else [tp.topic], told)
        assert len(take(consumer, 5)) == 5
        assert told is None or told.assigned == [tp]


def test_partitions_may_be_assigned_without_a_group(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign([tp])
        assert len(take(consumer, 5)) == 5


# --- 反序列化, 消息消费


class Shouting(Deserializer):
    def configure(self, configs: Any, is_key: bool) -> None:
        self.end = "?" if is_key else "!"

    def deserialize(self, topic: str, data: bytes, headers: Any = None) -> str:
        return data.decode().upper() + self.end


def test_a_deserializer_of_one_s_own(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, key_deserializer=Shouting, value_deserializer=Shouting()) as consumer:
        consumer.assign([tp])
        record = take(consumer, 5)[0]
        assert (record.key, record.value) == ("ONE?", "ONE!")


def test_a_record_has_the_eleven_fields(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with Producer(bootstrap_servers=broker.address) as producer:
        producer.send(tp.topic, b"value", key=b"key", partition=0, timestamp=1_700_000_000_123, headers=[("h", b"x")])
    with face.consumer(broker) as consumer:
        consumer.assign([tp])
        record = take(consumer, 6)[5]
        assert (record.topic, record.partition, record.offset) == (tp.topic, 0, 5)
        assert (record.timestamp, record.timestamp_type) == (1_700_000_000_123, TimestampType.CREATE_TIME)
        assert (record.serialized_key_size, record.serialized_value_size) == (3, 5)
        assert (record.headers, record.key, record.value) == ((("h", b"x"),), b"key", b"value")
        assert isinstance(record.checksum, int)  # deprecated since Kafka 0.11: of timestamp and sizes alone


def test_polling_again_returns_what_was_not_returned_before(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, max_poll_records=2) as consumer:
        consumer.assign([tp])
        polls = [[record.offset for record in consumer.poll(30)] for _ in range(3)]
        assert polls == [[0, 1], [2, 3], [4]]


# --- 控制或关闭消费, 指定位移消费


def test_pause_and_resume(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, max_poll_records=1) as consumer:
        consumer.assign([tp])
        take(consumer, 1)
        consumer.pause([tp])
        assert not consumer.poll(0.1)
        assert consumer.position(tp) == 1
        consumer.resume([tp])
        assert values(take(consumer, 1)) == [b"two"]


@pytest.mark.parametrize("reset", ["earliest", "latest", "none"])
def test_where_a_new_group_begins(broker: Broker, face: Face, tp: TopicPartition, reset: str) -> None:
    with face.consumer(broker, group_id=tp.topic, auto_offset_reset=reset) as consumer:
        consumer.assign([tp])
        if reset == "none":
            with pytest.raises(NoOffsetForPartitionError):
                consumer.poll(30)
        else:
            assert consumer.position(tp) == (0 if reset == "earliest" else 5)


def test_seek_goes_forward_and_back(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign([tp])
        consumer.seek(tp, 3)
        assert values(take(consumer, 2)) == [b"four", b"five"]
        consumer.seek(tp, 1)
        assert values(take(consumer, 1))[0] == b"two"


# --- 消费者拦截器


class Watching(ConsumerInterceptor):
    def configure(self, configs: Any) -> None:
        self.log: list[Any] = configs["watching.log"]

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        self.log.append(values(records))
        return records

    def on_commit(self, offsets: Any) -> None:
        self.log.append({tp.partition: position.offset for tp, position in offsets.items()})


def test_an_interceptor_sees_records_and_commits(broker: Broker, face: Face, tp: TopicPartition) -> None:
    log: list[Any] = []
    with face.consumer(
        broker, more={"watching.log": log}, interceptor_classes=[Watching], group_id=tp.topic, enable_auto_commit=False
    ) as consumer:
        consumer.assign([tp])
        take(consumer, 5)
        consumer.commit()
    assert log == [[b"one", b"two", b"three", b"four", b"five"], {0: 5}]


# --- 重要的消费者参数


def test_the_defaults_of_the_parameters() -> None:
    config = parse(keys.KEYS, {"bootstrap.servers": "localhost:9092", "group.id": "g"})
    documented = {
        keys.FETCH_MIN_BYTES: 1,
        keys.FETCH_MAX_BYTES: 52_428_800,
        keys.FETCH_MAX_WAIT_MS: 500,
        keys.MAX_PARTITION_FETCH_BYTES: 1_048_576,
        keys.MAX_POLL_RECORDS: 500,
        keys.ENABLE_AUTO_COMMIT: True,
        keys.AUTO_COMMIT_INTERVAL_MS: 5_000,
        keys.AUTO_OFFSET_RESET: "latest",
        common.CONNECTIONS_MAX_IDLE_MS: 540_000,
        common.RECEIVE_BUFFER_BYTES: 65_536,
        common.SEND_BUFFER_BYTES: 131_072,
        common.REQUEST_TIMEOUT_MS: 30_000,
        common.METADATA_MAX_AGE_MS: 300_000,
        common.RECONNECT_BACKOFF_MS: 50,
        common.RETRY_BACKOFF_MS: 100,
    }
    assert {key.name: config[key] for key in documented} == {key.name: value for key, value in documented.items()}


def test_the_receive_buffer_is_what_was_asked_for(broker: Broker, tp: TopicPartition) -> None:
    """Read back from the socket: Linux doubles what is asked for, for its own books."""
    with Consumer(bootstrap_servers=broker.address, receive_buffer_bytes=50_000, send_buffer_bytes=40_000) as consumer:
        consumer.assign([tp])
        consumer.poll(0.1)
        node = next(iter(consumer._core.cluster._connections._nodes.values()))
        send, receive = node.buffer_sizes
        assert (send in (40_000, 80_000), receive in (50_000, 100_000)) == (True, True)


def test_health_is_told_field_by_field(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, group_id=tp.topic) as consumer:
        consumer.subscribe([tp.topic])
        take(consumer, 5)
        health = dataclasses.asdict(consumer.health())
        assert (health["ok"], health["assigned"], health["lag"]) == (True, 1, 0)
