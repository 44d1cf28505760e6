from __future__ import annotations

import pytest

from tidelog.log.partition.watermarks import Watermarks

EVERY_RECORD = 1
NEVER = 2**63 - 1


@pytest.fixture
def marks() -> Watermarks:
    """The example of the module's text: 100 records, 20 deleted, 90 replicated, 60 synced, open since 70."""
    marks = Watermarks(20, 100, 60)
    assert marks.advance_high_watermark(90)
    marks.first_unstable_offset = 70
    return marks


def test_the_example(marks: Watermarks) -> None:
    assert repr(marks) == "Watermarks(20 ≤ 70 ≤ 90 ≤ 100, synced to 60)"
    assert marks.unflushed == 40


@pytest.mark.parametrize(("first_unstable", "stable"), [(None, 90), (70, 70), (95, 90), (10, 20)])
def test_the_last_stable_offset_stays_between_its_neighbours(
    marks: Watermarks, first_unstable: int | None, stable: int
) -> None:
    marks.first_unstable_offset = first_unstable
    assert marks.last_stable_offset == stable


@pytest.mark.parametrize(("wanted", "reached"), [(95, 95), (101, 100), (30, 30), (0, 20)])
def test_the_high_watermark_stays_within_the_log(marks: Watermarks, wanted: int, reached: int) -> None:
    assert marks.advance_high_watermark(wanted)
    assert marks.high_watermark == reached
    assert not marks.advance_high_watermark(wanted)


def test_a_start_takes_the_others_with_it(marks: Watermarks) -> None:
    marks.start_at(95)
    assert (marks.log_start_offset, marks.high_watermark, marks.recovery_point) == (95, 95, 95)


@pytest.mark.parametrize(("offset", "after"), [(95, (20, 90, 95, 60)), (50, (20, 50, 50, 50)), (10, (10, 10, 10, 10))])
def test_a_cut(marks: Watermarks, offset: int, after: tuple[int, int, int, int]) -> None:
    marks.cut_to(offset)
    assert (marks.log_start_offset, marks.high_watermark, marks.log_end_offset, marks.recovery_point) == after


def test_what_was_found_counts_as_written_and_what_comes_after_a_cut_does_not(marks: Watermarks) -> None:
    assert marks.written_end_offset(NEVER) == 100
    assert marks.written_end_offset(EVERY_RECORD) == 100, "it was acknowledged before the start"
    marks.log_end_offset = 110
    assert marks.written_end_offset(EVERY_RECORD) == 100
    marks.cut_to(80)
    marks.log_end_offset = 120
    assert marks.written_end_offset(EVERY_RECORD) == 80
    marks.restart_at(70, 70)
    marks.log_end_offset = 75
    assert marks.written_end_offset(EVERY_RECORD) == 70, "nothing of an emptied log was found"


def test_a_sync(marks: Watermarks) -> None:
    marks.unflushed_since_ms = 1
    marks.synced_to(80)
    assert (marks.recovery_point, marks.unflushed_since_ms) == (80, 1)
    marks.synced_to(70)
    assert marks.recovery_point == 80, "a sync that ended late takes nothing back"
    marks.synced_to(100)
    assert marks.unflushed_since_ms is None
