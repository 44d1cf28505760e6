"""Whether it pays to wait for larger pieces of an answer: tried on each connection, not guessed (pure).

Fewer, larger receives are faster when the broker has much to send at once. A broker with a small send buffer (Apache
Kafka's is 100 KB) is slower then: it waits for acknowledgements that the kernel holds back while nobody reads. So the
first large answers of a connection are received in both ways, in turns, and the rest in the one that was faster. It
takes a few turns to tell small differences from chance; a large one is believed at once, for it costs as much to try.
"""

from __future__ import annotations

#: Answers to learn from, half of them in each way.
TRIALS = 6
#: So many times faster than the other way is no chance.
CLEARLY = 1.5


class Gulp:
    """What one connection has learned."""

    def __init__(self) -> None:
        self._answers = 0
        self._best = {False: 0.0, True: 0.0}
        self._settled = False

    @property
    def pays(self) -> bool:
        """Whether to wait for larger pieces of the next answer."""
        if self._settled:
            return self._best[True] > self._best[False]
        return self._answers % 2 == 1

    def note(self, waited: bool, size: int, seconds: float) -> None:
        """An answer of that size was received in that time."""
        self._answers += 1
        self._best[waited] = max(self._best[waited], size / max(seconds, 1e-9))
        slower, faster = sorted(self._best.values())
        both_tried = self._answers % 2 == 0
        self._settled |= self._answers >= TRIALS or (both_tried and faster >= CLEARLY * slower)
