"""The list of what a power loss could take: only a sync that has succeeded makes it shorter."""

from __future__ import annotations

from typing import Any

from tidelog.log.segment.unsynced import Unsynced

SEGMENT: Any = object()


def test_what_changes_during_a_sync_stays_on_the_list() -> None:
    unsynced = Unsynced()
    assert not unsynced
    unsynced.add_epochs()
    unsynced.add_segment(SEGMENT)
    unsynced.add_snapshot(7)
    taken = unsynced.take()
    unsynced.add_segment(SEGMENT)
    unsynced.add_epochs()
    unsynced.done(taken)
    assert (unsynced.names, unsynced.epochs) == (False, True)
    again = unsynced.take()
    assert (list(again.segments), again.snapshots) == ([SEGMENT], {})
    unsynced.done(again)
    assert not unsynced


def test_a_sync_that_was_given_up_takes_nothing_with_it() -> None:
    unsynced = Unsynced()
    unsynced.add_name()
    unsynced.take()
    assert unsynced.names


def test_of_a_removed_segment_only_its_going_is_left_to_sync() -> None:
    unsynced = Unsynced()
    unsynced.add_segment(SEGMENT)
    unsynced.forget(SEGMENT)
    taken = unsynced.take()
    assert (taken.segments, unsynced.names) == ({}, True)
