"""What of a partition's files a power loss could still take, beside the bytes behind the recovery point.

The log knows the bytes that were appended by their offsets. Everything else that changes is noted here when it
changes: names that were made, renamed or removed, leader epochs, producer snapshots, and segments that were cut,
ended or recovered (what a recovery read may exist in the page cache alone). A flush takes the list as it is; when it
has succeeded, and only then, the list loses what has not changed again since. So a flush that failed or was given up
takes nothing with it, and two at a time each do all that there is to do.

Kafka has no such list: each kind of file has a rule of its own for when it is synced. Here a change costs a note, and
one flush settles them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.log.segment.segment import Segment

T = TypeVar("T")


class Taken(NamedTuple):
    """The list at one moment; each entry with the number of its last change (0: nothing to do)."""

    names: int
    epochs: int
    segments: dict[Segment, int]
    snapshots: dict[int, int]


class Unsynced:
    """See the module's text. The log's owner changes it."""

    __slots__ = ("_changes", "_epochs", "_names", "_segments", "_snapshots")

    def __init__(self) -> None:
        self._changes = 0
        self._names = 0
        self._epochs = 0
        # Most logs have none of these for most of the time, and there are many logs.
        self._segments: dict[Segment, int] | None = None
        self._snapshots: dict[int, int] | None = None

    def __bool__(self) -> bool:
        return bool(self._names or self._epochs or self._segments or self._snapshots)

    @property
    def names(self) -> bool:
        """Whether a name in the directory was made, renamed or removed."""
        return self._names > 0

    @property
    def epochs(self) -> bool:
        """Whether the leader epochs differ from their file."""
        return self._epochs > 0

    def add_name(self) -> None:
        self._changes += 1
        self._names = self._changes

    def add_epochs(self) -> None:
        self._changes += 1
        self._epochs = self._changes

    def add_segment(self, segment: Segment) -> None:
        self._changes += 1
        self._segments = self._segments or {}
        self._segments[segment] = self._changes

    def forget(self, segment: Segment) -> None:
        """The segment was removed: only that it is gone has to become durable."""
        self.add_name()
        if self._segments is not None:
            self._segments.pop(segment, None)

    def add_snapshot(self, offset: int) -> None:
        """The producers' snapshot of this offset was written, and its name is new."""
        self.add_name()
        self._snapshots = self._snapshots or {}
        self._snapshots[offset] = self._changes

    def take(self) -> Taken:
        """The list as it is now, for a flush."""
        return Taken(self._names, self._epochs, dict(self._segments or {}), dict(self._snapshots or {}))

    def done(self, taken: Taken) -> None:
        """All of `taken` is durable; what has changed since then is not."""
        self._names = 0 if self._names == taken.names else self._names
        self._epochs = 0 if self._epochs == taken.epochs else self._epochs
        self._segments = _without(self._segments, taken.segments)
        self._snapshots = _without(self._snapshots, taken.snapshots)


def _without(present: dict[T, int] | None, done: dict[T, int]) -> dict[T, int] | None:
    rest = {key: number for key, number in (present or {}).items() if done.get(key) != number}
    return rest or None
