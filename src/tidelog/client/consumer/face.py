"""What both faces of the consumer have in common: everything that is answered from what is known here, without waiting.

`blocking.Consumer` and `aio.Consumer` differ in how they wait, and so in every method that asks a broker or runs the
user's code; these are written twice, so that editors and type checkers show the one form or the other. A method that
only looks is the same for both.
"""

from __future__ import annotations

from typing import Any

from tidelog.client.consumer import queries
from tidelog.client.consumer.core import ConsumerCore
from tidelog.common.types import TopicPartition

#: How long `close` waits for others, as in Java.
CLOSE_TIMEOUT = 30.0


class ConsumerFace:
    """Looks at the core that the face has made. None of these is refused while another call is under way."""

    _core: ConsumerCore

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read at present: those given to `assign`, or by the group."""
        return frozenset(self._core.subscription.partitions)

    def subscription(self) -> frozenset[str]:
        """The subscribed names; of a pattern, those that it has found."""
        return self._core.subscription.names

    def paused(self) -> frozenset[TopicPartition]:
        """Those that wait for `resume`."""
        return frozenset(tp for tp, part in self._core.subscription.partitions.items() if part.paused)

    def current_lag(self, partition: TopicPartition) -> int | None:
        """The lag as of the last fetch, without asking; None if it is not known."""
        return queries.current_lag(self._core, partition)

    def health(self) -> queries.ConsumerHealth:
        """How it is, and why it is not well, without asking anybody."""
        return queries.health(self._core)

    def metrics(self) -> dict[str, Any]:
        """Counters since the start; see `metrics` for the names."""
        return self._core.metrics.snapshot(self._core.clock.monotonic())

    def __repr__(self) -> str:
        core = self.__dict__.get("_core")
        return f"<Consumer of {core.cluster}>" if core is not None else "<Consumer>"

    def wakeup(self) -> None:
        """End the call that is under way, or else the next one, with `WakeupError`. From any thread."""
        self._core.wakeup()
