"""How reading is cut into tasks: every offset in exactly one of them, none much larger than the others."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from support.spark import Lab
from tidelog.spark import batch_reader, segment_scan
from tidelog.spark.boundaries import batch_ranges
from tidelog.spark.offsets import OffsetRange
from tidelog.spark.options import source_options
from tidelog.spark.segment_scan import SegmentPartition, plan_segments
from tidelog.spark.segment_topics import SegmentTopics

ROWS = 3000


@pytest.fixture(scope="module")
def uneven(lab: Lab) -> str:
    """Partition 0 holds three quarters of 4 MB, in segments of 1 MB; partition 1 the rest; partition 2 nothing."""
    topic = lab.topic(3, segment_bytes=str(1 << 20))
    for partition, rows in ((0, ROWS), (1, ROWS // 3)):
        for _first in range(0, rows, 100):
            lab.produce(topic, ["x" * 1000] * 100, partition=partition)
    lab.settle(topic, 2)
    return topic


def plan(data: Path, topic: str, **options: str) -> list[SegmentPartition]:
    parsed = source_options({"mode": "segments", "path": str(data), "subscribe": topic, **options}, streaming=False)
    topics = SegmentTopics(parsed.paths, read_committed=False)
    return list(plan_segments(parsed, topics, batch_ranges(parsed, topics)))


def offsets(tasks: list[SegmentPartition]) -> list[tuple[int, int]]:
    ranges = [piece.range for task in tasks for piece in task.ranges]
    return sorted((part.partition, offset) for part in ranges for offset in range(part.start, part.end))


EVERYTHING = [(0, n) for n in range(ROWS)] + [(1, n) for n in range(ROWS // 3)]


def test_a_little_is_one_task(lab: Lab, uneven: str) -> None:
    (task,) = plan(lab.data, uneven)
    assert offsets([task]) == EVERYTHING
    assert sum(piece.size for piece in task.ranges) >= 1000 * len(EVERYTHING)


@pytest.mark.parametrize("wanted", [2, 5])
def test_a_wish_for_tasks_is_shared_out_by_bytes(lab: Lab, uneven: str, wanted: int) -> None:
    tasks = plan(lab.data, uneven, minPartitions=str(wanted))
    assert offsets(tasks) == EVERYTHING
    assert wanted <= len(tasks) <= 2 * wanted + 1


def test_much_is_cut_into_equal_tasks_of_at_most_the_limit(
    lab: Lab, uneven: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 300 << 10
    monkeypatch.setattr(segment_scan, "TASK_BYTES", limit)
    tasks = plan(lab.data, uneven, minPartitions="1")
    sizes = [sum(piece.size for piece in task.ranges) for task in tasks]
    assert offsets(tasks) == EVERYTHING
    assert len(tasks) >= 4_000_000 // limit
    assert max(sizes) <= 2 * limit  # an indexed batch and a half of a task more, at most


def test_wire_tasks_are_split_only_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    options = source_options({"kafka.bootstrap.servers": "h:1", "subscribe": "t"}, streaming=False)
    few = [OffsetRange("t", 0, 0, batch_reader._WORTH_SPLITTING - 1)]
    many = [OffsetRange("t", 0, 0, batch_reader._WORTH_SPLITTING)]
    assert [task.range for task in batch_reader.plan_tasks(options, few)] == few
    tasks = [task.range for task in batch_reader.plan_tasks(options, many)]
    assert len(tasks) == 4
    assert (tasks[0].start, tasks[-1].end) == (0, many[0].end)
    assert all(one.end == following.start for one, following in itertools.pairwise(tasks))
