"""How long to wait before a retry: twice as long each time, within limits, with a fifth of chance either way (pure).

The chance keeps many clients that lost the same broker from coming back in step.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.common.rng import Rng

_JITTER = 0.2


@dataclass(frozen=True)
class Backoff:
    """Waits in seconds: `first` doubles up to `longest`."""

    first: float
    longest: float

    def wait(self, attempt: int, rng: Rng) -> float:
        """The wait after `attempt` failures (0 = the first)."""
        base = min(self.first * (1 << min(attempt, 30)), self.longest)
        return base * rng.uniform(1 - _JITTER, 1 + _JITTER)
