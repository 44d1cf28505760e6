"""How far a partition may be committed while its records are handled in any order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consumer.handling.tracker import OffsetTracker
from tidelog.client.values import OffsetAndMetadata


def tracker(*offsets: int, behind: int) -> OffsetTracker:
    found = OffsetTracker()
    for offset in offsets:
        found.begin(offset, leader_epoch=3)
    found.reached(OffsetAndMetadata(behind, 3))
    return found


def test_as_the_docstring_draws_it() -> None:
    one = tracker(5, 6, 7, 9, 10, behind=12)
    one.done(6)
    one.done(9)
    assert one.committable() is None, "5 is still at work, and it is where we began"
    one.done(5)
    assert one.committable() == OffsetAndMetadata(7, 3)
    one.done(10)
    one.done(7)
    assert one.committable() == OffsetAndMetadata(12, 3)


def test_what_was_committed_is_not_said_again() -> None:
    one = tracker(0, 1, behind=2)
    one.done(0)
    one.committed(OffsetAndMetadata(1))
    assert one.committable() is None
    one.done(1)
    assert one.committable() == OffsetAndMetadata(2, 3)
    one.committed(OffsetAndMetadata(2))
    assert one.committable() is None


def test_a_partition_of_markers_only_moves_on() -> None:
    assert tracker(behind=4).committable() == OffsetAndMetadata(4, 3)


def test_offsets_come_in_order_and_are_done_once() -> None:
    one = tracker(5, behind=6)
    with pytest.raises(ValueError, match="offset 5 comes after 5"):
        one.begin(5)
    one.done(5)
    with pytest.raises(ValueError, match="not at work"):
        one.done(5)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=30), st.randoms(use_true_random=False), st.integers(0, 3))
def test_no_commit_passes_over_what_is_at_work(steps: list[int], chance: object, gap: int) -> None:
    offsets = [sum(steps[: index + 1]) for index in range(len(steps))]
    behind = offsets[-1] + 1 + gap
    one = tracker(*offsets, behind=behind)
    at_work, last = list(offsets), 0
    while at_work:
        done = chance.choice(at_work)  # type: ignore[attr-defined]  # a random.Random
        at_work.remove(done)
        one.done(done)
        position = one.committable()
        if position is not None:
            assert position.offset > last
            assert all(offset >= position.offset for offset in at_work)
            last = position.offset
            one.committed(position)
        else:
            assert last in (0, min(at_work, default=behind)) or min(at_work) == offsets[0]
    assert last == behind
