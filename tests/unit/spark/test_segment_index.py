"""Binary search over raw index files, checked against the plain decoding of them."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from tidelog.log.reading.segment_reader import decode_offset_index
from tidelog.spark.segment_index import OffsetIndexView

steps = st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 10_000)), max_size=60)


@given(steps, st.integers(0, 10**9), st.integers(0, 3), st.integers(0, 70_000), st.integers(0, 700_000))
def test_the_view_finds_what_a_scan_finds(
    gaps: list[tuple[int, int]], base: int, spare: int, relative: int, position: int
) -> None:
    offset_now, position_now, data = 0, 0, b""
    for offset_step, position_step in gaps:
        offset_now, position_now = offset_now + offset_step, position_now + position_step
        data += struct.pack(">ii", offset_now, position_now)
    data += bytes(8 * spare)
    view = OffsetIndexView(data, base)
    entries = decode_offset_index(data, base)
    before = [entry.position for entry in entries if entry.offset <= base + relative]
    assert view.position_of(base + relative) == (before[-1] if before else 0)
    after = [entry.offset + 1 for entry in entries if entry.position >= position]
    assert view.offset_after(position) == (after[0] if after else None)
