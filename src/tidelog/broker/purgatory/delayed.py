"""Delayed operations: completed exactly once, by the event that satisfies them or by their deadline.

An operation waits under one or more keys (the partitions that it looks at). Whoever changes something under a key calls
`Purgatory.check(key)`, and every operation there tries to complete. A completed operation leaves all its keys and its
timer at once: the purgatory holds only what really waits, so that its memory is bounded by the connections (one
request of a connection is in work at a time). What follows from it (`on_complete`) takes its turn (`Completions`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from tidelog.broker.purgatory.completions import Completions
from tidelog.broker.purgatory.timer import LoopTimer
from tidelog.broker.purgatory.timing_wheel import TimerEntry

K = TypeVar("K", bound=Hashable)


class DelayedOperation:
    """Subclasses say when it is satisfied (`is_satisfied`) and what then happens (`on_complete`)."""

    __slots__ = ("_keys", "_purgatory", "_timer", "completed", "expired")

    def __init__(self) -> None:
        self.completed = False
        self.expired = False
        self._timer: TimerEntry | None = None
        self._purgatory: Purgatory[Hashable] | None = None
        self._keys: tuple[Hashable, ...] = ()

    def is_satisfied(self, key: Hashable | None = None) -> bool:
        """Whether it can complete. With a key, only what lies under that key has changed since the last answer."""
        raise NotImplementedError

    def on_complete(self) -> None:
        """Called once, whether satisfied or expired (`self.expired` tells)."""
        raise NotImplementedError

    def take(self, key: Hashable | None = None) -> bool:
        """Whether it can complete now; then it waits no longer, and `on_complete` is the caller's to call."""
        if self.completed or not self.is_satisfied(key):
            return False
        self._end()
        return True

    def cancel(self) -> bool:
        """Leave without completing: whoever asked is gone."""
        if self.completed:
            return False
        self._end()
        return True

    def _end(self) -> None:
        self.completed = True
        self._leave()

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._purgatory is not None:
            self._purgatory._remove(self, self._keys)
            self._purgatory = None


class Purgatory(Generic[K]):
    """Kafka's DelayedOperationPurgatory. Kafka leaves completed operations in their lists and purges those from time to
    time, as its threads cannot take them out cheaply; one thread can, and does."""

    def __init__(self, name: str, timer: LoopTimer, completions: Completions) -> None:
        self.name = name
        self._timer = timer
        self._completions = completions
        self._watchers: dict[K, dict[DelayedOperation, None]] = {}
        self._waiting = 0

    def __len__(self) -> int:
        """How many operations wait."""
        return self._waiting

    def __bool__(self) -> bool:
        return self._waiting > 0

    @property
    def watched_keys(self) -> int:
        return len(self._watchers)

    def try_or_watch(self, operation: DelayedOperation, keys: Iterable[K], timeout_ms: int) -> bool:
        """Complete the operation now if that can be, else watch the keys for it; whether it is complete.

        Between the look and the watch nothing can change: both are one step of the event loop. Kafka has to look again
        after it has begun to watch. With no time left, an operation expires here and never waits.
        """
        expired = not operation.take() and timeout_ms <= 0
        if expired:
            operation.expired = True
            operation._end()
        if operation.completed:
            operation.on_complete()
            return True
        watched = tuple(dict.fromkeys(keys))
        for key in watched:
            self._watchers.setdefault(key, {})[operation] = None
        operation._keys = watched
        operation._purgatory = self  # type: ignore[assignment]  # the operation only hands its own keys back
        operation._timer = self._timer.call_later(timeout_ms / 1000, lambda: self._expire(operation))
        self._waiting += 1
        return False

    def check(self, key: K) -> int:
        """Something changed under `key`: complete what that satisfies; how many that were."""
        watchers = self._watchers.get(key)
        if not watchers:
            return 0
        ready = [operation.on_complete for operation in list(watchers) if operation.take(key)]
        if ready:
            self._completions.add(ready)
        return len(ready)

    def _expire(self, operation: DelayedOperation) -> None:
        """Its time is up: it is answered with what there is (a fetch), or with an error (a produce)."""
        if not operation.completed:
            operation.expired = True
            operation._end()
            self._completions.add([operation.on_complete])

    def _remove(self, operation: DelayedOperation, keys: Iterable[K]) -> None:
        self._waiting -= 1
        for key in keys:
            watchers = self._watchers.get(key)
            if watchers is not None:
                watchers.pop(operation, None)
                if not watchers:
                    del self._watchers[key]
