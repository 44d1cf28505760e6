"""`max.poll.interval.ms`: does the user still want records? Pure; the times are the caller's.

Heartbeats show that the process lives, polls show that the application does. A handler that hangs would hold its
partitions for ever otherwise. The limit counts from the last `poll`; shortly before it is reached there is a warning,
once per poll, so that the log names the slow consumer before it is put out.
"""

from __future__ import annotations

#: The part of the interval after which the user is warned.
_WARN_AFTER = 0.8


class PollTimer:
    """When the last poll was, and what is due."""

    def __init__(self, interval: float, now: float) -> None:
        self.interval = interval
        self._polled = now
        self._warned = False

    def polled(self, now: float) -> None:
        self._polled = now
        self._warned = False

    def since(self, now: float) -> float:
        return now - self._polled

    def expired(self, now: float) -> bool:
        return self.since(now) >= self.interval

    def warns(self, now: float) -> bool:
        """True once per poll, when most of the interval has passed."""
        if self._warned or self.since(now) < _WARN_AFTER * self.interval:
            return False
        self._warned = True
        return True

    def next_check(self, now: float) -> float:
        """Seconds until there may be something to do."""
        limit = self.interval if self._warned else _WARN_AFTER * self.interval
        return max(0.0, limit - self.since(now))
