"""The row of segments: found by offset, replaced as a whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tidelog.log.segment.segments import Segments


def segment(base: int, size: int = 1) -> Any:
    return SimpleNamespace(base_offset=base, data=SimpleNamespace(size=size))


def test_an_offset_is_found_in_the_segment_that_spans_it() -> None:
    row = Segments([segment(20), segment(0), segment(10, 5)])
    assert row.bases == [0, 10, 20]
    assert row.size == 7
    assert [row.floor(offset).base_offset for offset in (0, 9, 10, 25)] == [0, 0, 10, 20]
    assert Segments([segment(5)]).floor(4) is None
    assert row.higher(0).base_offset == 10
    assert row.higher(20) is None
    assert row.get(10).base_offset == 10
    assert row.get(11) is None
    assert [one.base_offset for one in row.between(12)] == [10, 20]
    assert [one.base_offset for one in row.between(5, 20)] == [0, 10]


def test_who_has_taken_the_row_keeps_what_he_saw() -> None:
    row = Segments([segment(0), segment(10)])
    seen, old = row.all, row.all[0]
    row.replace([segment(0, 3)], [old])
    row.add(segment(20))
    row.remove([row.get(10)])
    assert [one.base_offset for one in seen] == [0, 10]
    assert [(one.base_offset, one.data.size) for one in row.all] == [(0, 3), (20, 1)]
    row.add(segment(0, 9))
    assert (row.first.data.size, len(row), row.last.base_offset) == (9, 2, 20)
