"""Job queues: which of the polled records may be handled now, so that order is kept where it was asked for.

Of each queue one record at a time is at work. It is a partition's (`ordering="partition"`), or that of one key within a
partition (`"key"`; records without a key have no order among themselves, and a queue each). Queues take turns, so that
a full partition does not starve the others. One that is empty is forgotten: there may be as many keys as records.

With `"partition"` no more handlers run than there are partitions, whatever the concurrency; with `"key"` as many as
there are keys at hand. A key's queue ends at its partition: the same key in another topic is another thing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Literal, TypeVar, get_args

from tidelog.client.consumer._records import ConsumerRecord
from tidelog.common.errors import UsageError

Ordering = Literal["partition", "key"]
T = TypeVar("T")


def queue_of(ordering: str) -> Callable[[ConsumerRecord], Hashable]:
    """What names the queue of a record, by the ordering that was asked for."""
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


class JobQueues(Generic[T]):
    """Jobs by the name of their queue. Between `take` and its `release` no other job of that queue is taken."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[T]] = {}
        self._ready: deque[Hashable] = deque()
        self._busy: set[Hashable] = set()
        self.queued = 0

    def add(self, name: Hashable, job: T) -> None:
        """Behind all others of its queue."""
        self.queued += 1
        queue = self._waiting.get(name)
        if queue is not None:
            queue.append(job)
            return
        self._waiting[name] = deque([job])
        if name not in self._busy:
            self._ready.append(name)

    def take(self) -> T | None:
        """The first job of the queue whose turn it is; None if all of them are empty or at work."""
        while self._ready:
            name = self._ready.popleft()
            queue = self._waiting.get(name)
            if not queue:
                continue  # it was dropped meanwhile
            job = queue.popleft()
            if not queue:
                del self._waiting[name]
            self._busy.add(name)
            self.queued -= 1
            return job
        return None

    def release(self, name: Hashable) -> None:
        """The job that was taken from this queue is done with."""
        self._busy.discard(name)
        if name in self._waiting:
            self._ready.append(name)

    def drop(self, unwanted: Callable[[T], bool]) -> int:
        """Forget jobs that have not begun; how many there were."""
        before = self.queued
        for name in list(self._waiting):
            kept = deque(job for job in self._waiting[name] if not unwanted(job))
            self.queued -= len(self._waiting[name]) - len(kept)
            if kept:
                self._waiting[name] = kept
            else:
                del self._waiting[name]
        self._ready = deque(name for name in self._ready if name in self._waiting)
        return before - self.queued
