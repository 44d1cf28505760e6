"""Who may be handled now, and what may be committed: with every order of events."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consumer._records import ConsumerRecord
from tidelog.client.consumer.handling.workload import QUEUED_PER_WORKER, Job, Workload
from tidelog.client.consumer.records import ConsumerRecords
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def batch(*records: tuple[TopicPartition, int, bytes | None]) -> ConsumerRecords:
    made = [record(tp, offset, key) for tp, offset, key in records]
    behind = {tp: OffsetAndMetadata(offset + 1) for tp, offset, _ in records}
    return ConsumerRecords(made, next_offsets=behind)


def record(tp: TopicPartition, offset: int, key: bytes | None) -> ConsumerRecord:
    return ConsumerRecord(tp.topic, tp.partition, offset, key, b"v")


def taken(workload: Workload) -> list[Job]:
    return [job for job in iter(workload.take, None) if job is not None]


def offsets(jobs: list[Job]) -> list[tuple[int, int]]:
    return [(job.record.partition, job.record.offset) for job in jobs]


def test_a_partition_is_a_queue() -> None:
    workload = Workload("partition", 8)
    workload.add(batch((A, 0, b"x"), (A, 1, b"y"), (B, 7, b"x")))
    first = taken(workload)
    assert sorted(offsets(first)) == [(0, 0), (1, 7)]
    workload.done(next(job for job in first if job.record.partition == 0))
    assert offsets(taken(workload)) == [(0, 1)]


def test_a_key_is_a_queue_and_no_key_is_none() -> None:
    workload = Workload("key", 8)
    workload.add(batch((A, 0, b"x"), (A, 1, b"x"), (A, 2, b"y"), (A, 3, None), (A, 4, None)))
    assert sorted(offsets(taken(workload))) == [(0, 0), (0, 2), (0, 3), (0, 4)]


def test_no_more_at_work_than_asked_for() -> None:
    workload = Workload("key", 2)
    workload.add(batch(*[(A, offset, b"%d" % offset) for offset in range(5)]))
    jobs = taken(workload)
    assert len(jobs) == 2
    assert workload.take() is None
    workload.done(jobs[0])
    assert len(taken(workload)) == 1


def test_a_failed_record_keeps_the_commit_back() -> None:
    workload = Workload("key", 8)
    workload.add(batch((A, 0, b"x"), (A, 1, b"y"), (A, 2, b"z")))
    first, second, third = taken(workload)
    workload.done(first)
    workload.abandon(second)
    workload.done(third)
    assert workload.committable() == {A: OffsetAndMetadata(1)}


def test_what_went_is_not_committed_and_what_came_back_begins_anew() -> None:
    workload = Workload("partition", 8)
    workload.add(batch((A, 0, b"x"), (A, 1, b"x")))
    (old,) = taken(workload)
    workload.forget([A])
    workload.add(batch((A, 0, b"x")))
    assert workload.take() is None, "its partition's order holds within this process, also across a rebalance"
    workload.done(old)
    assert workload.committable() == {}
    (again,) = taken(workload)
    workload.done(again)
    assert workload.committable() == {A: OffsetAndMetadata(1)}


def test_full_and_room() -> None:
    workload = Workload("partition", 1)
    workload.add(batch(*[(A, offset, None) for offset in range(QUEUED_PER_WORKER)]))
    assert workload.is_full
    assert not workload.has_room
    workload.drop_queued([B])
    assert workload.is_full
    workload.drop_queued()
    assert workload.has_room


def test_an_interceptors_list_is_handled_too() -> None:
    workload = Workload("partition", 1)
    workload.add(ConsumerRecords([record(A, 4, None)]))
    (job,) = taken(workload)
    workload.done(job)
    assert workload.committable() == {A: OffsetAndMetadata(5)}


@pytest.mark.parametrize(("ordering", "concurrency"), [("topic", 1), ("key", 0)])
def test_what_makes_no_sense_is_refused(ordering: str, concurrency: int) -> None:
    with pytest.raises(UsageError):
        Workload(ordering, concurrency)


@given(st.integers(0, 2**32), st.sampled_from(["partition", "key"]), st.integers(1, 5))
def test_order_and_commits_hold_whatever_happens(seed: int, ordering: str, concurrency: int) -> None:
    """Polls, endings, failures to come, commits and rebalances in any order: per queue the order of offsets, each
    record once, and no commit past one that is not done."""
    chance = random.Random(seed)
    workload, upto, committed = Workload(ordering, concurrency), defaultdict(int), defaultdict(int)
    done: defaultdict[TopicPartition, set[int]] = defaultdict(set)
    begun: defaultdict[object, list[int]] = defaultdict(list)
    for _ in range(200):
        what = chance.random()
        if what < 0.2:
            tp = chance.choice([A, B])
            fresh = [(tp, upto[tp] + step, chance.choice([None, b"x", b"y"])) for step in range(chance.randint(1, 5))]
            upto[tp] += len(fresh)
            workload.add(batch(*fresh))
        elif what < 0.5:
            if (job := workload.take()) is not None:
                key = job.record.key if ordering == "key" else b""
                if key is not None:
                    begun[job.record.topic_partition, key].append(job.record.offset)
        elif what < 0.85 and workload.at_work:
            job = chance.choice(sorted(workload.at_work, key=lambda one: one.place))
            done[job.record.topic_partition].add(job.record.offset)
            workload.done(job)
        elif what < 0.95:
            ready = workload.committable()
            for tp, position in ready.items():
                assert position.offset > committed[tp]
                assert set(range(position.offset)) <= done[tp]
                committed[tp] = position.offset
            workload.committed(ready)
        assert len(workload.at_work) <= concurrency
    for seen in begun.values():
        assert seen == sorted(set(seen))
