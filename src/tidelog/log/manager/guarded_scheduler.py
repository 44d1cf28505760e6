"""What the logs of one directory do later (unlinking deleted files), under the guard of that directory.

A file that cannot be removed any more means a failed disk, minutes after whoever deleted it has gone on: nobody is
there to catch the error. So each directory has its own scheduler, which runs an action as everything else in that
directory is run: an error takes it offline, and what is due in a directory that is offline does not run at all.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.common.scheduler import Action, Scheduler, TimerHandle


class GuardedScheduler:
    """Hands what is due to a guard, which runs it and knows what an error of the disk means."""

    def __init__(self, inner: Scheduler, guard: Callable[[Action], None]) -> None:
        self._inner = inner
        self._guard = guard

    def call_soon(self, action: Action, /) -> TimerHandle:
        return self._inner.call_soon(lambda: self._guard(action))

    def call_later(self, seconds: float, action: Action, /) -> TimerHandle:
        return self._inner.call_later(seconds, lambda: self._guard(action))
