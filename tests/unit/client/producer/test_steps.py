"""The sender's compiled steps: which partition next, what a request takes along, what becomes of batches."""

from __future__ import annotations

from collections import Counter, deque

import pytest

from tidelog.client.producer._batch import BufferPool, ProducerBatch
from tidelog.client.producer._partition_batches import PartitionBatches, TopicBatches
from tidelog.client.producer._steps import (
    choose_by_load,
    due_now,
    is_due,
    next_load,
    note_use,
    note_written,
    number,
    seal_load,
)
from tidelog.common.types import MAX_INT32
from tidelog.records.format.builder import BatchBuilder

POOL = BufferPool(1 << 20, 1000)
LINGER = 5.0


def topic(partitions: int = 3) -> TopicBatches:
    return TopicBatches("t", partitions)


def waiting(queue: PartitionBatches, *, size: int = 100, created: float = 0.0, records: int = 1) -> ProducerBatch:
    """A closed batch of about that size behind the others."""
    builder = BatchBuilder()
    for _ in range(records):
        builder.append(0, None, bytes(size))
    data = memoryview(bytearray(builder.build()))
    batch = ProducerBatch.ready_made(POOL, queue, queue.topic_partition, data, created)
    queue.waiting.append(batch)
    return batch


def lingering(queue: PartitionBatches, created: float) -> ProducerBatch:
    """An open one."""
    batch = ProducerBatch(POOL, queue, queue.topic_partition, 100, created)
    queue.waiting.append(batch)
    return batch


def test_partitions_are_chosen_by_what_waits_for_them() -> None:
    t = topic()
    tickets = [step / 100 for step in range(100)]
    assert Counter(choose_by_load(t, [0, 2], chance) for chance in tickets) == {0: 50, 2: 50}
    for _ in range(3):
        waiting(t.partitions[0])
    # 0 has one part of the chance, 1 and 2 have four each
    found = Counter(choose_by_load(t, [0, 1, 2], step / 900) for step in range(900))
    assert found == {0: 100, 1: 400, 2: 400}
    assert choose_by_load(t, [1], 0.999999) == 1


def test_what_is_due() -> None:
    queue = topic().partitions[0]
    assert not is_due(queue, 100.0, LINGER, True)
    batch = lingering(queue, created=10.0)
    assert not is_due(queue, 14.9, LINGER, False)
    assert is_due(queue, 15.0, LINGER, False)
    assert is_due(queue, 10.0, LINGER, True)
    batch.close()
    assert is_due(queue, 10.0, LINGER, False)


def test_what_has_become_due_lingers_no_more() -> None:
    t = topic(4)
    full, old, young, also_young = [
        lingering(queue, created) for queue, created in zip(t.partitions, (1.0, 2.0, 6.0, 7.0), strict=True)
    ]
    full.close()
    line = deque([full, old, young, also_young])
    assert due_now(line, [], 7.5, LINGER, False) == [t.partitions[0], t.partitions[1]]
    assert list(line) == [young, also_young]
    assert due_now(line, [t.partitions[0]], 7.5, LINGER, False) == [t.partitions[0]], "told that it is full"
    assert due_now(line, [t.partitions[3]], 7.5, LINGER, False) == [], "old news: what is there now is not full"
    t.partitions[2].ready = True
    assert due_now(line, [], 7.5, LINGER, True) == [t.partitions[3]], "the other is known already"
    assert not line


def test_topics_that_are_written_to_are_noted() -> None:
    t, other = topic(), TopicBatches("other", 1)
    note_use([waiting(t.partitions[1]), waiting(TopicBatches("gone", 1).partitions[0])], {"t": t, "other": other}, 7.0)
    assert (t.used_at, other.used_at) == (7.0, 0.0)


def test_a_request_takes_one_batch_of_each_partition_in_turn() -> None:
    t = topic()
    first, second, only = waiting(t.partitions[0]), waiting(t.partitions[0]), waiting(t.partitions[1])
    ready = deque(t.partitions)
    assert next_load(ready, 10_000, 0.0, LINGER, False, None) == [first, only]
    assert list(ready) == [t.partitions[0]], "there is more of it, behind the others"
    assert t.partitions[0].ready
    assert next_load(ready, 10_000, 0.0, LINGER, False, None) == [second]
    assert not ready


def test_a_request_is_no_larger_than_allowed_but_for_one_batch() -> None:
    t = topic()
    large, small = waiting(t.partitions[0], size=900), waiting(t.partitions[1], size=100)
    ready = deque(t.partitions[:2])
    assert next_load(ready, 500, 0.0, LINGER, False, None) == [large]
    assert list(ready) == [t.partitions[1]]
    assert t.partitions[1].ready
    assert next_load(ready, 500, 0.0, LINGER, False, None) == [small]


def test_who_may_not_leave_stays() -> None:
    t = topic(4)
    for queue in t.partitions:
        waiting(queue)
    coming_back, failed, refused, fine = t.partitions
    coming_back.returned.append(waiting(coming_back))
    failed.failures, failed.in_flight = 1, 1
    load = next_load(deque(t.partitions), 10_000, 0.0, LINGER, False, lambda queue: queue is not refused)
    assert load == [fine.waiting[0] if fine.waiting else load[0]]
    assert [batch.topic_partition.partition for batch in load] == [3]


def test_after_a_failure_one_batch_at_a_time() -> None:
    queue = topic().partitions[0]
    first, _ = waiting(queue), waiting(queue)
    queue.failures = 1
    ready = deque([queue])
    assert next_load(ready, 10_000, 0.0, LINGER, False, None) == [first]
    assert not ready


def test_sequences_go_on_and_wrap() -> None:
    queue = topic().partitions[0]
    first, second = waiting(queue, records=3), waiting(queue, records=2)
    queue.next_sequence = MAX_INT32 - 1
    seal_load([first], True, 7, 0, False, 0.0)
    assert (first.base_sequence, queue.next_sequence) == (MAX_INT32 - 1, 1)
    assert number(first, 7) == MAX_INT32 - 1, "a retry leaves as it left before"
    assert number(second, 7) == 1
    assert number(first, 8) == 3, "another producer id, another number"


def test_sealing_counts_what_leaves() -> None:
    t = topic()
    batches = [waiting(t.partitions[0], created=1.0), waiting(t.partitions[1], created=2.0)]
    batches[1].attempts = 1
    size, retries, waited = seal_load(batches, False, -1, -1, False, 4.0)
    assert (size, retries, waited) == (sum(map(len, batches)), 1, 5.0)
    assert [batch.base_sequence for batch in batches] == [-1, -1]
    assert all(batch.in_flight for batch in batches)
    assert [queue.in_flight for queue in t.partitions] == [1, 1, 0]


def test_what_is_written_is_told_and_settles_its_partition() -> None:
    t = topic()
    batches = [waiting(t.partitions[0], records=2), waiting(t.partitions[1]), waiting(t.partitions[1])]
    seal_load(batches, True, 7, 0, False, 0.0)
    t.partitions[0].failures = 3
    raised: list[Exception] = []
    records, settled = note_written([(batches[0], 40, -1), (batches[1], 50, 99)], raised.append)
    assert (records, settled, raised) == (3, [t.partitions[0]], [])
    assert t.partitions[0].failures == 0
    assert [(batch.done, batch.base_offset, batch.in_flight) for batch in batches] == [
        (True, 40, False),
        (True, 50, False),
        (False, -1, True),
    ]
    assert batches[1].log_append_time == 99
    batches[2].fail(ValueError("given up meanwhile"))
    records, settled = note_written([(batches[2], 51, -1)], raised.append)
    assert (records, settled) == (0, [t.partitions[1]])
    assert isinstance(batches[2].error, ValueError)


@pytest.mark.parametrize("order", [1, -1])
def test_a_part_of_the_chance_for_each(order: int) -> None:
    """However the partitions are listed."""
    usable = [0, 1, 2][::order]
    assert {choose_by_load(topic(), usable, step / 30) for step in range(30)} == {0, 1, 2}
