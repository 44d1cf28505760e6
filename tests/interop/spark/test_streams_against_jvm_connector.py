"""Streams with every source option: the same batches, tasks and checkpointed offsets as Spark's own Kafka connector.

Both connectors follow the same topics at the same time; what is appended or deleted in between happens to both.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.connectors import Pair
from support.spark import BrokerLab
from tidelog.client import topics
from tidelog.common.types import TopicPartition

pytestmark = [pytest.mark.java, pytest.mark.timeout(1200)]

NOW = {"availableNow": True}
FAST = {"processingTime": "50 milliseconds"}
_numbers = itertools.count()


class Streams:
    """One stream of each connector, with a checkpoint of its own."""

    def __init__(self, pair: Pair, home: Path, **options: str) -> None:
        self.pair, self.home, self.options = pair, home, options
        self.name = f"stream-{next(_numbers)}"

    def start(self, **trigger: Any) -> None:
        for form, engine in self.engines:
            checkpoint = str(self.home / form)
            engine.do("start", name=self.name, options=self.options, checkpoint=checkpoint, trigger=trigger)

    def run(self, **trigger: Any) -> list[list[str]]:
        """Run both to their end; the values of each batch."""
        self.start(**(trigger or NOW))
        return self._equal("finish")

    def outcome(self, **trigger: Any) -> list[bool]:
        """Run both to their end; whether each of them failed."""
        failed = []
        for form, engine in self.engines:
            checkpoint = str(self.home / form)
            answer = engine.ask(
                "start", name=self.name, options=self.options, checkpoint=checkpoint, trigger=trigger or NOW
            )
            failed.append("error" in answer or "error" in engine.ask("finish", name=self.name))
        return failed

    def settle(self) -> list[list[str]]:
        return self._equal("settle")

    def wait(self, batches: int) -> list[list[str]]:
        return self._equal("wait", batches=batches)

    def stop(self) -> list[list[str]]:
        return self._equal("stop")

    @property
    def engines(self) -> list[tuple[str, Any]]:
        return [("kafka", self.pair.theirs), ("tidelog", self.pair.ours)]

    def _equal(self, do: str, **arguments: Any) -> list[list[str]]:
        theirs, ours = (engine.do(do, name=self.name, **arguments) for _, engine in self.engines)
        if "minPartitions" not in self.options:  # theirs has tasks for empty ranges
            for batch in (*theirs, *ours):
                batch["tasks"] = None
        assert ours == theirs
        return [[bytes.fromhex(row[1]).decode() for row in batch["rows"]] for batch in ours]

    def offsets(self) -> Any:
        """The newest offsets in the checkpoints, which are the same."""
        theirs, ours = (self._offsets(self.home / form) for form, _ in self.engines)
        assert ours == theirs
        return ours

    @staticmethod
    def _offsets(checkpoint: Path) -> Any:
        newest = max((path for path in (checkpoint / "offsets").glob("[0-9]*")), key=lambda path: int(path.name))
        return json.loads(newest.read_text().splitlines()[-1])


Make = Callable[..., Streams]


@pytest.fixture
def streams(pair: Pair, tmp_path: Path) -> Make:
    return lambda **options: Streams(pair, tmp_path, **options)


@pytest.fixture
def lab(pair: Pair) -> BrokerLab:
    return pair.lab


def numbered(start: int, end: int, prefix: str = "v") -> list[str]:
    return [f"{prefix}{number:03}" for number in range(start, end)]


def uneven(lab: BrokerLab) -> str:
    topic = lab.topic(3)
    for partition, count in enumerate((40, 11, 1)):
        times = [1000 * n + partition for n in range(count)]
        lab.produce(topic, numbered(0, count, f"p{partition}-"), partition=partition, timestamps=times)
    return topic


def test_available_now_and_a_restart(streams: Make, lab: BrokerLab) -> None:
    topic = lab.topic(2)
    lab.produce(topic, numbered(0, 10))
    both = streams(subscribe=topic, startingOffsets="earliest")
    assert [len(batch) for batch in both.run()] == [10]
    lab.produce(topic, numbered(10, 13))
    assert [len(batch) for batch in both.run()] == [10, 3]
    assert sum(both.offsets()[topic].values()) == 13


@pytest.mark.parametrize("limit", ["1", "3", "10", "20", "1000"])
def test_max_offsets_per_trigger(streams: Make, lab: BrokerLab, limit: str) -> None:
    both = streams(subscribe=uneven(lab), startingOffsets="earliest", maxOffsetsPerTrigger=limit)
    if limit == "1":  # one of each partition, again and again: too long to follow to its end
        both.start(**FAST)
        first = [engine.do("wait", name=both.name, batches=3)[:3] for _, engine in both.engines]
        for _, engine in both.engines:
            engine.do("stop", name=both.name)
        assert [batch["rows"] for batch in first[1]] == [batch["rows"] for batch in first[0]]
    else:
        assert sum(map(len, both.run())) == 52


def test_once_takes_all_in_one_batch(streams: Make, lab: BrokerLab) -> None:
    both = streams(subscribe=uneven(lab), startingOffsets="earliest", maxOffsetsPerTrigger="5")
    assert [len(batch) for batch in both.run(once=True)] == [52]


def test_processing_time_from_the_latest_offsets(streams: Make, lab: BrokerLab) -> None:
    topic = lab.topic(1)
    lab.produce(topic, numbered(0, 5))
    both = streams(subscribe=topic)
    both.start(**FAST)
    assert both.settle() == []
    lab.produce(topic, numbered(5, 8))
    assert both.settle() == [numbered(5, 8)]
    assert both.stop() == [numbered(5, 8)]


def test_min_offsets_per_trigger(streams: Make, lab: BrokerLab) -> None:
    topic = lab.topic(1)
    lab.produce(topic, numbered(0, 5))
    waiting = {"minOffsetsPerTrigger": "10", "maxTriggerDelay": "10m"}
    both = streams(subscribe=topic, startingOffsets="earliest", **waiting)
    both.start(**FAST)
    assert both.settle() == [numbered(0, 5)], "a query's first trigger does not wait"
    lab.produce(topic, numbered(5, 10))
    assert both.settle() == [numbered(0, 5)]
    lab.produce(topic, numbered(10, 15))
    assert both.settle() == [numbered(0, 5), numbered(5, 15)]
    both.stop()


def test_max_trigger_delay(streams: Make, lab: BrokerLab) -> None:
    topic = lab.topic(1)
    lab.produce(topic, numbered(0, 5))
    waiting = {"minOffsetsPerTrigger": "10", "maxTriggerDelay": "1s"}
    both = streams(subscribe=topic, startingOffsets="earliest", **waiting)
    both.start(**FAST)
    assert both.wait(1) == [numbered(0, 5)]
    lab.produce(topic, numbered(5, 7))
    assert both.wait(2) == [numbered(0, 5), numbered(5, 7)]
    both.stop()


def test_min_and_max_offsets_together(streams: Make, lab: BrokerLab) -> None:
    topic = lab.topic(1)
    lab.produce(topic, numbered(0, 40))
    limits = {"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "15", "maxTriggerDelay": "10m"}
    both = streams(subscribe=topic, startingOffsets="earliest", **limits)
    both.start(**FAST)
    assert both.settle() == [numbered(0, 15), numbered(15, 30), numbered(30, 40)]
    both.stop()


def test_min_offsets_with_available_now(streams: Make, lab: BrokerLab) -> None:
    topic = lab.topic(1)
    lab.produce(topic, numbered(0, 5))
    waiting = {"minOffsetsPerTrigger": "10", "maxTriggerDelay": "10m"}
    streams(subscribe=topic, startingOffsets="earliest", **waiting).run()


@pytest.mark.parametrize("tasks", ["2", "7"])
def test_min_partitions(streams: Make, lab: BrokerLab, tasks: str) -> None:
    assert len(streams(subscribe=uneven(lab), startingOffsets="earliest", minPartitions=tasks).run()) == 1


def test_max_records_per_partition(streams: Make, lab: BrokerLab) -> None:
    assert len(streams(subscribe=uneven(lab), startingOffsets="earliest", maxRecordsPerPartition="10").run()) == 1


def test_starting_points(streams: Make, lab: BrokerLab, tmp_path: Path) -> None:
    topic = uneven(lab)

    def each(*values: int) -> str:
        return json.dumps({topic: {str(number): value for number, value in enumerate(values)}})

    for number, start in enumerate(
        (
            {"startingOffsets": each(35, -2, -1)},
            {"startingTimestamp": "2"},
            {"startingTimestamp": "2000", "startingOffsetsByTimestampStrategy": "latest"},
            {"startingOffsetsByTimestamp": each(38000, 9001, 2)},
            {"startingTimestamp": "0", "startingOffsets": "latest"},
        )
    ):
        both = streams(subscribe=topic, **start)
        both.home = tmp_path / str(number)
        assert both.run(), start


def test_assign_pattern_and_topics_that_come_later(streams: Make, lab: BrokerLab, tmp_path: Path) -> None:
    one, two = lab.topic(2), lab.topic(1)
    for partition in (0, 1):
        lab.produce(one, numbered(0, 3, f"p{partition}-"), partition=partition)
    lab.produce(two, ["two"])
    assigned = streams(assign=json.dumps({one: [1], two: [0]}), startingOffsets="earliest")
    assigned.home = tmp_path / "assign"
    assert assigned.run() == [[*numbered(0, 3, "p1-"), "two"]]
    later = f"{one}-later"
    both = streams(subscribePattern=f"{one}.*", startingOffsets="earliest")
    both.home = tmp_path / "pattern"
    assert [len(batch) for batch in both.run()] == [6]
    lab.ask(lambda cluster: topics.create_topic(cluster, later, 1))
    lab.produce(later, ["later"])
    assert both.run()[1:] == [["later"]]
    lab.ask(lambda cluster: topics.create_partitions(cluster, later, 2))
    lab.produce(later, ["new partition"], partition=1)
    assert both.run()[2:] == [["new partition"]]
    assert set(both.offsets()) == {one, later}


@pytest.mark.parametrize("strict", ["true", "false"])
def test_vanished_offsets(streams: Make, lab: BrokerLab, strict: str) -> None:
    topic = lab.topic(1)
    lab.produce(topic, numbered(0, 5))
    both = streams(subscribe=topic, startingOffsets="earliest", failOnDataLoss=strict)
    assert both.run() == [numbered(0, 5)]
    lab.produce(topic, numbered(5, 20))
    lab.ask(lambda cluster: topics.delete_records(cluster, {TopicPartition(topic, 0): 12}))
    if strict == "false":
        assert both.run()[1:] == [numbered(12, 20)]
    else:
        assert both.outcome() == [True, True]


def test_headers_and_committed_records(streams: Make, lab: BrokerLab) -> None:
    topic = lab.topic(1)
    lab.produce(topic, ["kept"], transactional_id=f"{topic}-a")
    lab.produce(topic, ["aborted"], transactional_id=f"{topic}-b", commit=False)
    lab.produce(topic, ["plain"])
    options = {"includeHeaders": "true", "kafka.isolation.level": "read_committed"}
    assert streams(subscribe=topic, startingOffsets="earliest", **options).run() == [["kept", "plain"]]


def test_endings_are_refused_or_mean_nothing(streams: Make, lab: BrokerLab) -> None:
    topic = lab.topic(1)
    lab.produce(topic, numbered(0, 5))
    for name, value in (("endingOffsets", "latest"), ("endingOffsetsByTimestamp", "{}")):
        assert streams(subscribe=topic, **{name: value}).outcome() == [True, True], name
    both = streams(subscribe=topic, startingOffsets="earliest", endingTimestamp="5")
    assert both.run() == [numbered(0, 5)]


def test_topic_to_topic(pair: Pair, lab: BrokerLab, tmp_path: Path) -> None:
    """Each connector copies a topic as a stream; the copies are alike, and each reads the other's."""
    source, copies = lab.topic(2), [lab.topic(3), lab.topic(3)]
    lab.produce(source, numbered(0, 500))
    for engine, target in zip((pair.theirs, pair.ours), copies, strict=True):
        options = {"subscribe": source, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "200"}
        engine.do("copy", options=options, target=target, checkpoint=str(tmp_path / target))
    found = []
    for target in copies:
        rows = pair.same("read", options={"subscribe": target, "kafka.isolation.level": "read_committed"})["rows"]
        found.append(sorted((row[3], row[0], row[1]) for row in rows))
    assert len(found[0]) == 500
    assert found[1] == found[0]
