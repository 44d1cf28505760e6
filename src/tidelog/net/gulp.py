"""Whether it pays to wait for larger pieces of an answer: tried on each connection, not guessed (pure).

Fewer, larger receives are faster when the broker has much to send at once. A broker with a small send buffer (Apache
Kafka's is 100 KB) is slower then: it waits for acknowledgements that the kernel holds back while nobody reads. So the
first large answers of a connection are received in both ways, in turns, and the rest in the one that was faster.
"""

from __future__ import annotations

#: Answers to learn from, half of them in each way.
TRIALS = 6


class Gulp:
    """What one connection has learned."""

    def __init__(self) -> None:
        self._answers = 0
        self._best = {False: 0.0, True: 0.0}

    @property
    def pays(self) -> bool:
        """Whether to wait for larger pieces of the next answer."""
        if self._answers < TRIALS:
            return self._answers % 2 == 1
        return self._best[True] > self._best[False]

    def note(self, waited: bool, size: int, seconds: float) -> None:
        """An answer of that size was received in that time."""
        self._answers += 1
        self._best[waited] = max(self._best[waited], size / max(seconds, 1e-9))
