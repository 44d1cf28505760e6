"""`spark.read.format("tidelog")` over the wire: every option, and what Spark's Kafka source would give."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from support.spark import Lab, values
from tidelog.client import topics
from tidelog.common.types import TopicPartition


def numbered(count: int, prefix: str = "v") -> list[str]:
    return [f"{prefix}{number:04}" for number in range(count)]


def test_rows_have_the_schema_of_sparks_kafka_source(lab: Lab) -> None:
    topic = lab.topic()
    headers = pa.array(
        [[("h", b"1"), ("h", None)], None], pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    )
    lab.produce(topic, ["a", "b"], timestamps=[1000, 2500], headers=headers)
    frame = lab.read(topic, includeHeaders="true")
    assert frame.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    first, second = frame.orderBy("offset").collect()
    assert (bytes(first.key), bytes(first.value), first.topic, first.partition, first.offset) == (
        b"a",
        b"a",
        topic,
        0,
        0,
    )
    assert first.timestampType == 0
    assert [(header.key, header.value) for header in first.headers] == [("h", b"1"), ("h", None)]
    assert second.headers is None
    millis = frame.orderBy("offset").selectExpr("unix_millis(timestamp) ms").collect()
    assert [row.ms for row in millis] == [1000, 2500]
    assert "headers" not in lab.read(topic).columns


def test_nulls_stay_null(lab: Lab) -> None:
    topic = lab.topic(cleanup_policy="compact")
    lab.spark.sql("select 'k' key, cast(null as string) value").write.format("tidelog").option(
        "kafka.bootstrap.servers", lab.address
    ).option("topic", topic).option("delivery", "at_least_once").mode("append").save()
    (row,) = lab.read(topic).collect()
    assert (bytes(row.key), row.value) == (b"k", None)


def test_columns_choose_what_is_decoded(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, ["a"])
    assert lab.read(topic, columns="value, partition").columns == ["value", "partition"]
    assert lab.read(topic, columns="topic").collect()[0].topic == topic
    chosen = lab.spark.read.format("tidelog").schema("offset bigint, value binary")
    row = chosen.option("kafka.bootstrap.servers", lab.address).option("subscribe", topic).load().collect()[0]
    assert (row.offset, bytes(row.value)) == (0, b"a")


def test_subscribe_assign_and_pattern(lab: Lab) -> None:
    one, two = lab.topic(2), lab.topic(1)
    lab.produce(one, ["one-0"], partition=0)
    lab.produce(one, ["one-1"], partition=1)
    lab.produce(two, ["two-0"], partition=0)
    assert values(lab.read(f"{one}, {two}")) == ["one-0", "one-1", "two-0"]
    assert values(lab.read(None, assign=json.dumps({one: [1], two: [0]}))) == ["one-1", "two-0"]
    assert values(lab.read(None, subscribePattern=f"({one}|{two})")) == ["one-0", "one-1", "two-0"]
    assert values(lab.read(None, subscribePattern=one[:-1] + "nothing")) == []


def test_offsets_in_every_form(lab: Lab) -> None:
    topic = lab.topic(2)
    for partition in (0, 1):
        lab.produce(topic, numbered(10, f"p{partition}-"), partition=partition)
    assert len(values(lab.read(topic))) == 20
    start, end = {topic: {"0": 8, "1": -2}}, {topic: {"0": -1, "1": 1}}
    found = values(lab.read(topic, startingOffsets=json.dumps(start), endingOffsets=json.dumps(end)))
    assert found == ["p0-0008", "p0-0009", "p1-0000"]
    assert values(lab.read(topic, startingOffsets="earliest", endingOffsets="latest")) == sorted(
        numbered(10, "p0-") + numbered(10, "p1-")
    )
    for wrong in ({"startingOffsets": "latest"}, {"startingOffsets": json.dumps({topic: {"0": 1}})}):
        with pytest.raises(Exception, match=r"can't be latest|must specify all TopicPartitions"):
            lab.read(topic, **wrong).collect()


def test_times_in_every_form(lab: Lab) -> None:
    topic = lab.topic(2)
    for partition in (0, 1):
        lab.produce(
            topic, numbered(10, f"p{partition}-"), partition=partition, timestamps=[1000 * n for n in range(10)]
        )
    assert values(lab.read(topic, startingTimestamp="8001")) == ["p0-0009", "p1-0009"]
    assert values(lab.read(topic, startingTimestamp="2000", endingTimestamp="3000")) == ["p0-0002", "p1-0002"]
    assert len(values(lab.read(topic, endingTimestamp="999999"))) == 20
    per_partition = json.dumps({topic: {"0": 9000, "1": 8000}})
    assert values(lab.read(topic, startingOffsetsByTimestamp=per_partition)) == ["p0-0009", "p1-0008", "p1-0009"]
    assert len(values(lab.read(topic, endingOffsetsByTimestamp=per_partition))) == 17
    with pytest.raises(Exception, match="No offset matched from request of topic-partition"):
        lab.read(topic, startingTimestamp="9001").collect()
    late = {"startingTimestamp": "9001", "startingOffsetsByTimestampStrategy": "latest"}
    assert values(lab.read(topic, **late)) == []


def test_tasks_as_asked(lab: Lab) -> None:
    topic = lab.topic(2)
    for partition in (0, 1):
        lab.produce(topic, numbered(100, f"p{partition}-"), partition=partition)
    whole = values(lab.read(topic))
    assert lab.read(topic).rdd.getNumPartitions() == 2
    for options, tasks in (({"minPartitions": "8"}, 8), ({"maxRecordsPerPartition": "30"}, 8)):
        frame = lab.read(topic, **options)
        assert frame.rdd.getNumPartitions() == tasks
        assert values(frame) == whole


def test_filters_are_pushed_down_and_right(lab: Lab) -> None:
    topic = lab.topic(2)
    for partition in (0, 1):
        lab.produce(
            topic, numbered(50, f"p{partition}-"), partition=partition, timestamps=[1000 * n for n in range(50)]
        )
    frame = lab.read(topic)
    assert values(frame.where("partition = 1 and offset >= 48")) == ["p1-0048", "p1-0049"]
    assert values(frame.where("partition = 1 and offset >= 48")) == ["p1-0048", "p1-0049"]
    assert frame.where("partition = 1 and offset >= 48").rdd.getNumPartitions() == 1
    bound = datetime.fromtimestamp(47.5, UTC).isoformat()
    assert values(frame.where(f"timestamp > timestamp'{bound}'")) == [f"p{p}-{n:04}" for p in (0, 1) for n in (48, 49)]
    assert values(frame.where("offset in (3, 7) and partition = 0")) == ["p0-0003", "p0-0007"]
    assert values(frame.where(f"topic = '{topic}x'")) == []


def test_read_committed_leaves_out_what_was_aborted_or_is_open(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, ["kept-1"], transactional_id=f"{topic}-a")
    lab.produce(topic, ["aborted"], transactional_id=f"{topic}-b", commit=False)
    lab.produce(topic, ["kept-2"])
    assert values(lab.read(topic)) == ["aborted", "kept-1", "kept-2"]
    assert sorted(lab.committed(topic)) == ["kept-1", "kept-2"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(lab: Lab, codec: str) -> None:
    topic = lab.topic()
    expected = numbered(2000, codec)
    lab.produce(topic, expected, **{"compression.type": codec, "batch.size": "10000"})
    assert values(lab.read(topic)) == expected


def test_sql_tables(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, ["a", "b"])
    lab.spark.sql(
        f"create or replace temporary view topic_view using tidelog "
        f"options ('kafka.bootstrap.servers' '{lab.address}', subscribe '{topic}')"
    )
    assert lab.spark.sql("select count(*) n from topic_view").collect()[0].n == 2


def test_a_topic_that_is_not_there_is_named(lab: Lab) -> None:
    with pytest.raises(Exception, match="topic no-such-topic does not exist"):
        lab.read("no-such-topic").collect()


def test_vanished_offsets(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(100))
    lab.ask(lambda cluster: topics.delete_records(cluster, {TopicPartition(topic, 0): 60}))
    assert len(values(lab.read(topic))) == 40
    start = json.dumps({topic: {"0": 10}})
    with pytest.raises(Exception, match="set the source option failOnDataLoss to false"):
        lab.read(topic, startingOffsets=start).collect()
    assert values(lab.read(topic, startingOffsets=start, failOnDataLoss="false")) == numbered(100)[60:]
    gone = {"startingOffsets": json.dumps({topic: {"0": 10}}), "endingOffsets": json.dumps({topic: {"0": 50}})}
    assert values(lab.read(topic, **gone, failOnDataLoss="false")) == []


def test_all_records_of_a_large_topic_once(lab: Lab) -> None:
    topic = lab.topic(3)
    expected = numbered(60_000)
    lab.produce(topic, expected)
    frame = lab.read(topic, **{"kafka.max.partition.fetch.bytes": "100000"})
    assert frame.selectExpr("count(*) n", "count(distinct value) d").collect()[0] == (60_000, 60_000)
