"""Offsets in JSON, limits per trigger, and ranges per task."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition as TP
from tidelog.spark.offsets import (
    OffsetRange,
    TriggerDelay,
    from_json,
    parse_assignment,
    parse_offsets,
    rate_limit,
    split_ranges,
    to_json,
)


def test_the_json_form_is_that_of_sparks_kafka_source() -> None:
    offsets = {TP("b", 0): -2, TP("a", 10): 5, TP("a", 2): 7}
    assert to_json(offsets) == {"a": {"2": 7, "10": 5}, "b": {"0": -2}}
    assert from_json(to_json(offsets)) == offsets


@pytest.mark.parametrize("text", ["", "latest", "[]", '{"a": [1]}', '{"a": {"x": 1}}', '{"a": {"0": null}}'])
def test_malformed_offsets_show_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"Expected e\.g\. .* in option startingOffsets"):
        parse_offsets("startingOffsets", text)


def test_assignment() -> None:
    assert parse_assignment('{"a":[0,1],"b":[2]}') == [TP("a", 0), TP("a", 1), TP("b", 2)]
    with pytest.raises(UsageError, match="option assign"):
        parse_assignment('{"a": 3}')


def test_the_limit_is_shared_in_proportion_and_nobody_starves() -> None:
    start = {TP("t", 0): 0, TP("t", 1): 0, TP("t", 2): 50}
    end = {TP("t", 0): 900, TP("t", 1): 100, TP("t", 2): 50}
    assert rate_limit(100, start, end) == {TP("t", 0): 90, TP("t", 1): 10, TP("t", 2): 50}
    assert rate_limit(5, start, end) == {TP("t", 0): 4, TP("t", 1): 1, TP("t", 2): 50}
    assert rate_limit(10_000, start, end) == end


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10**6)), min_size=1, max_size=8), st.integers(1, 10**6))
def test_a_limited_trigger_moves_on_and_never_past_the_end(backlogs: list[tuple[int, int]], limit: int) -> None:
    start = {TP("t", number): first for number, (first, _) in enumerate(backlogs)}
    end = {TP("t", number): first + size for number, (first, size) in enumerate(backlogs)}
    limited = rate_limit(limit, start, end)
    assert all(start[tp] <= limited[tp] <= end[tp] for tp in end)
    assert all(limited[tp] > start[tp] for tp in end if end[tp] > start[tp])
    assert sum(limited[tp] - start[tp] for tp in end) <= limit + len(backlogs)


def test_a_trigger_waits_for_enough_but_not_for_ever() -> None:
    delay = TriggerDelay(min_offsets=10, max_delay_ms=1000)
    start, few, enough = {TP("t", 0): 0}, {TP("t", 0): 9}, {TP("t", 0): 10}
    assert not delay.holds_back(start, few, 0), "a query's first trigger takes what is there, as Spark's source does"
    assert delay.holds_back(start, few, 500)
    assert not delay.holds_back(start, enough, 600)
    assert delay.holds_back(start, few, 1599)
    assert not delay.holds_back(start, few, 1600)


def test_ranges_are_cut_by_records_and_by_wanted_tasks() -> None:
    whole = [OffsetRange("t", 0, 0, 1000), OffsetRange("t", 1, 5, 5)]
    assert split_ranges(whole) == [OffsetRange("t", 0, 0, 1000)]
    assert [part.size for part in split_ranges(whole, min_partitions=4)] == [250] * 4
    assert [part.size for part in split_ranges(whole, max_records=400)] == [333, 333, 334]


ranges = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10_000)), max_size=8)


@given(ranges, st.none() | st.integers(1, 40), st.none() | st.integers(1, 5_000))
def test_cut_ranges_cover_exactly_the_same_offsets(
    given_ranges: list[tuple[int, int]], min_partitions: int | None, max_records: int | None
) -> None:
    whole = [OffsetRange("t", number, first, first + size) for number, (first, size) in enumerate(given_ranges)]
    pieces = split_ranges(whole, min_partitions=min_partitions, max_records=max_records)
    for part in whole:
        mine = sorted(piece for piece in pieces if piece.partition == part.partition)
        assert sum(piece.size for piece in mine) == part.size
        assert all(one.end == other.start for one, other in pairwise(mine))
        if mine:
            assert (mine[0].start, mine[-1].end) == (part.start, part.end)
        if max_records is not None:
            assert all(piece.size <= max_records for piece in mine)
    assert all(piece.size > 0 for piece in pieces)
