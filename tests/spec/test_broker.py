"""What clients see of one broker: 000 文件目录结构, 003 3.2 Broker写消息, 004 核心概念, Producer, Consumer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.blocking_wire import BlockingWire
from support.wire import NOW, batch, connected, fetch_request, produce_request, run, serving
from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.common.config import Key
from tidelog.common.errors import ErrorCode
from tidelog.log.config import LogConfig
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    CreatePartitionsRequest,
    DeleteRecordsRequest,
    FindCoordinatorRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
)
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import Record, iter_batches
from tidelog.testing import Broker


def records_in(answer: Any) -> list[Record]:
    """The records of a Fetch answer for one partition."""
    return [record for part in iter_batches(answer.responses[0].partitions[0].records) for record in part.records()]


def values_in(answer: Any) -> list[bytes | None]:
    return [record.value for record in records_in(answer)]


# --- a whole broker -------------------------------------------------------------------------------------------------


def test_a_first_start_makes_five_files(tmp_path: Path) -> None:
    """000 文件目录结构: the first start makes the four checkpoints and meta.properties.

    Beside them lie the lock, as in Kafka, and the store, where Kafka of that time had ZooKeeper: nothing else.
    """
    five = {
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    }
    with Broker(tmp_path):
        names = {path.name for path in tmp_path.iterdir()}
    assert names == five | {".lock", "tidelog.store", "tidelog.store-wal"}
    assert {path.name for path in tmp_path.iterdir()} == five | {".kafka_cleanshutdown", ".lock", "tidelog.store"}


def test_committed_offsets_get_their_topic_when_a_consumer_first_comes(tmp_path: Path) -> None:
    """000 文件目录结构: __consumer_offsets is not there at first; the first consumer makes it come to be."""
    with Broker(tmp_path) as broker, BlockingWire(broker.address) as wire:
        wire.create_topic("t")
        assert "__consumer_offsets" not in broker.server.metadata.topics
        answer = wire.ask(ApiKey.FIND_COORDINATOR, 2, FindCoordinatorRequest(key="g", key_type=0))
        while answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
            answer = wire.ask(ApiKey.FIND_COORDINATOR, 2, FindCoordinatorRequest(key="g", key_type=0))
        assert answer.error_code == 0
        assert list(tmp_path.glob("__consumer_offsets-*"))


def test_partitions_are_given_at_creation_and_can_be_added(tmp_path: Path) -> None:
    """000 文件目录结构: the number of partitions is given when a topic is made, and may be changed afterwards."""
    with Broker(tmp_path) as broker, BlockingWire(broker.address) as wire:
        wire.create_topic("topic-log", 4)
        assert sorted(path.name for path in tmp_path.glob("topic-log-*")) == [f"topic-log-{n}" for n in range(4)]
        more = CreatePartitionsRequest.CreatePartitionsTopic(name="topic-log", count=6, assignments=None)
        answer = wire.ask(ApiKey.CREATE_PARTITIONS, 2, CreatePartitionsRequest(topics=[more], timeout_ms=5000))
        assert answer.results[0].error_code == 0
        assert len(list(tmp_path.glob("topic-log-*"))) == 6


def test_the_leader_of_a_partition_is_in_its_state_node(tmp_path: Path) -> None:
    """004 Producer: the leader of a partition is found in the node /brokers/…/state."""
    with Broker(tmp_path, config={"node.id": "3"}) as broker:
        broker.create_topic("t", 2)
        data, _ = broker.call(broker.server.store.get("/brokers/topics/t/partitions/1/state"))
        state = json.loads(data)
    assert (state["leader"], state["isr"]) == (3, [3])


def test_offsets_of_the_oldest_consumers_are_in_the_tree(tmp_path: Path) -> None:
    """004 核心概念/zookeeper: before 0.9 offsets were kept in ZooKeeper (OffsetCommit 0), since then in a topic."""
    part = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=2049)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=[part])
    request = OffsetCommitRequest(group_id="g", topics=[topic])
    with Broker(tmp_path) as broker, BlockingWire(broker.address) as wire:
        wire.create_topic("t")
        answer = wire.ask(ApiKey.OFFSET_COMMIT, 0, request)
        assert answer.topics[0].partitions[0].error_code == 0
        data, _ = broker.call(broker.server.store.get("/consumers/g/offsets/t/0"))
        assert data == b"2049"
        assert "__consumer_offsets" not in broker.server.metadata.topics


# --- producing ------------------------------------------------------------------------------------------------------


def test_offsets_order_one_partition_and_say_nothing_of_others(tmp_path: Path) -> None:
    """004 核心概念/Partition, 主题与分区: each partition counts for itself; within it, order is that of writing."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 2)
            for value, partition in ((b"a", 0), (b"b", 1), (b"c", 0), (b"d", 0), (b"e", 1)):
                await client.produce("t", batch(value), partition=partition)
            first, second = records_in(await client.fetch("t")), records_in(await client.fetch("t", partition=1))
            assert [(record.offset, record.value) for record in first] == [(0, b"a"), (1, b"c"), (2, b"d")]
            assert [(record.offset, record.value) for record in second] == [(0, b"b"), (1, b"e")]

    run(main())


def test_each_batch_begins_where_the_last_one_ended(tmp_path: Path) -> None:
    """003 3.2, steps 1-5: a batch starts at nextOffset, which then is its last offset + 1; consumers see it grow."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as consumer:
            broker.create_topic("t")
            for count, start in ((3, 0), (1, 3), (5, 4)):
                asked = fetch_request({"t": {0: start}}, max_wait_ms=10_000)
                consumer.send(ApiKey.FETCH, 12, asked)
                part = await client.produce("t", batch(*[b"v"] * count))
                assert part.base_offset == start
                seen = records_in(await consumer.receive(ApiKey.FETCH, 12))
                assert [record.offset for record in seen] == list(range(start, start + count))

    run(main())


def test_acks_0_gets_no_answer_and_1_does(tmp_path: Path) -> None:
    """004 重要的生产者参数/acks: 0 waits for no answer; 1 is answered once the leader has written."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"silent")}}, acks=0))
            part = await client.produce("t", batch(b"loud"), acks=1)
            assert part.base_offset == 1
            assert values_in(await client.fetch("t")) == [b"silent", b"loud"]

    run(main())


def test_a_message_above_the_limit_is_refused(tmp_path: Path) -> None:
    """004 重要的生产者参数/max.request.size: 1 MB is the default bound, on the broker as well (plus a batch header)."""
    assert LogConfig.from_topic({}).max_message_bytes == 1_048_576 + 12

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            assert (await client.produce("t", batch(bytes(1_048_400)))).error_code == 0
            assert (await client.produce("t", batch(bytes(1_048_600)))).error_code == ErrorCode.MESSAGE_TOO_LARGE

    run(main())


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_batches_stay_compressed_from_end_to_end(tmp_path: Path, codec: Codec) -> None:
    """000 v1 版本, 001 二, 004 数据压缩: stored and sent as the producer packed them; offsets are the server's work."""
    assert LogConfig.from_topic({}).compression_type == "producer"

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"first"))
            sent = batch(*[b"value %d" % n for n in range(50)], codec=codec)
            assert int.from_bytes(sent[:8], "big") == 0
            await client.produce("t", sent)
            data = bytes((await client.fetch("t", 1)).responses[0].partitions[0].records)
            assert int.from_bytes(data[:8], "big") == 1
            assert data[16:] == bytes(sent[16:])
            (log_file,) = broker.log_manager.live_dirs[0].path.glob("t-0/*.log")
            assert data in log_file.read_bytes()
            assert [record.offset for record in next(iter(iter_batches(data))).records()] == list(range(1, 51))

    run(main())


@pytest.mark.parametrize("sent", [Codec.NONE, Codec.SNAPPY])
@pytest.mark.parametrize(
    ("setting", "stored"),
    [("uncompressed", Codec.NONE), ("gzip", Codec.GZIP), ("snappy", Codec.SNAPPY), ("lz4", Codec.LZ4)],
)
def test_a_topic_may_choose_the_codec(tmp_path: Path, sent: Codec, setting: str, stored: Codec) -> None:
    """000 v1 版本: compression.type of the topic, if not `producer`, decides; `uncompressed` means none."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"compression.type": setting})
            await client.produce("t", batch(*[b"value"] * 20, codec=sent))
            data = (await client.fetch("t")).responses[0].partitions[0].records
            assert [one.codec for one in iter_batches(data)] == [stored]

    run(main())


def test_times_are_the_producers_unless_the_topic_says_otherwise(tmp_path: Path) -> None:
    """000 v1 版本: log.message.timestamp.type is CreateTime by default; with LogAppendTime it is the broker's."""
    assert LogConfig.from_topic({}).message_timestamp_type == "CreateTime"

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("made")
            broker.create_topic("taken", 1, {"message.timestamp.type": "LogAppendTime"})
            for topic, expected in (("made", NOW - 5000), ("taken", NOW)):
                await client.produce(topic, batch(b"v", timestamp=NOW - 5000))
                assert [record.timestamp for record in records_in(await client.fetch(topic))] == [expected]

    run(main())


# --- consuming ------------------------------------------------------------------------------------------------------


def test_a_fetch_waits_for_enough_or_for_its_time(tmp_path: Path) -> None:
    """004 重要的消费者参数/fetch.min.bytes, fetch.max.wait.ms: wait for so much, but no longer than that."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as producer:
            broker.create_topic("t")
            small = batch(bytes(100))
            await producer.produce("t", small)
            client.send(ApiKey.FETCH, 12, fetch_request({"t": {0: 0}}, min_bytes=len(small) + 1, max_wait_ms=30_000))
            waiting = asyncio.ensure_future(client.receive(ApiKey.FETCH, 12))
            await producer.fetch("t")  # a whole exchange later there is still no answer
            assert not waiting.done()
            await producer.produce("t", batch(bytes(100)))
            assert len(records_in(await waiting)) == 2
            late = await client.fetch("t", 2, min_bytes=1, max_wait_ms=20)
            assert records_in(late) == []

    run(main())


def test_a_fetch_brings_no_more_than_asked_for(tmp_path: Path) -> None:
    """004 重要的消费者参数/fetch.max.bytes, max.partition.fetch.bytes: bounds per answer and per partition."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 2)
            for partition in (0, 1, 0, 1, 0, 1):
                await client.produce("t", batch(bytes(1000)), partition=partition)
            size = len(batch(bytes(1000)))

            async def sizes(**limits: int) -> list[int]:
                answer = await client.ask(ApiKey.FETCH, 12, fetch_request({"t": {0: 0, 1: 0}}, **limits))
                return [len(part.records) for part in answer.responses[0].partitions]

            assert await sizes() == [3 * size, 3 * size]
            assert await sizes(partition_max_bytes=2 * size) == [2 * size, 2 * size]
            assert sum(await sizes(max_bytes=4 * size)) <= 4 * size

    run(main())


def test_deleting_records_moves_the_start_of_the_log(tmp_path: Path) -> None:
    """004 基于日志起始偏移量: logStartOffset can be moved by a DeleteRecords request."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            for value in (b"a", b"b", b"c"):
                await client.produce("t", batch(value))
            asked = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=2)
            topic = DeleteRecordsRequest.DeleteRecordsTopic(name="t", partitions=[asked])
            await client.ask(ApiKey.DELETE_RECORDS, 2, DeleteRecordsRequest(topics=[topic], timeout_ms=5000))
            assert broker.replicas.topic("t")[0].log.log_start_offset == 2
            old = (await client.fetch("t", 1)).responses[0].partitions[0]
            assert old.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            assert values_in(await client.fetch("t", 2)) == [b"c"]

    run(main())


def test_where_to_start_without_a_committed_offset(tmp_path: Path) -> None:
    """004 指定位移消费: `earliest` is the start of the partition, `latest` its end; and any offset may be sought."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"a", b"b", b"c"))

            async def offset(timestamp: int) -> int:
                asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
                topic = ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[asked])
                answer = await client.ask(ApiKey.LIST_OFFSETS, 5, ListOffsetsRequest(topics=[topic]))
                found: int = answer.topics[0].partitions[0].offset
                return found

            assert (await offset(-2), await offset(-1)) == (0, 3)
            assert records_in(await client.fetch("t", 1))[-1].offset == 2

    run(main())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (keys.LOG_RETENTION_CHECK_INTERVAL_MS, 300_000),
        (keys.LOG_INDEX_INTERVAL_BYTES, 4096),
        (keys.LOG_INDEX_SIZE_MAX_BYTES, 10 << 20),
        (keys.LOG_SEGMENT_BYTES, 1_073_741_824),
        (keys.LOG_RETENTION_BYTES, -1),
        (keys.LOG_RETENTION_HOURS, 168),
        (keys.LOG_ROLL_HOURS, 168),
        (keys.REPLICA_LAG_TIME_MAX_MS, 30_000),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_defaults(key: Key[int], value: int) -> None:
    """000 日志删除, 001 三. 日志索引, 004 日志索引 and 日志删除: the broker's defaults that the documents give."""
    assert BrokerConfig({"log.dirs": "unused"})[key] == value
