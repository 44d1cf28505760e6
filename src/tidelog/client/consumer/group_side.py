"""GroupSide: what a group's decisions mean for this consumer; the `GroupHost` of its membership.

Revoking, step by step, and why in this order:
    1. nothing of the partitions is handed out any more (`revoking`)
    2. wait for the user's turn: then everything that was handed out before is done with
    3. auto-commit, if it is on: so exactly what is done with counts
    4. the listener, whose own commits still count, as the group waits for us
    5. forget the partitions
Losing skips 3: the group has not waited, and another member may have committed since.

Why the user's turn comes before the commit: records that `poll` returned a moment ago are being worked on. A commit
from the loop at that time would say that they are done, and a crash would lose them; the wait costs the group no more
than the work on one poll, and `max.poll.interval.ms` bounds it.

Topics come and go, too. The client looks at a subscription's topics every `metadata.max.age.ms`: a Python pattern may
have found more, and a topic may have grown, which the leader of a classic group has to share out anew. With a pattern
for the server, and in groups of the new protocol, the broker looks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.commits import OffsetCommits
from tidelog.client.consumer.host import Membership
from tidelog.client.consumer.listener import call
from tidelog.client.consumer.metrics import ConsumerMetrics
from tidelog.client.consumer.missing import MissingTopics
from tidelog.client.consumer.subscription import Mode, SubscriptionState
from tidelog.client.consumer.turns import Turns
from tidelog.common.errors import KafkaError, UsageError
from tidelog.common.types import TopicPartition
from tidelog.net.pauses import pause

logger = logging.getLogger("tidelog.client.consumer")


class GroupSide:
    """Owns the membership. Everything here runs on the loop."""

    def __init__(
        self,
        cluster: ClusterClient,
        subscription: SubscriptionState,
        commits: OffsetCommits,
        turns: Turns,
        metrics: ConsumerMetrics,
        missing: MissingTopics,
        *,
        auto_commit: Callable[[Iterable[TopicPartition]], Any],
        changed: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """`auto_commit` is awaited with what is about to go; `changed` is called when partitions came or went."""
        self._cluster = cluster
        self._subscription = subscription
        self._commits = commits
        self._turns = turns
        self._metrics = metrics
        self._missing = missing
        self._auto_commit = auto_commit
        self._changed = changed
        self._failed = failed
        self.membership: Membership | None = None
        #: What has ended the membership for good, until the user unsubscribes or closes.
        self.fatal: Exception | None = None
        #: Nobody will ever poll again: nobody is asked, and nothing committed.
        self.is_alone = False
        self._waits = False  # the user is inside poll
        self._known: dict[str, int] = {}
        self._watching: asyncio.Task[None] | None = None

    # --- GroupHost ----------------------------------------------------------------------------------------------------

    def topics(self) -> frozenset[str]:
        return self._subscription.names

    def server_pattern(self) -> str | None:
        return self._subscription.server_pattern

    def owned(self) -> frozenset[TopicPartition]:
        return frozenset(self._subscription.partitions) if self._subscription.by_group else frozenset()

    async def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        going = self._flag(partitions)
        if self.is_alone:
            self._forget(going)
            return
        try:
            await self._turns.run(None)
            await self._auto_commit(going)
            await self._tell("on_partitions_revoked", going)
        finally:
            self._unflag(going)
        self._forget(going)

    async def lose(self, partitions: Iterable[TopicPartition]) -> None:
        going = self._flag(partitions, lost=True)
        await self._tell("on_partitions_lost", going)
        self._forget(going)

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        new = [tp for tp in partitions if tp not in self._subscription.partitions]
        self._subscription.add(new)
        self._metrics.rebalance_total += 1
        self._changed()
        await self._turns.run(lambda: call(self._subscription.listener, "on_partitions_assigned", new))
        self._changed()

    def hold_back(self) -> None:
        self._flag(self.owned(), lost=True)

    def failed(self, error: Exception, *, final: bool = False) -> None:
        if final:
            self.fatal = error
        self._failed(error)

    async def _tell(self, method: str, partitions: list[TopicPartition]) -> None:
        if partitions and not self.is_alone:
            await self._turns.run(lambda: call(self._subscription.listener, method, partitions))

    def _flag(self, partitions: Iterable[TopicPartition], *, lost: bool = False) -> list[TopicPartition]:
        """Those that we hold, from now on not to be handed out; `lost`: whatever the group says later."""
        going = [tp for tp in partitions if tp in self._subscription.partitions]
        for tp in going:
            part = self._subscription.partitions[tp]
            part.revoking, part.lost = True, part.lost or lost
        return going

    def _unflag(self, partitions: list[TopicPartition]) -> None:
        """Also when the group has changed its mind in between: then they are handed out again. What was fetched was
        dropped while they were flagged, and is asked for anew. Whoever was put out of the group while it waited for the
        user's turn has lost them meanwhile."""
        for tp in partitions:
            if (part := self._subscription.partitions.get(tp)) is not None and not part.lost:
                part.revoking = False
                if part.stand is not None:
                    part.move(*part.stand)

    def _forget(self, partitions: list[TopicPartition]) -> None:
        self._subscription.remove(partitions)
        self._changed()

    # --- the membership -----------------------------------------------------------------------------------------------

    async def subscribed(self) -> None:
        """The subscription is there or has changed. The membership is made with the first one, and joins with it;
        not if the user has unsubscribed while its topics were looked up.
        """
        await self._resolve()
        if not self._subscription.by_group:
            return
        if self.membership is None:
            self.membership = self._make()
            self._commits.member = self.membership
            self.membership.waiting(self._waits)
            await self.membership.start()
        else:
            self.membership.subscription_changed()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    def waiting(self, waits: bool) -> None:
        """The user waits inside `poll`, or no more. The first one waits before there is a membership to be told."""
        self._waits = waits
        if self.membership is not None:
            self.membership.waiting(waits)

    def _make(self) -> Membership:
        """A place in a group of the protocol that `group.protocol` names; each kind is imported when it is used."""
        config = self._cluster.config
        if config[keys.GROUP_PROTOCOL] == "consumer":
            from tidelog.client.consumer.membership.consumer import ConsumerMembership

            return ConsumerMembership(self._cluster, self, config)
        from tidelog.client.consumer.membership.classic import ClassicMembership

        if self._subscription.server_pattern is not None:
            raise UsageError("a pattern for the server needs group.protocol=consumer: with classic use re.compile(...)")
        return ClassicMembership(self._cluster, self, config)

    async def leave(self, reason: str) -> None:
        """Give everything back, and tell the coordinator."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None
        if self.membership is not None:
            membership, self.membership = self.membership, None
            self.fatal = None
            try:
                await membership.leave(reason=reason)
            finally:
                self._commits.member = None

    # --- topics that come and go --------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Look at the subscribed topics whenever metadata is due; a pattern finds new ones, a topic may have grown."""
        age = self._cluster.config[common.METADATA_MAX_AGE_MS] / 1000
        while True:
            await pause(max(age, 0.05))
            try:
                names = self._subscription.names
                await self._resolve(refresh=True)
                if self.membership is not None and self._subscription.names != names:
                    self.membership.subscription_changed()
                elif self.membership is not None:
                    self.membership.metadata_changed()
            except KafkaError as error:
                logger.warning("the subscribed topics could not be looked up: %s", error)

    async def _resolve(self, *, refresh: bool = False) -> None:
        """The names that a pattern stands for; of names, the metadata. Brokers may make topics that are missing, so
        these are asked for again: that they were missing is worth telling.
        """
        config = self._cluster.config
        state = self._subscription
        if state.mode is Mode.PATTERN and state.pattern is not None:
            topics = await self._cluster.retry(self._cluster.all_topics)
            hidden = config[keys.EXCLUDE_INTERNAL_TOPICS]
            found = (t.name for t in topics.values() if not t.error and not (t.internal and hidden))
            state.names = frozenset(name for name in found if state.pattern.fullmatch(name))
        elif state.mode is Mode.TOPICS:
            metadata, now = self._cluster.metadata, self._cluster.clock.time_ms()
            wanted = state.names if refresh else metadata.missing(state.names, now)
            if wanted:
                await self._cluster.retry(lambda: self._cluster.refresh(wanted))
            absent, may_be_made = state.names & metadata.absent, config[keys.ALLOW_AUTO_CREATE_TOPICS]
            if absent and may_be_made:
                await self._cluster.retry(lambda: self._cluster.refresh(absent, create=True))
                await self._missing.made(absent - metadata.absent)
            self._missing.look()
