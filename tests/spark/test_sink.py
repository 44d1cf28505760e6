"""`df.write` and `df.writeStream` with `format("tidelog")`: columns, and batches as a whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from support.failing_sink import FailingSource
from support.spark import Lab, values
from tidelog.common.hashing import partition_for_key


def numbered(count: int) -> list[str]:
    return [f"v{number:04}" for number in range(count)]


def save(lab: Lab, frame: DataFrame, **options: str) -> None:
    writer = frame.write.format("tidelog").option("kafka.bootstrap.servers", lab.address)
    writer.options(**options).mode("append").save()


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_keys_values_and_headers_arrive(lab: Lab, delivery: str) -> None:
    topic = lab.topic(3)
    frame = lab.spark.sql(
        "select concat('k', id) key, cast(concat('v', id) as binary) value, "
        "array(named_struct('key', 'h', 'value', cast('x' as binary))) headers, id ignored from range(100)"
    )
    save(lab, frame, topic=topic, delivery=delivery)
    rows = lab.read(topic, includeHeaders="true", **{"kafka.isolation.level": "read_committed"}).collect()
    assert {(bytes(row.key), bytes(row.value)) for row in rows} == {
        (f"k{n}".encode(), f"v{n}".encode()) for n in range(100)
    }
    assert all(row.partition == partition_for_key(bytes(row.key), 3) for row in rows)
    assert all([(header.key, bytes(header.value)) for header in row.headers] == [("h", b"x")] for row in rows)
    assert lab.open_transactions(topic) == []


def test_topic_and_partition_columns(lab: Lab) -> None:
    one, two = lab.topic(2), lab.topic(2)
    rows = [(one, 0, "a"), (two, 1, "b"), (one, 1, "c")]
    frame = lab.spark.createDataFrame(rows, "topic string, partition int, value string")
    save(lab, frame)
    assert [(row.partition, bytes(row.value)) for row in lab.read(one).orderBy("partition").collect()] == [
        (0, b"a"),
        (1, b"c"),
    ]
    assert [(row.partition, bytes(row.value)) for row in lab.read(two).collect()] == [(1, b"b")]
    save(lab, frame, topic=two)
    assert len(values(lab.read(two))) == 4


def test_times_on_request(lab: Lab) -> None:
    topic = lab.topic()
    save(
        lab, lab.spark.sql("select 'a' value, timestamp_millis(123456) timestamp"), topic=topic, includeTimestamp="true"
    )
    assert lab.read(topic).selectExpr("unix_millis(timestamp) ms").collect()[0].ms == 123456


@pytest.mark.parametrize(
    ("query", "options", "reason"),
    [
        ("select 1 key", {"topic": "t"}, "Required attribute 'value' not found"),
        ("select 1 value", {"topic": "t"}, "value attribute type must be a string or binary, not int"),
        ("select 'a' value, 1.5 key", {"topic": "t"}, "key attribute type must be a string or binary"),
        ("select 'a' value", {}, "topic option required"),
        ("select 'a' value, cast(null as string) topic", {}, "null topic present in the data"),
    ],
)
def test_wrong_columns_are_named(lab: Lab, query: str, options: dict[str, str], reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        save(lab, lab.spark.sql(query), **options)


def test_a_partition_that_is_not_there(lab: Lab) -> None:
    topic = lab.topic(2)
    with pytest.raises(Exception, match="it has 0 to 1"):
        save(lab, lab.spark.sql("select 'a' value, 7 partition"), topic=topic)


def test_a_job_that_fails_writes_nothing(lab: Lab) -> None:
    topic = lab.topic(2)
    frame = lab.spark.range(0, 1000, 1, 4).selectExpr(
        "cast(if(id = 999, raise_error('broken row'), id) as string) value"
    )
    with pytest.raises(Exception, match="broken row"):
        save(lab, frame, topic=topic)
    assert lab.committed(topic) == []
    save(lab, lab.spark.range(0, 10).selectExpr("cast(id as string) value"), topic=topic)
    assert sorted(lab.committed(topic)) == [str(n) for n in range(10)]
    assert lab.open_transactions(topic) == [], "the second job aborts what tasks of the first left behind"


def test_a_stream_is_written_exactly_once(lab: Lab, tmp_path: Path) -> None:
    source, target = lab.topic(2), lab.topic(3)
    lab.produce(source, numbered(1000))
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "300"}
    lab.sink(lab.stream(source, **options), tmp_path, topic=target)
    lab.produce(source, ["later"])
    lab.sink(lab.stream(source, **options), tmp_path, topic=target)
    assert sorted(lab.committed(target)) == ["later", *numbered(1000)]
    assert lab.open_transactions(target) == []
    logged = json.loads((tmp_path / "offsets" / "0").read_text().splitlines()[-1])
    assert sum(logged[source].values()) == pytest.approx(300, abs=2)


def test_at_least_once_for_streams(lab: Lab, tmp_path: Path) -> None:
    source, target = lab.topic(), lab.topic()
    lab.produce(source, numbered(100))
    lab.sink(lab.stream(source, startingOffsets="earliest"), tmp_path, topic=target, delivery="at_least_once")
    assert values(lab.read(target)) == numbered(100)


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_topic_that_is_not_there_is_made(lab: Lab, delivery: str) -> None:
    topic = f"{lab.topic()}-missing"
    save(lab, lab.spark.sql("select 'v' value"), topic=topic, delivery=delivery)
    assert values(lab.read(topic)) == ["v"]


def test_a_batch_whose_tasks_all_fail_leaves_nothing_open(lab: Lab, tmp_path: Path) -> None:
    """No task has a message for the driver: the checkpoint names the query."""
    lab.spark.dataSource.register(FailingSource)
    source, target = lab.topic(), lab.topic()
    lab.produce(source, numbered(10))
    failing = {"failAt": "wrote", "counter": str(tmp_path / "never" / "failed"), "harmless": "0", "topic": target}
    stream = lab.stream(source, startingOffsets="earliest").select("value")
    with pytest.raises(Exception, match="failed"):
        lab.sink(stream, tmp_path / "checkpoint", form="tidelog_failing", **failing)
    assert lab.open_transactions(target) == []
