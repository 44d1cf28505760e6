"""Course: what both ways of running share: the settings, who has failed, what the group takes away, how it is going.

A run wraps the subscription's rebalance listener for as long as it lasts. Before partitions go to somebody else, what
is at work of them is waited for and committed: the next member begins behind it, and nothing is handled twice for a
rebalance that was announced. Auto-commit is off meanwhile: it would commit what was handed out, not what is done; its
interval says how often the run commits instead.

A dead letter is the record as it came, key, value and headers byte for byte, with headers that say where it was, who
failed at it, how often, and why: enough to mend the cause and send it again. It is written by a producer of the run's
own, which gets from the consumer's settings what both kinds of client know (addresses, security, time-outs).
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tidelog.client.config import common, producer, security
from tidelog.client.config import consumer as keys
from tidelog.client.consumer._records import ConsumerRecord
from tidelog.client.consumer.core import ConsumerCore
from tidelog.client.consumer.handling.policies import Decision, Policy, Stop, decide
from tidelog.client.consumer.handling.workload import Job, Offsets, Workload
from tidelog.client.consumer.listener import call
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition

logger = logging.getLogger("tidelog.client.consumer")

#: How long a poll waits: so often are commits, slow handlers and room for more looked at.
POLL_SECONDS = 0.1
#: ... while no more is wanted, and room may be there at any moment.
FULL_POLL_SECONDS = 0.01
#: A handler is warned of when it has taken this share of `max.poll.interval.ms`.
SLOW = 0.5

#: Beside what came with the record: where it was, and what went wrong.
HEADER_TOPIC = "dead-letter.topic"
HEADER_PARTITION = "dead-letter.partition"
HEADER_OFFSET = "dead-letter.offset"
HEADER_ERROR = "dead-letter.error"
HEADER_TRACE = "dead-letter.traceback"
HEADER_ATTEMPTS = "dead-letter.attempts"
HEADER_GROUP = "dead-letter.group"


@dataclass(frozen=True)
class HandlingState:
    """How a run is going, for `health`."""

    handler: str
    at_work: int
    queued: int
    handled: int
    failed_attempts: int
    dead_letters: int
    skipped: int
    slowest_seconds: float


class Course:
    """One run of one consumer."""

    def __init__(
        self, core: ConsumerCore, handler: Callable[..., Any], ordering: str, concurrency: int, on_error: Policy | None
    ) -> None:
        core.require_group("run")
        if not callable(handler):
            raise UsageError(f"run({handler!r}): expected a function that takes a record")
        self.core = core
        self.handler = handler
        self.name = getattr(handler, "__qualname__", None) or type(handler).__qualname__
        self.policy: Policy = on_error if on_error is not None else Stop()
        self.workload = Workload(ordering, concurrency)
        self.failure: BaseException | None = None
        #: The consumer stands before the first record of each partition that is not done.
        self.is_put_back = False
        self.handled = self.failed_attempts = self.dead_letters = self.skipped = 0
        self._interval = core.config[keys.AUTO_COMMIT_INTERVAL_MS] / 1000
        self._due = core.clock.monotonic() + self._interval

    @property
    def now(self) -> float:
        """Seconds of the consumer's clock."""
        return self.core.clock.monotonic()

    def state(self) -> HandlingState:
        """May be asked from any thread: what it tells of a moment need not fit together to the last record."""
        now = self.now
        return HandlingState(
            handler=self.name,
            at_work=len(self.workload.at_work),
            queued=self.workload.queued,
            handled=self.handled,
            failed_attempts=self.failed_attempts,
            dead_letters=self.dead_letters,
            skipped=self.skipped,
            slowest_seconds=max((now - job.began for job in list(self.workload.at_work) if job.began), default=0.0),
        )

    @contextmanager
    def under_way(self, listener: Any) -> Iterator[None]:
        """Our listener around the user's, no auto-commit, and `health` knows of us.

        Auto-commit comes back only with positions that were put back: else it would commit what was polled, handled or
        not. (An interrupt may come at any moment, also the second one.)
        """
        subscription = self.core.subscription
        if self.core.handling is not None:
            raise UsageError("this consumer is already run")
        theirs, subscription.listener = subscription.listener, listener
        self.core.handling = self.state
        self.core.committing.suspended = True
        try:
            yield
        finally:
            subscription.listener = theirs
            self.core.handling = None
            self.core.committing.suspended = not self.is_put_back

    def to_commit(self) -> Offsets:
        """What to commit now, if it is time."""
        now = self.now
        if now < self._due:
            return {}
        self._due = now + self._interval
        return self.workload.committable()

    def confirmed(self, offsets: Any, error: Exception | None) -> None:
        """An asynchronous commit was answered. One that failed is made good by the next, which says more."""
        if error is None:
            self.workload.committed(offsets)
        else:
            logger.warning("a commit of what %s has handled failed: %s", self.name, error)

    def take(self) -> Job | None:
        """The next job, if there is one. After a failure there is none: what stands behind the failed one in its queue
        would be handled before it."""
        return None if self.failure is not None else self.workload.take()

    # --- what workers report; the blocking run calls these under its lock where they touch the workload ---------------

    def ended(self, job: Job, *, done: bool) -> None:
        """A worker has let go of it: it is done with, or left for whoever comes next."""
        if done:
            self.handled += 1
            self.workload.done(job)
        else:
            self.workload.abandon(job)

    def decide(self, job: Job, error: BaseException) -> Decision:
        """An attempt has failed: what the policy says to that."""
        self.failed_attempts += 1
        return decide(self.policy, error, job.attempts)

    def skip(self, job: Job, error: BaseException) -> None:
        """It is left out: as if it had been handled, but for a line in the log."""
        logger.warning("%s failed at %s and left it out: %s", self.name, job.place, error)
        self.skipped += 1

    def buried(self, job: Job, topic: str, error: BaseException) -> None:
        """Its dead letter is written: it is done with."""
        logger.warning("%s failed at %s, which is put aside in %s: %s", self.name, job.place, topic, error)
        self.dead_letters += 1

    def unconfirmed(self, error: Exception) -> None:
        """The last commit failed. What it was of is handled again by whoever comes next, which is what at least once
        means; so it is no error of the run's.
        """
        logger.warning("the last commit of what %s has handled failed: %s", self.name, error)

    def fail(self, job: Job, error: BaseException) -> None:
        """The end: the first error is raised when everything else has come to rest."""
        if self.failure is None:
            logger.error("%s failed for good at %s: %s", self.name, job.place, error)
            self.failure = error

    def warn_of_slow(self) -> None:
        """Polls go on while a handler hangs, so the group would not notice; somebody should."""
        limit, now = self.core.config_max_poll_interval, self.now
        for job in list(self.workload.at_work):
            if job.began and not job.warned and now - job.began > SLOW * limit:
                job.warned = True
                logger.warning(
                    "the handler %s has been at %s for %.0f s (max.poll.interval.ms is %.0f s): nothing behind it in "
                    "its queue is handled, and no commit passes it",
                    self.name, job.place, now - job.began, limit,
                )  # fmt: skip

    def tell(self, listener: Any, method: str, partitions: Iterable[TopicPartition]) -> Any:
        """The user's own listener."""
        return call(listener, method, partitions)

    # --- dead letters -------------------------------------------------------------------------------------------------

    def producer_settings(self) -> dict[str, object]:
        """Those of the consumer that are a producer's, too: where the cluster is, and how to get in."""
        shared = (common.KEYS.keys.keys() | security.KEYS.keys.keys()) & producer.KEYS.keys.keys()
        return {name: value for name, value in self.core.config.originals.items() if name in shared}

    def dead_letter_of(self, job: Job, error: BaseException) -> dict[str, Any]:
        """What is written for a record that could not be handled: its bytes as they were, and the reason."""
        record: ConsumerRecord = job.record
        told = {
            HEADER_TOPIC: record.topic,
            HEADER_PARTITION: str(record.partition),
            HEADER_OFFSET: str(record.offset),
            HEADER_GROUP: str(self.core.group_id),
            HEADER_ATTEMPTS: str(job.attempts),
            HEADER_ERROR: f"{type(error).__qualname__}: {error}",
            HEADER_TRACE: "".join(traceback.format_exception(error)),
        }
        headers = [*record.headers, *[(name, text.encode()) for name, text in told.items()]]
        return {"key": record.raw_key, "value": record.raw_value, "headers": headers}
