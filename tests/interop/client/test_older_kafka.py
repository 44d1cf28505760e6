"""Producer, consumer and admin against Apache Kafka 2.8 and 3.9 that ZooKeeper coordinates: older versions of every
request, the first protocol of transactions, and a restart of the broker in the middle.

Whatever is newer than these brokers (topic ids in Fetch and Produce, KIP-848, the second protocol of transactions, some
of what the Admin asks) is done without, or refused in words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from support.confluent import consume
from support.confluent import produce as confluent_produce
from support.consumers import FACES, Face, take, values
from support.kafka import KAFKA_2, KAFKA_3, KafkaBroker, require_java
from support.patience import eventually
from tidelog import Admin, Consumer, ConsumerGroupMetadata, OffsetAndMetadata, Producer
from tidelog import TopicPartition as TP
from tidelog.admin import ConfigResource, ConfigSource, GroupState, NewTopic, OffsetSpec
from tidelog.common.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.java

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture(scope="module", params=[KAFKA_2, KAFKA_3])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    require_java()
    with KafkaBroker(request.param, tmp_path_factory.mktemp("kafka"), mode="zookeeper") as running:
        yield running


@pytest.fixture(params=FACES[:2], ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


def writer(kafka: KafkaBroker, **settings: Any) -> Producer:
    return Producer(bootstrap_servers=kafka.address, **settings)


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_every_codec_both_ways(kafka: KafkaBroker, codec: str, topic: Callable[[], str]) -> None:
    name = topic()
    written = [b"%0100d" % number for number in range(2000)]
    with writer(kafka, compression_type=codec) as producer:
        futures = [
            producer.send(name, value, value[-3:], timestamp=1_700_000_000_000, headers=[("n", value[-4:])])
            for value in written
        ]
        producer.flush()
        assert [future.result(30).offset for future in futures] == list(range(2000))
    assert consume(kafka.address, name, 2000) == written
    with Consumer(bootstrap_servers=kafka.address, group_id=name, auto_offset_reset="earliest") as consumer:
        consumer.subscribe([name])
        records = take(consumer, 2000)
        assert values(records) == written
        assert [record.headers for record in records] == [(("n", value[-4:]),) for value in written]
        assert {record.timestamp for record in records} == {1_700_000_000_000}
        consumer.seek_to_beginning()
        assert consumer.poll_arrow(30, columns=["value"])["value"].to_pylist() == written[: len(written)]


def test_whole_tables(kafka: KafkaBroker, topic: Callable[[], str]) -> None:
    name = topic()
    with writer(kafka, compression_type="lz4") as producer:
        producer.send_arrow(name, {"value": pa.array([b"%d" % number for number in range(20_000)])}).result(60)
    assert consume(kafka.address, name, 20_000) == [b"%d" % number for number in range(20_000)]


def test_idempotence_and_a_group_over_a_restart(kafka: KafkaBroker, face: Face, topic: Callable[[], str]) -> None:
    name = topic()
    settings = {"request_timeout_ms": 5000, "session_timeout_ms": 20_000}
    with (
        writer(kafka, delivery_timeout_ms=120_000, request_timeout_ms=5000, linger_ms=0) as producer,
        face.consumer(kafka.address, group_id=name, **settings) as consumer,
    ):
        consumer.subscribe([name])
        for number in range(100):
            producer.send(name, b"%d" % number)
        producer.flush(60)
        assert len(take(consumer, 100)) == 100
        consumer.commit()
        futures = [producer.send(name, b"%d" % number) for number in range(100, 300)]
        kafka.stop()
        futures += [producer.send(name, b"%d" % number) for number in range(300, 400)]
        kafka.start()
        assert [future.result(120).offset for future in futures] == list(range(100, 400))
        assert values(take(consumer, 300)) == [b"%d" % number for number in range(100, 400)]
        consumer.commit()
        assert consumer.committed([TP(name, 0)])[TP(name, 0)].offset == 400


@pytest.mark.parametrize("strategy", ["range", "sticky", "cooperative-sticky"])
def test_two_members_share_a_topic(kafka: KafkaBroker, strategy: str, topic: Callable[[], str]) -> None:
    name = topic()
    settings: dict[str, Any] = {
        "bootstrap_servers": kafka.address,
        "group_id": name,
        "auto_offset_reset": "earliest",
        "partition_assignment_strategy": strategy,
        "heartbeat_interval_ms": 200,
    }
    with Admin(bootstrap_servers=kafka.address) as admin, Consumer(**settings) as first, Consumer(**settings) as second:
        admin.create_topic(name, 4)
        seen: list[bytes] = []

        def poll_until(*members: Consumer, done: Callable[[], bool]) -> None:
            deadline = time.monotonic() + 120
            while not done():
                assert time.monotonic() < deadline, [member.health() for member in members]
                for member in members:
                    seen.extend(bytes(record.value) for record in member.poll(0.05))

        first.subscribe([name])
        poll_until(first, done=lambda: len(first.assignment()) == 4)
        second.subscribe([name])
        poll_until(first, second, done=lambda: len(first.assignment()) == len(second.assignment()) == 2)
        described = admin.describe_consumer_group(name)
        assert (described.state, len(described.members)) == (GroupState.STABLE, 2)
        confluent_produce(kafka.address, name, [b"%d" % number for number in range(100)])
        poll_until(first, second, done=lambda: len(seen) == 100)
        second.close()
        poll_until(first, done=lambda: len(first.assignment()) == 4)
        confluent_produce(kafka.address, name, [b"late"])
        poll_until(first, done=lambda: seen[-1] == b"late")
    assert sorted(seen[:-1]) == sorted(b"%d" % number for number in range(100))


def test_transactions_of_the_first_protocol(kafka: KafkaBroker, face: Face, topic: Callable[[], str]) -> None:
    name = topic()
    with writer(kafka, transactional_id=name) as producer:
        producer.init_transactions()
        assert not producer._core.transactions.second, "what the cluster offers is kept inside"
        for number in range(6):
            producer.begin_transaction()
            producer.send(name, b"%d" % number)
            position = {TP(name, 0): OffsetAndMetadata(number + 1, metadata="mine")}
            producer.send_offsets_to_transaction(position, ConsumerGroupMetadata(name))
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
        with writer(kafka, transactional_id=name) as newer:
            newer.init_transactions()
            producer.begin_transaction()
            producer.send(name, b"fenced")
            with pytest.raises(KafkaError) as caught:
                producer.commit_transaction()
            assert caught.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    with face.consumer(kafka.address, group_id=name, isolation_level="read_committed") as consumer:
        consumer.assign([TP(name, 0)])
        assert consumer.committed([TP(name, 0)])[TP(name, 0)].offset == 5
        consumer.seek_to_beginning()
        assert values(take(consumer, 3)) == [b"0", b"2", b"4"]


def test_a_copy_in_transactions_over_a_restart(kafka: KafkaBroker, topic: Callable[[], str]) -> None:
    """Read, write and commit in one transaction each; the broker stops in the middle of one."""
    source, target = topic(), topic()
    confluent_produce(kafka.address, source, [b"%d" % number for number in range(30)])
    quick = {"bootstrap_servers": kafka.address, "request_timeout_ms": 5000}
    reading = {"group_id": source, "auto_offset_reset": "earliest", "enable_auto_commit": False, "max_poll_records": 10}
    with Producer(**quick, transactional_id=target, delivery_timeout_ms=120_000) as producer:
        producer.init_transactions()
        with Consumer(**quick, **reading) as consumer:
            consumer.subscribe([source])
            for turn in range(3):
                records = take(consumer, 10)
                assert len(records) == 10
                producer.begin_transaction()
                for record in records:
                    producer.send(target, record.value)
                if turn == 1:
                    kafka.stop()
                    kafka.start()
                offsets = {records[-1].topic_partition: OffsetAndMetadata(records[-1].offset + 1)}
                producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
                producer.commit_transaction()
            assert consumer.committed([TP(source, 0)])[TP(source, 0)].offset == 30
    with FACES[0].consumer(kafka.address, isolation_level="read_committed") as reader:
        reader.assign([TP(target, 0)])
        assert values(take(reader, 30)) == [b"%d" % number for number in range(30)]


def test_the_admins_basics(kafka: KafkaBroker, topic: Callable[[], str]) -> None:
    name, other = topic(), topic()
    tp, group = TP(name, 0), f"group-{name}"
    with Admin(bootstrap_servers=kafka.address, default_api_timeout_ms=30_000) as admin:
        made = admin.create_topics([NewTopic(name, 2, configs={"retention.ms": -1}), other])
        assert made.of(name).partitions == 2
        assert {name, other} <= set(admin.topics())
        with pytest.raises(KafkaError, match=name):
            admin.create_topic(name)
        assert [(p.leader, p.isr) for p in admin.describe_topic(name).partitions] == [(1, (1,))] * 2
        resource = ConfigResource.topic(name)
        admin.alter_config(resource, {"max.message.bytes": 5000})
        entry = admin.describe_config(resource, keys=["max.message.bytes"])["max.message.bytes"]
        assert (entry.value, entry.source) == ("5000", ConfigSource.DYNAMIC_TOPIC)
        admin.create_partitions({name: 3}).result()
        assert eventually(lambda: len(admin.describe_topic(name).partitions) == 3)
        with writer(kafka) as producer:
            for number in range(5):
                producer.send(name, b"%d" % number, partition=0, timestamp=1000 + number)
        assert admin.list_offsets({tp: OffsetSpec.LATEST}).of(tp).offset == 5
        assert admin.list_offsets({tp: 1003}).of(tp).offset == 3
        assert admin.delete_records({tp: 2}).result() == {tp: 2}
        assert admin.list_offsets({tp: OffsetSpec.EARLIEST}).of(tp).offset == 2
        admin.alter_consumer_group_offsets(group, {tp: OffsetAndMetadata(3, -1, "x")}).result()
        assert admin.group_offsets(group) == {tp: OffsetAndMetadata(3, -1, "x")}
        assert group in admin.groups()
        assert admin.delete_consumer_groups([group]).result() == {group: None}
        assert len(admin.describe_log_dirs().of(1)) == 1
        cluster = admin.describe_cluster()
        assert cluster.controller is not None
        assert cluster.controller.id == 1
        admin.delete_topics([name, other]).result()
        assert eventually(lambda: not {name, other} & set(admin.topics()))


def test_what_these_brokers_do_not_have_is_refused_in_words(kafka: KafkaBroker, topic: Callable[[], str]) -> None:
    name = topic()
    with (
        Admin(bootstrap_servers=kafka.address, default_api_timeout_ms=30_000) as admin,
        pytest.raises(KafkaError, match="this cluster is too old for it, or does not offer it"),
    ):
        admin.describe_metadata_quorum()
    with writer(kafka) as producer:
        producer.send(name, b"x").result(60)
    with Consumer(bootstrap_servers=kafka.address, group_id=name, group_protocol="consumer") as consumer:
        consumer.subscribe([name])
        with pytest.raises(KafkaError) as caught:
            take(consumer, 1)
        assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION
