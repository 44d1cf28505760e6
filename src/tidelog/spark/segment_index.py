"""Index files as planners search them: binary search over the raw bytes (pure).

An `.index` entry is (relative offset, position), each int32; a growing file is preallocated, so that zeros follow its
last entry. An entry names the last offset of a batch and where that batch begins.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right

_ENTRY = struct.Struct(">ii")


class OffsetIndexView:
    """The `.index` of one segment."""

    def __init__(self, data: bytes, base_offset: int) -> None:
        self._data, self._base = data, base_offset
        slots = range(len(data) // _ENTRY.size)
        self._used = range(bisect_left(slots, True, key=lambda slot: self._entry(slot)[1] == 0))

    def _entry(self, slot: int) -> tuple[int, int]:
        relative, position = _ENTRY.unpack_from(self._data, slot * _ENTRY.size)
        return self._base + relative, position

    def position_of(self, offset: int) -> int:
        """Where to begin to look for the offset."""
        slot = bisect_right(self._used, offset, key=lambda slot: self._entry(slot)[0])
        return self._entry(slot - 1)[1] if slot else 0

    def offset_after(self, position: int) -> int | None:
        """The offset after the first indexed batch that begins at `position` or later."""
        slot = bisect_left(self._used, position, key=lambda slot: self._entry(slot)[1])
        return self._entry(slot)[0] + 1 if slot < len(self._used) else None
