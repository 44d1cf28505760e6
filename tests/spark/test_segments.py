"""`mode=segments`: log directories read straight from disk, beside a broker that is using them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.spark import Lab, values
from tidelog.client import topics
from tidelog.common.types import TopicPartition
from tidelog.log.reading.reader import LogDirectory


def numbered(start: int, end: int) -> list[str]:
    return [f"v{number:04}" for number in range(start, end)]


@pytest.fixture(scope="module")
def spread(lab: Lab) -> str:
    """A topic of several segments in each of two partitions."""
    topic = lab.topic(2, segment_bytes=str(1 << 20))
    filler = "x" * 1000
    for partition in (0, 1):
        for first in range(0, 4000, 1000):
            rows = [f"p{partition}-{number:05}-{filler}" for number in range(first, first + 1000)]
            lab.produce(topic, rows, partition=partition, timestamps=[1000 * n for n in range(first, first + 1000)])
    assert len(LogDirectory(lab.data).partition(topic, 0).segments) > 2
    lab.settle(topic, 2)
    return topic


def test_both_modes_give_the_same_rows(lab: Lab, spread: str) -> None:
    columns = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
    wire = lab.read(spread, includeHeaders="true").select(*columns)
    disk = lab.segments(spread, includeHeaders="true").select(*columns)
    assert disk.schema == wire.schema
    assert disk.count() == wire.count() == 8000
    assert disk.exceptAll(wire).count() == 0


def test_offsets_and_times_prune(lab: Lab, spread: str) -> None:
    start, end = {spread: {"0": 1500, "1": 3999}}, {spread: {"0": 1502, "1": -1}}
    found = lab.segments(spread, startingOffsets=json.dumps(start), endingOffsets=json.dumps(end))
    assert [(row.partition, row.offset) for row in found.orderBy("partition", "offset").collect()] == [
        (0, 1500),
        (0, 1501),
        (1, 3999),
    ]
    timed = lab.segments(spread, startingTimestamp="3998000", columns="offset,partition")
    assert sorted((row.partition, row.offset) for row in timed.collect()) == [
        (0, 3998),
        (0, 3999),
        (1, 3998),
        (1, 3999),
    ]
    assert lab.segments(spread, endingTimestamp="10000").count() == 20


def test_tasks_follow_bytes_and_wishes(lab: Lab, spread: str) -> None:
    assert lab.segments(spread).rdd.getNumPartitions() == 1
    many = lab.segments(spread, minPartitions="6")
    assert many.rdd.getNumPartitions() >= 6
    assert many.select("partition", "offset").distinct().count() == many.count() == 8000


def test_read_committed_from_disk(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, ["kept-1"], transactional_id=f"{topic}-a")
    lab.produce(topic, ["aborted-1", "aborted-2"], transactional_id=f"{topic}-b", commit=False)
    lab.produce(topic, ["kept-2"], transactional_id=f"{topic}-a")
    lab.settle(topic)
    committed = lab.segments(topic, **{"kafka.isolation.level": "read_committed"})
    assert values(committed) == ["kept-1", "kept-2"]
    assert values(lab.segments(topic)) == ["aborted-1", "aborted-2", "kept-1", "kept-2"]


def test_a_stream_over_segments(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 5))

    def stream() -> Any:
        reader = lab.spark.readStream.format("tidelog").option("mode", "segments").option("subscribe", topic)
        return reader.option("startingOffsets", "earliest").load(str(lab.data))

    batches: list[Any] = []
    lab.settle(topic)
    lab.into(stream(), batches, tmp_path)
    lab.produce(topic, numbered(5, 9))
    lab.settle(topic)
    lab.into(stream(), batches, tmp_path)
    assert [row for _, rows in batches for row in rows] == numbered(0, 9)


def test_segments_that_retention_took(lab: Lab, spread: str) -> None:
    start = json.dumps({spread: {"0": 0, "1": 0}})
    lab.ask(lambda cluster: topics.delete_records(cluster, {TopicPartition(spread, 0): 3500}))
    tolerant = lab.segments(spread, startingOffsets=start, failOnDataLoss="false")
    assert tolerant.where("partition = 1").count() == 4000


def test_no_such_place_or_topic(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is not in the log directories"):
        lab.segments("no-such-topic").collect()
    reader = lab.spark.read.format("tidelog").option("mode", "segments").option("subscribe", "t")
    with pytest.raises(Exception, match="does not exist"):
        reader.load(str(tmp_path / "nowhere")).collect()
