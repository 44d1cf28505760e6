"""Finding positions: the committed offset, else `auto.offset.reset`; and again when the log does not hold them.

    nowhere ──committed──► standing ──fetch says out of range──► nowhere, to be reset
       └──no commit──► to be reset ──ListOffsets──► standing
                          └── policy none: NoOffsetForPartitionError from `poll`, until somebody seeks

All of it happens on the loop in one task at a time, while other partitions are being read. An answer that comes after
the partition has moved otherwise (a `seek` meanwhile) is dropped: `generation` tells.

Why partitions without a place do not stop the others: a group may give us a hundred partitions at once, of which one
has lost its leader. The ninety-nine are read from as soon as their positions are there.

`none` is a question to the user. It is raised from every `poll` until each partition has got a place, rather than once:
a program that catches it and goes on would silently read less than it was given.

A position of an older leader is compared with the new leader's log before it is used (`validation`, KIP-320).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.errors import NoOffsetForPartitionError, OffsetOutOfRangeError
from tidelog.client.consumer.reset import LATEST, Reset, policy
from tidelog.client.consumer.subscription import SubscriptionState, TopicPartitionState
from tidelog.client.consumer.validation import needs_validation, validate
from tidelog.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.common.types import TopicPartition
from tidelog.net.pauses import pause

logger = logging.getLogger("tidelog.client.consumer")

#: Asks the group's coordinator; None for a partition that nothing was committed for.
Committed = Callable[[Iterable[TopicPartition]], Awaitable[dict[TopicPartition, OffsetAndMetadata | None]]]


class Positions:
    """Gives every partition of a subscription a place to stand."""

    def __init__(
        self,
        cluster: ClusterClient,
        subscription: SubscriptionState,
        committed: Committed | None,
        *,
        problem: Callable[[Exception], None],
        settled: Callable[[], None],
        looked: Callable[[], None] = lambda: None,
    ) -> None:
        """`committed` is None without a group. `settled` is called when something has found its place, `looked` at each
        turn: what has no place may not be there at all.
        """
        config = cluster.config
        self._cluster = cluster
        self._subscription = subscription
        self._committed = committed
        self._problem = problem
        self._settled = settled
        self._looked = looked
        self.policy = policy(config[keys.AUTO_OFFSET_RESET])
        self.isolation = READ_COMMITTED if config[keys.ISOLATION_LEVEL] == "read_committed" else READ_UNCOMMITTED
        self.task: asyncio.Task[None] | None = None
        self._failures = 0

    def is_sound(self, part: TopicPartitionState) -> bool:
        """Whether it may be read from: its position is of the leader's own log, as far as is known."""
        return not needs_validation(self._cluster.metadata, part)

    def start(self) -> None:
        """Begin to find what has no place, unless that is under way."""
        self._looked()
        if self.task is None and self._open():
            self.task = asyncio.create_task(self._settle())

    def raise_missing(self) -> None:
        """NoOffsetForPartitionError, if some have no place and the policy leaves it to the user."""
        parts = self._subscription.partitions.values()
        missing = [part.tp for part in parts if part.stand is None and part.reset is not None and part.reset.is_none]
        if missing:
            raise NoOffsetForPartitionError(missing)

    def out_of_range(self, part: TopicPartitionState, error: OffsetOutOfRangeError) -> None:
        """The log does not hold what was asked for. What is buffered before that place is handed out first."""
        part.blocked_until = self._cluster.clock.monotonic() + self._cluster.wait_before_retry(0)
        if part.position != part.fetch_position:
            return
        if self.policy.is_none:
            self._problem(error)
            return
        logger.warning("%s: going on by auto.offset.reset=%s", error, self._cluster.config[keys.AUTO_OFFSET_RESET])
        part.topic_id = None
        part.look_for(self.policy)
        self.start()

    # --- the task -----------------------------------------------------------------------------------------------------

    def _open(self) -> bool:
        parts = self._subscription.partitions.values()
        return any(
            (part.stand is None and not (part.reset is not None and part.reset.is_none)) or not self.is_sound(part)
            for part in parts
        )

    async def _settle(self) -> None:
        """One round. What could not be settled for now is tried again after a pause, by the engine's next turn."""
        try:
            await self._look_up()
            await self._reset()
            await validate(self._cluster, self._subscription, self.policy, self._problem)
            self._failures = 0
        except (KafkaError, ProtocolError) as error:
            if isinstance(error, KafkaError) and not error.retriable:
                self._problem(error)
            await pause(self._cluster.wait_before_retry(self._failures))
            self._failures += 1
        except Exception as error:  # noqa: BLE001 - a fault of ours: not lost
            self._problem(error)
            await pause(self._cluster.wait_before_retry(self._failures))
        finally:
            self.task = None
            self._settled()

    async def _look_up(self) -> None:
        """Ask for committed offsets; whoever has none is to be reset."""
        lost = [part for part in self._subscription.partitions.values() if part.stand is None and part.reset is None]
        if not lost:
            return
        begin = self._subscription.begin or self.policy
        generations = {part.tp: part.generation for part in lost}
        found = {} if self._committed is None else await self._committed([part.tp for part in lost])
        for part in lost:
            if part.generation != generations[part.tp]:
                continue
            known = found.get(part.tp)
            if known is not None:
                part.move(known.offset, known.leader_epoch)
            else:
                part.reset = begin

    async def _reset(self) -> None:
        """Ask ListOffsets, topic by topic: one that is gone must not hold up the others, nor a partition that its topic
        does not have. Those are looked for again the next time.
        """
        waiting = [
            part
            for part in self._subscription.partitions.values()
            if part.stand is None and part.reset is not None and not part.reset.is_none
        ]
        if not waiting:
            return
        metadata = self._cluster.metadata
        await self._cluster.ensure_topics({part.tp.topic for part in waiting})
        topics: dict[str, dict[TopicPartition, tuple[TopicPartitionState, int, Reset]]] = {}
        missing: list[TopicPartition] = []
        for part in waiting:
            known = metadata.topics.get(part.tp.topic)
            if known is None or (known.partitions and part.tp.partition not in known.partitions):
                missing.append(part.tp)
            elif part.reset is not None:
                topics.setdefault(part.tp.topic, {})[part.tp] = (part, part.generation, part.reset)
        outcomes = await asyncio.gather(*map(self._reset_topic, topics.values()), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
        if missing:
            metadata.mark_stale({tp.topic for tp in missing})
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"not there: {', '.join(map(str, missing))}")

    async def _reset_topic(self, wanted: dict[TopicPartition, tuple[TopicPartitionState, int, Reset]]) -> None:
        now = self._cluster.clock.time_ms()
        found = await offsets_by_reset(self._cluster, {tp: r for tp, (_, _, r) in wanted.items()}, now, self.isolation)
        for tp, (part, generation, _) in wanted.items():
            if part.generation == generation:
                part.move(found[tp])


async def offsets_by_reset(
    cluster: ClusterClient, wanted: dict[TopicPartition, Reset], now_ms: int, isolation: int
) -> dict[TopicPartition, int]:
    """Where each question leads; a time that no record is late enough for leads to the end."""
    asked = {tp: reset.asked_at(now_ms) for tp, reset in wanted.items()}
    found = await list_offsets(cluster, asked, isolation=isolation)
    late = [tp for tp, entry in found.items() if entry.offset < 0]
    ends = await list_offsets(cluster, {tp: LATEST.asked_at(now_ms) for tp in late}, isolation=isolation)
    return {tp: ends[tp].offset if tp in ends else entry.offset for tp, entry in found.items()}
