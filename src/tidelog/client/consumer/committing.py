"""Committing: the consumer's side of commits: synchronous, asynchronous with callbacks in order, and automatic.

    commit          waits for the answer, and tries again what may pass
    commit_async    is sent once: if it fails, a later commit says the same and more
    automatic       as commit_async, when `poll` is called and it is time; as commit, before partitions go

All of them stand in one queue, so that an older position never overwrites a newer one, and the callbacks of what was
sent off are run before a later synchronous commit returns.

Auto-commit is part of `poll`, not of a timer: when `poll` is called, everything that it returned before is done with,
and only then may it count. Every `auto.commit.interval.ms` such a `poll` sends off what was consumed up to there; the
same happens before partitions are given back and on close. A failed one is logged: the next one says the same and more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.commits import OffsetCommits
from tidelog.client.consumer.interceptors import Interceptors
from tidelog.client.consumer.metrics import ConsumerMetrics
from tidelog.client.consumer.subscription import SubscriptionState
from tidelog.client.consumer.turns import Turns
from tidelog.client.values import OffsetAndMetadata, position_of
from tidelog.common.errors import KafkaError, TidelogError, UsageError
from tidelog.common.types import TopicPartition

logger = logging.getLogger("tidelog.client.consumer")

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
#: What a user may give: an offset, or one with metadata.
GivenOffsets = Mapping[TopicPartition, OffsetAndMetadata | int]
#: Called in the user's turn with the offsets and None or the error.
CommitCallback = Callable[[Offsets, Exception | None], Any]


class Committing:
    """All commits of one consumer pass here, in order."""

    def __init__(
        self,
        cluster: ClusterClient,
        subscription: SubscriptionState,
        commits: OffsetCommits,
        turns: Turns,
        interceptors: Interceptors,
        metrics: ConsumerMetrics,
    ) -> None:
        config = cluster.config
        self._clock = cluster.clock
        self._subscription = subscription
        self._commits = commits
        self._turns = turns
        self._interceptors = interceptors
        self._metrics = metrics
        self._automatic = config[keys.ENABLE_AUTO_COMMIT]
        #: Somebody else knows what is done with (`run`): nothing is committed automatically meanwhile.
        self.suspended = False
        self._interval = config[keys.AUTO_COMMIT_INTERVAL_MS] / 1000
        self._due = self._clock.monotonic() + self._interval
        self._under_way: set[asyncio.Task[None]] = set()

    def chosen(self, offsets: GivenOffsets | None) -> dict[TopicPartition, OffsetAndMetadata]:
        """What to commit: what was given, else everything that was consumed. In the user's thread."""
        if offsets is None:
            return self._subscription.consumed()
        if not isinstance(offsets, Mapping) or any(not isinstance(tp, tuple) for tp in offsets):
            raise UsageError(
                f'commit takes offsets by partition, as {{TopicPartition("orders", 0): 5}}, not {offsets!r}'
            )
        return {tp: position_of(given) for tp, given in offsets.items()}

    async def commit(self, offsets: Offsets, timeout: float | None = None) -> None:
        """Wait until the coordinator has it, behind whatever was sent before."""
        await self._send(offsets, timeout=timeout)

    def start(self, offsets: Offsets, callback: CommitCallback | None) -> None:
        """Send it off, behind whatever was sent before; the callback is run in the user's turn."""
        self._spawn(self._asynchronous(offsets, callback))

    async def _asynchronous(self, offsets: Offsets, callback: CommitCallback | None) -> None:
        error: TidelogError | None = None
        try:
            await self._send(offsets, retry=False)
        except (KafkaError, UsageError) as failure:
            error = failure
            if callback is None:
                logger.warning("an asynchronous commit failed: %s", error)
        if callback is not None:
            self._turns.post(lambda: callback(offsets, error))

    async def flush(self, timeout: float | None = None) -> None:
        """Wait until everything that was sent off is answered: their callbacks come before what follows."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=timeout)

    # --- automatic ----------------------------------------------------------------------------------------------------

    def due(self, now: float) -> dict[TopicPartition, OffsetAndMetadata] | None:
        """In the user's thread, as `poll` begins: what to commit now; None if it is not time."""
        if not self._automatic or self.suspended or now < self._due:
            return None
        self._due = now + self._interval
        return self._subscription.consumed()

    async def before_giving_back(self, partitions: Iterable[TopicPartition]) -> None:
        """Commit what was consumed of these, if auto-commit is on; a failure must not hold up the group. So nobody
        waits for a topic that was deleted: what was read of the others counts all the same.
        """
        if not self._automatic or self.suspended:
            return
        consumed = self._subscription.consumed()
        going = {tp: consumed[tp] for tp in partitions if tp in consumed}
        try:
            await self._send(going, wait_for_topics=False)
        except (KafkaError, UsageError) as error:
            logger.warning("the auto-commit before giving back %s failed: %s", ", ".join(map(str, going)), error)

    # --- sending ------------------------------------------------------------------------------------------------------

    async def _send(
        self, offsets: Offsets, *, timeout: float | None = None, retry: bool = True, wait_for_topics: bool = True
    ) -> None:
        try:
            await self._commits.commit(offsets, timeout=timeout, retry=retry, wait_for_topics=wait_for_topics)
        except BaseException:
            self._metrics.commit_failed_total += 1
            raise
        if offsets:
            self._metrics.committed(self._clock.monotonic())
            if self._interceptors:
                self._turns.post(lambda: self._interceptors.on_commit(offsets))

    def _spawn(self, coroutine: Any) -> None:
        """Kept until it has ended: a task that nobody refers to may be collected while it runs."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
