"""Frames in a stream of bytes, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.common.errors import ProtocolError
from tidelog.protocol.frames import FrameReader, scan


@given(st.lists(st.binary(max_size=20), max_size=6), st.integers(1, 30))
def test_frames_come_whole_and_in_order(frames: list[bytes], piece: int) -> None:
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    reader, found = FrameReader(100), []
    for start in range(0, len(stream), piece):
        found += reader.feed(stream[start : start + piece])
    assert (found, reader.pending) == (frames, 0)


@pytest.mark.parametrize("size", [-1, 101])
def test_a_length_that_cannot_be_ends_the_stream(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"a frame of {size} bytes"):
        FrameReader(100).feed(size.to_bytes(4, "big", signed=True))


def test_a_scan_says_where_the_first_partial_frame_begins() -> None:
    assert scan(b"..\0\0\0\1a\0\0\0\2b", 2, 12, 100) == ([(6, 7)], 7)
