"""The segments of a partition, by base offset.

The list is an immutable tuple that is replaced as a whole: a thread that took `all` (the flusher, the cleaner) keeps
a true picture of a moment, whatever the owner does meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from tidelog.log.segment.segment import Segment


class Segments:
    """One thread changes the row, any may look. Kafka keeps a concurrent skip list for the same purpose."""

    __slots__ = ("_bases", "all")

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self.all: tuple[Segment, ...] = ()
        self._bases: list[int] = []
        self._set(segments)

    def _set(self, segments: Iterable[Segment]) -> None:
        self.all = tuple(sorted(segments, key=lambda segment: segment.base_offset))
        self._bases = [segment.base_offset for segment in self.all]

    def __len__(self) -> int:
        return len(self.all)

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def first(self) -> Segment:
        return self.all[0]

    @property
    def last(self) -> Segment:
        return self.all[-1]

    @property
    def bases(self) -> list[int]:
        return list(self._bases)

    @property
    def size(self) -> int:
        """Bytes of all data files: what `retention.bytes` is compared with."""
        return sum(segment.data.size for segment in self.all)

    def add(self, segment: Segment) -> None:
        """Add a segment; one with the same base offset is replaced."""
        if not self._bases or segment.base_offset > self._bases[-1]:
            self.all = (*self.all, segment)
            self._bases.append(segment.base_offset)
        else:
            self._set([*(old for old in self.all if old.base_offset != segment.base_offset), segment])

    def replace(self, new: Iterable[Segment], old: Iterable[Segment]) -> None:
        """Put `new` in the place of `old` in one step."""
        gone = {id(segment) for segment in old}
        kept = [segment for segment in self.all if id(segment) not in gone]
        self._set([*kept, *new])

    def remove(self, segments: Iterable[Segment]) -> None:
        """Take segments out of the row; what becomes of their files is the caller's to say."""
        self.replace((), segments)

    def floor(self, offset: int) -> Segment | None:
        """The segment whose range holds the offset; it may hold no such record (a gap that compaction left)."""
        index = bisect_right(self._bases, offset) - 1
        return self.all[index] if index >= 0 else None

    def higher(self, base_offset: int) -> Segment | None:
        """The segment after the one that begins there."""
        index = bisect_right(self._bases, base_offset)
        return self.all[index] if index < len(self.all) else None

    def get(self, base_offset: int) -> Segment | None:
        index = bisect_left(self._bases, base_offset)
        return self.all[index] if index < len(self._bases) and self._bases[index] == base_offset else None

    def between(self, start: int, end: int | None = None) -> tuple[Segment, ...]:
        """The segments that may hold offsets of [start, end)."""
        first = max(0, bisect_right(self._bases, start) - 1)
        return self.all[first : len(self.all) if end is None else max(first, bisect_left(self._bases, end))]
