"""OffsetTracker: how far one partition may be committed while its records are handled in any order.

    handed out   5  6  7  9 10 │ next 12     (8 and 11 hold no record: compacted away, or a transaction's marker)
    done            6     9
    may commit   5                           5 is still at work
    done         5  6     9   →  7           everything below 7 is done
    done         all          →  12          nothing is at work: where the partition goes on

A commit names the next record to read, so it is the lowest offset that is still at work; when none is, it is the
position behind all that was handed out, which may lie behind gaps. It never goes back. Each offset is looked at twice,
when it comes and when it becomes the lowest: the cost does not depend on how many are at work.
"""

from __future__ import annotations

from collections import deque

from tidelog.client.values import OffsetAndMetadata
from tidelog.common.types import NO_EPOCH


class OffsetTracker:
    """Of one partition, for as long as it is ours."""

    def __init__(self) -> None:
        self._order: deque[int] = deque()
        self._done: set[int] = set()
        self._epochs: dict[int, int] = {}
        self._behind: OffsetAndMetadata | None = None
        self._last_epoch = NO_EPOCH
        self._committed: int | None = None

    def __len__(self) -> int:
        """How many offsets keep the commit back, or lie behind one that does."""
        return len(self._order)

    def begin(self, offset: int, leader_epoch: int = NO_EPOCH) -> None:
        """A record is handed out; offsets come in order."""
        if self._order and offset <= self._order[-1]:
            raise ValueError(f"offset {offset} comes after {self._order[-1]}")
        if self._committed is None:
            self._committed = offset  # a commit of where we began would say nothing
        self._order.append(offset)
        self._epochs[offset] = leader_epoch

    def reached(self, position: OffsetAndMetadata) -> None:
        """Where the partition goes on behind everything that was handed out so far."""
        self._behind = position

    def done(self, offset: int) -> None:
        """A record is done with, in whichever order."""
        if offset not in self._epochs:
            raise ValueError(f"offset {offset} is not at work")
        self._done.add(offset)
        while self._order and self._order[0] in self._done:
            first = self._order.popleft()
            self._done.discard(first)
            self._last_epoch = self._epochs.pop(first)

    @property
    def position(self) -> OffsetAndMetadata | None:
        """Everything before this is done with."""
        return OffsetAndMetadata(self._order[0], self._last_epoch) if self._order else self._behind

    def committable(self) -> OffsetAndMetadata | None:
        """What may be committed at this moment; None if that is no more than was committed."""
        position = self.position
        if position is None or (self._committed is not None and position.offset <= self._committed):
            return None
        return position

    def committed(self, position: OffsetAndMetadata) -> None:
        """The group has it."""
        self._committed = max(position.offset, -1 if self._committed is None else self._committed)
