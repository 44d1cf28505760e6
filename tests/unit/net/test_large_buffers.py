"""Buffers of large answers: whose they are, and when they are used again."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidelog.net.large_buffers import LargeBuffers

SIZES = [70_000, 1 << 20, 3 << 20]


@pytest.mark.parametrize("size", SIZES)
def test_a_buffer_is_used_again_once_nobody_looks_at_it(size: int) -> None:
    buffers = LargeBuffers()
    first = buffers.take(size)
    assert len(first) == size
    first[:4] = b"here"
    part = first[:4]
    del first
    other = buffers.take(size)
    assert bytes(part) == b"here" != bytes(other[:4])
    owner = id(part.obj)
    del part
    assert id(buffers.take(size).obj) == owner


def test_arrow_holds_a_buffer_too() -> None:
    buffers = LargeBuffers()
    view = buffers.take(100_000)
    view[:4] = b"here"
    column = pa.Array.from_buffers(pa.uint8(), 4, [None, pa.py_buffer(view)])
    del view
    buffers.take(100_000)[:4] = b"gone"
    assert bytes(column.to_pylist()) == b"here"


def test_few_buffers_are_kept_and_no_small_answer_blocks_a_large_one() -> None:
    buffers = LargeBuffers()
    held = [buffers.take(100_000) for _ in range(10)]
    owners = {id(view.obj) for view in held}
    assert len(owners) == 10
    large = buffers.take(4 << 20).obj
    assert buffers.take(100_000).obj is not large
    del held
    assert buffers.take(4 << 20).obj is not None


def test_as_many_as_asked_for_are_kept() -> None:
    buffers = LargeBuffers(kept=6)
    owners = [buffers.take(100_000).obj for _ in range(6)]  # the owners are held here: none is free
    numbers = {id(owner) for owner in owners}
    assert len(numbers) == 6
    del owners
    views = [buffers.take(100_000) for _ in range(6)]
    assert {id(view.obj) for view in views} == numbers
