"""Walking through segments that somebody else rolls, compacts and removes meanwhile, without losing a record.

The list of segments is taken anew for each one, and a segment is looked for by the offset that is next, not by its
place in an old list: compaction may have put that offset into a file with an earlier name. The list is taken before the
file is opened, and only when the file holds nothing more does the walk go on to the next name in that list. An open
file stays what it is, whatever becomes of its name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from tidelog.log.reading.segment_reader import SegmentReader

T = TypeVar("T")
#: Reads a segment from an offset on: (offset behind, item or None).
Read = Callable[[SegmentReader, int], Iterator[tuple[int, T | None]]]
#: How often in a row a file may be gone that was there when it was looked for.
_LOOKUPS = 20


class SegmentWalk(Generic[T]):
    """From `start` to `end`, or (None) to the end of the segment that is the last one when the walk begins."""

    def __init__(
        self,
        segments: Callable[[], list[SegmentReader]],
        read: Read[T],
        *,
        start: int,
        end: int | None,
        skipped: Callable[[int, int], None] = lambda start, end: None,
    ) -> None:
        """`skipped` hears of offsets [start, end) that are in front of the first segment; it may raise."""
        self._segments, self._read, self._skipped = segments, read, skipped
        self._end = end
        #: Everything before this offset was handed out.
        self.position = start

    def __iter__(self) -> Iterator[T]:
        last: int | None = None
        lookups = 0
        while self._end is None or self.position < self._end:
            segments = self._segments()
            if not segments:
                return
            last = segments[-1].base_offset if last is None else last
            number = bisect_right(segments, self.position, key=lambda segment: segment.base_offset) - 1
            if number < 0:
                self._skipped(self.position, segments[0].base_offset)
                self.position = segments[0].base_offset
                continue
            before = self.position
            try:
                yield from self._items(segments[number])
            except FileNotFoundError:
                lookups += 1
                if lookups > _LOOKUPS:
                    raise
                continue
            lookups = 0
            if self._end is None and segments[number].base_offset >= last:
                return
            if self.position == before:
                if number + 1 == len(segments):
                    return
                self.position = segments[number + 1].base_offset

    def _items(self, segment: SegmentReader) -> Iterator[T]:
        """One segment from the present position on. The position moves before an item is handed out: if the file
        vanishes then, the walk goes on behind it."""
        for following, item in self._read(segment, self.position):
            self.position = max(self.position, following)
            if item is not None:
                yield item
