"""What becomes of a record whose handler raised: tried again, written to another topic, left out, or the end of it all.

    on_error=retry(5).then(dead_letter("orders-dead"))

A policy is a value: a chain of steps, each of which takes so many attempts. It does nothing by itself; the runner asks
`decide` after each failure, and does what the answer says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tidelog.client.durations import seconds
from tidelog.common.errors import UsageError


@dataclass(frozen=True)
class Again:
    """Call the handler again after so many seconds."""

    after: float


@dataclass(frozen=True)
class DeadLetter:
    """Write the record, and why it failed, to this topic; then it is done with."""

    topic: str


@dataclass(frozen=True)
class Skip:
    """Log it; then it is done with."""


@dataclass(frozen=True)
class Stop:
    """Stop handling, and raise what the handler raised."""


Decision = Again | DeadLetter | Skip | Stop


@dataclass(frozen=True)
class Retry:
    """`times` more attempts, `backoff` seconds before the first, twice as long before each further one, up to
    `backoff_max`; only for errors of the kinds in `on`. What remains goes to `fallback`.

    Its queue waits meanwhile: with `ordering="partition"` nothing of this partition is handled until its record is done
    with, or the order would be broken.
    """

    times: int
    backoff: float = 0.1
    backoff_max: float = 10.0
    on: tuple[type[BaseException], ...] = (Exception,)
    fallback: DeadLetter | Skip | Stop = Stop()

    DOUBLING: ClassVar[int] = 2

    def then(self, fallback: DeadLetter | Skip | Stop) -> Retry:
        """What to do when no further attempt helps."""
        return replace(self, fallback=fallback)

    def wait(self, attempt: int) -> float:
        """Seconds between this failed attempt (1, 2, …) and the next."""
        exponent = min(attempt - 1, 60)
        return float(min(self.backoff * self.DOUBLING**exponent, self.backoff_max))


Policy = Retry | DeadLetter | Skip | Stop


def retry(
    times: int,
    *,
    backoff: float = 0.1,
    backoff_max: float = 10.0,
    on: type[BaseException] | tuple[type[BaseException], ...] = Exception,
) -> Retry:
    """Up to `times` more attempts; then the error is raised, unless `.then(…)` says otherwise."""
    if not isinstance(times, int):
        raise UsageError(f"retry({times!r}): expected how many times, as retry(3)")
    backoff, backoff_max = seconds(backoff, "backoff"), seconds(backoff_max, "backoff_max")
    if times < 0 or backoff_max < backoff:
        given = f"retry({times}, backoff={backoff}, backoff_max={backoff_max})"
        raise UsageError(f"{given}: nothing is negative, and the largest wait not the least")
    return Retry(times, backoff, backoff_max, on if isinstance(on, tuple) else (on,))


def dead_letter(topic: str) -> DeadLetter:
    """Put what cannot be handled aside in a topic."""
    if not topic:
        raise UsageError("a dead letter needs a topic")
    return DeadLetter(topic)


def skip() -> Skip:
    """Log what cannot be handled, and go on."""
    return Skip()


def stop() -> Stop:
    """End with the first error. What was handled is committed, what failed is not."""
    return Stop()


def decide(policy: Policy, error: BaseException, attempt: int) -> Decision:
    """After the `attempt`-th attempt at a record has failed with this error."""
    if not isinstance(policy, Retry):
        return policy
    if attempt <= policy.times and isinstance(error, policy.on):
        return Again(policy.wait(attempt))
    return policy.fallback
