"""`spark.readStream.format("tidelog")`: triggers, limits, restarts, and what may vanish meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.spark import Lab
from tidelog.client import topics
from tidelog.client.offsets import committed_group_offsets
from tidelog.common.types import TopicPartition

EARLIEST = {"startingOffsets": "earliest"}


def numbered(start: int, end: int) -> list[str]:
    return [f"v{number:04}" for number in range(start, end)]


def test_available_now_reads_what_is_there_and_a_restart_goes_on(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 10))
    batches: list[Any] = []
    lab.into(lab.stream(topic, **EARLIEST), batches, tmp_path)
    lab.produce(topic, numbered(10, 15))
    lab.into(lab.stream(topic, **EARLIEST), batches, tmp_path)
    assert batches == [(0, numbered(0, 10)), (1, numbered(10, 15))]
    logged = (tmp_path / "offsets" / "1").read_text().splitlines()[-1]
    assert json.loads(logged) == {topic: {"0": 15}}


def test_max_offsets_per_trigger_is_shared_over_partitions(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic(2)
    lab.produce(topic, numbered(0, 30), partition=0)
    lab.produce(topic, numbered(100, 110), partition=1)
    batches: list[Any] = []
    lab.into(lab.stream(topic, **EARLIEST, maxOffsetsPerTrigger="20"), batches, tmp_path)
    assert [len(rows) for _, rows in batches] == [20, 20]
    assert batches[0][1] == numbered(0, 15) + numbered(100, 105)


def test_once_takes_everything_in_one_batch(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 50))
    batches: list[Any] = []
    lab.into(lab.stream(topic, **EARLIEST, maxOffsetsPerTrigger="20"), batches, tmp_path, once=True)
    assert [len(rows) for _, rows in batches] == [50]


def test_a_stream_that_starts_at_the_latest_offsets_sees_only_what_comes_later(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 10))
    batches: list[Any] = []
    lab.into(lab.stream(topic), batches, tmp_path)
    assert [rows for _, rows in batches if rows] == []
    lab.produce(topic, numbered(10, 12))
    lab.into(lab.stream(topic), batches, tmp_path)
    assert [rows for _, rows in batches if rows] == [numbered(10, 12)]


def test_processing_time_follows_the_topic(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 5))
    batches: list[Any] = []
    query = lab.into(lab.stream(topic, **EARLIEST), batches, tmp_path, processingTime="50 milliseconds")
    try:
        query.processAllAvailable()
        lab.produce(topic, numbered(5, 8))
        query.processAllAvailable()
        assert [row for _, rows in batches for row in rows] == numbered(0, 8)
        progress = query.lastProgress
        assert progress is not None
        assert json.loads(progress["sources"][0]["latestOffset"]) == {topic: {"0": 8}}
    finally:
        query.stop()


def test_min_offsets_per_trigger_waits_for_enough(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 5))
    batches: list[Any] = []
    waiting = {"minOffsetsPerTrigger": "10", "maxTriggerDelay": "10m"}
    query = lab.into(lab.stream(topic, **EARLIEST, **waiting), batches, tmp_path, processingTime="50 milliseconds")
    try:
        query.processAllAvailable()
        assert [rows for _, rows in batches] == [numbered(0, 5)], "the first trigger does not wait"
        lab.produce(topic, numbered(5, 10))
        query.processAllAvailable()
        assert [rows for _, rows in batches] == [numbered(0, 5)]
        lab.produce(topic, numbered(10, 15))
        query.processAllAvailable()
        assert [rows for _, rows in batches] == [numbered(0, 5), numbered(5, 15)]
    finally:
        query.stop()


def test_new_partitions_are_read_from_their_beginning(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic(1)
    lab.produce(topic, numbered(0, 3), partition=0)
    batches: list[Any] = []
    lab.into(lab.stream(topic, **EARLIEST), batches, tmp_path)
    lab.ask(lambda cluster: topics.create_partitions(cluster, topic, 2))
    lab.produce(topic, numbered(3, 6), partition=1)
    lab.into(lab.stream(topic, **EARLIEST), batches, tmp_path)
    assert [row for _, rows in batches for row in rows] == numbered(0, 6)


def test_a_failed_batch_is_read_again_with_the_same_offsets(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 5))
    seen: list[list[str]] = []

    def fail_once(batch: Any, number: int) -> None:
        seen.append(sorted(row.v for row in batch.selectExpr("cast(value as string) v").collect()))
        if len(seen) == 1:
            raise ValueError("the sink is down")

    def run() -> None:
        writer = lab.stream(topic, **EARLIEST).writeStream.foreachBatch(fail_once)
        writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(Exception, match="the sink is down"):
        run()
    lab.produce(topic, numbered(5, 8))
    run()
    assert seen == [numbered(0, 5), numbered(0, 5), numbered(5, 8)]


@pytest.mark.parametrize("tolerant", [False, True])
def test_vanished_offsets_in_a_stream(lab: Lab, tmp_path: Path, tolerant: bool) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 5))
    batches: list[Any] = []
    options = {**EARLIEST, "failOnDataLoss": "false" if tolerant else "true"}
    lab.into(lab.stream(topic, **options), batches, tmp_path)
    lab.produce(topic, numbered(5, 20))
    lab.ask(lambda cluster: topics.delete_records(cluster, {TopicPartition(topic, 0): 12}))
    if tolerant:
        lab.into(lab.stream(topic, **options), batches, tmp_path)
        assert batches[-1][1] == numbered(12, 20)
    else:
        with pytest.raises(Exception, match="failOnDataLoss to false"):
            lab.into(lab.stream(topic, **options), batches, tmp_path)


def test_positions_are_published_as_a_consumer_group(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, numbered(0, 5))
    options = {**EARLIEST, "publishOffsets": "true", "kafka.group.id": f"{topic}-lag"}
    for rounds in (1, 2):
        lab.into(lab.stream(topic, **options), [], tmp_path)
        lab.produce(topic, numbered(0, rounds))
    published = lab.ask(lambda cluster: committed_group_offsets(cluster, f"{topic}-lag"))
    assert published == {TopicPartition(topic, 0): 5}
