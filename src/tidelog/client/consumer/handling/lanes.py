"""Lanes: which of the records that were handed out may be handled now, so that order is kept where it was asked for.

A lane is a queue of which one record at a time is at work: a partition's (`ordering="partition"`), or that of one key
within a partition (`"key"`; records without a key have no order among themselves, and a lane each). Lanes take turns,
so that a full partition does not starve the others. A lane that is empty is forgotten: there may be as many keys as
records.

With `"partition"` no more handlers run than there are partitions, whatever the concurrency; with `"key"` as many as
there are keys at hand. A key's lane ends at its partition: the same key in another topic is another thing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Literal, TypeVar, get_args

from tidelog.client.consumer._records import ConsumerRecord
from tidelog.common.errors import UsageError

Ordering = Literal["partition", "key"]
T = TypeVar("T")


def lane_of(ordering: str) -> Callable[[ConsumerRecord], Hashable]:
    """The lane of a record, by the ordering that was asked for."""
    if ordering == "partition":
        return lambda record: record.topic_partition
    if ordering == "key":
        return _by_key
    raise UsageError(f"ordering={ordering!r}: expected one of {', '.join(get_args(Ordering))}")


def _by_key(record: ConsumerRecord) -> Hashable:
    """The key's bytes, as they decide the partition, too; what a deserializer makes of them may not be hashable."""
    key = record.raw_key
    if key is None and record.key is not None:  # a record that an interceptor made
        key = repr(record.key).encode()
    return (record.topic_partition, record.offset) if key is None else (record.topic_partition, key)


class Lanes(Generic[T]):
    """Jobs by lane. `take` and `release` pair up: between them no other job of that lane is taken."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[T]] = {}
        self._ready: deque[Hashable] = deque()
        self._busy: set[Hashable] = set()
        self.queued = 0

    def add(self, lane: Hashable, job: T) -> None:
        """Behind all others of its lane."""
        self.queued += 1
        queue = self._waiting.get(lane)
        if queue is not None:
            queue.append(job)
            return
        self._waiting[lane] = deque([job])
        if lane not in self._busy:
            self._ready.append(lane)

    def take(self) -> T | None:
        """The first job of the lane whose turn it is; None if all lanes are empty or at work."""
        while self._ready:
            lane = self._ready.popleft()
            queue = self._waiting.get(lane)
            if not queue:
                continue  # it was dropped meanwhile
            job = queue.popleft()
            if not queue:
                del self._waiting[lane]
            self._busy.add(lane)
            self.queued -= 1
            return job
        return None

    def release(self, lane: Hashable) -> None:
        """The job that was taken from this lane is done with."""
        self._busy.discard(lane)
        if lane in self._waiting:
            self._ready.append(lane)

    def drop(self, unwanted: Callable[[T], bool]) -> int:
        """Forget jobs that have not begun; how many there were."""
        before = self.queued
        for lane in list(self._waiting):
            kept = deque(job for job in self._waiting[lane] if not unwanted(job))
            self.queued -= len(self._waiting[lane]) - len(kept)
            if kept:
                self._waiting[lane] = kept
            else:
                del self._waiting[lane]
        self._ready = deque(lane for lane in self._ready if lane in self._waiting)
        return before - self.queued
