"""Memory for large answers and for large requests, used again as soon as nobody holds a view of it.

Fresh memory is the expensive part of receiving and encoding: the kernel clears it page by page as it is touched, and a
virtual machine may have to ask its host for it besides. So a few buffers are kept per connection or producer, and new
ones are asked for in huge pages, uncleared by us (a `bytearray` would write every byte first, while it holds the GIL).

A buffer is free when its only reference is the pool's: every view of it, in Python or in Arrow, holds another one.
"""

from __future__ import annotations

import mmap
import sys

_LARGEST_KEPT = 64 << 20
_HUGE_PAGE = 2 << 20
#: References to a kept buffer that has no views: the list's, the loop variable's and getrefcount's own.
_UNUSED = 3


class LargeBuffers:
    """The buffers of one connection or producer, of which some are kept."""

    def __init__(self, kept: int = 4) -> None:
        self._kept = kept
        self._pool: list[mmap.mmap] = []

    def take(self, size: int) -> memoryview:
        """`size` bytes that nobody else looks at: of a kept buffer if there is one that fits, else of a new one."""
        for buffer in self._pool:
            if size <= len(buffer) <= 8 * size and sys.getrefcount(buffer) == _UNUSED:
                return memoryview(buffer)[:size]
        buffer = _fresh(size + (size >> 3))
        if len(buffer) <= _LARGEST_KEPT:
            self._pool = [kept for kept in self._pool if sys.getrefcount(kept) != _UNUSED][: self._kept - 1]
            self._pool.append(buffer)
        return memoryview(buffer)[:size]


def _fresh(size: int) -> mmap.mmap:
    unit = _HUGE_PAGE if size >= _HUGE_PAGE else mmap.PAGESIZE
    buffer = mmap.mmap(-1, -(-size // unit) * unit, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if unit == _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        buffer.madvise(mmap.MADV_HUGEPAGE)
    return buffer
