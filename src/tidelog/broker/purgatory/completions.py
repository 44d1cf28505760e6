"""Completions in the order in which they came about: one after the other, never one inside another.

Who is answered may have its next request ready; that may append, and the append may satisfy somebody else, who has
a request ready, too. Carried out where each comes about, such a chain would nest as deep as there are connections. So
what a purgatory completes is added here. The first one is carried out at once, in the same turn of the event loop as
what satisfied it; what comes about meanwhile waits until it is done. After `TURN` of them the loop goes round, so that
a long chain does not keep others from being served.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from tidelog.common.scheduler import Scheduler

logger = logging.getLogger("tidelog.requests")

#: Completions carried out in one turn of the event loop, at most.
TURN = 256

Step = Callable[[], None]


class Completions:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._steps: deque[Step] = deque()
        self._busy = False
        """Somebody carries them out, or the loop will go on with it."""

    def __len__(self) -> int:
        """How many are yet to be carried out."""
        return len(self._steps)

    def add(self, steps: Iterable[Step]) -> None:
        """Carry these out: at once, or behind those that are under way."""
        self._steps.extend(steps)
        if not self._busy:
            self._work()

    @contextmanager
    def later(self) -> Iterator[None]:
        """What is added within is carried out in the loop's next turn: who adds it must not be asked anything now."""
        if self._busy:
            yield
            return
        self._busy = True
        try:
            yield
        finally:
            self._rest()

    def _work(self) -> None:
        self._busy = True
        left = TURN
        while self._steps and left:
            left -= 1
            try:
                self._steps.popleft()()
            except Exception:  # one request's failure is not that of the others, nor of who satisfied them
                logger.exception("a request that had waited could not be completed")
        self._rest()

    def _rest(self) -> None:
        """Leave what there still is to the loop."""
        self._busy = bool(self._steps)
        if self._busy:
            self._scheduler.call_later(0, self._work)
