"""What a consumer wants and where it stands: the subscription, and a `TopicPartitionState` for each partition.

Two threads look at a partition's state with the blocking face: the user's, inside `poll`, and the loop's. There is no
lock between them, because every field has one writer at any time:

    the user's thread    stand, drained                  (taking records out of the buffer)
    the loop's thread    everything else                 (asking, receiving, pausing, seeking, rebalancing)

Whatever moves a position otherwise (`seek`, a reset, a rebalance) runs on the loop while the user waits for it, and
counts `generation` up: what was fetched for the place before is then dropped, wherever it is on its way. The table of
partitions is replaced, never changed, so that whoever walks over it is not disturbed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import UsageError
from tidelog.common.types import NO_EPOCH, NO_NODE, NO_OFFSET, TopicPartition

if TYPE_CHECKING:
    from tidelog.client.consumer.reset import Reset


class Mode(Enum):
    """How the partitions are chosen. The first choice holds until `unsubscribe`: mixing them is a misuse."""

    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern"
    SERVER_PATTERN = "a pattern of the server's"
    MANUAL = "assigned partitions"


@dataclass(eq=False)
class TopicPartitionState:
    """Where the reading of one partition stands.

    `stand` is the offset of the next record to hand out and the leader epoch of the last one that was (None: not found
    yet); one value, so that nobody sees the one without the other. `fetch_position` is the offset to ask for next:
    between the two lies what is buffered.
    """

    tp: TopicPartition
    stand: tuple[int, int] | None = None
    fetch_position: int = NO_OFFSET
    generation: int = 0
    #: How to find a position: None asks for a committed one first.
    reset: Reset | None = None
    #: The leader epoch at which the position was last found to be sound (KIP-320).
    validated_epoch: int = NO_EPOCH
    paused: bool = False
    #: The group wants it back: nothing of it is handed out any more.
    revoking: bool = False
    #: It may be somebody else's already: so it stays, until it is forgotten.
    lost: bool = False
    high_watermark: int = NO_OFFSET
    last_stable_offset: int = NO_OFFSET
    log_start_offset: int = NO_OFFSET
    topic_id: bytes | None = None
    #: Bytes that came, and bytes that were handed out or dropped; what is between them is buffered.
    received: int = 0
    drained: int = 0
    #: Fetched pieces that wait until the partition is resumed.
    parked: deque[Any] = field(default_factory=deque)
    #: A replica that is nearer than the leader (KIP-392), until then.
    replica: int = NO_NODE
    replica_until: float = 0.0
    failures: int = 0
    failing_since: float = 0.0
    blocked_until: float = 0.0

    @property
    def position(self) -> int | None:
        return None if self.stand is None else self.stand[0]

    @property
    def fetchable(self) -> bool:
        """Whether the user wants records of it, as far as the subscription knows."""
        return self.stand is not None and not self.paused and not self.revoking

    @property
    def buffered(self) -> int:
        """Bytes that came and were not handed out: each of the two counts has one writer, so no lock is needed."""
        return self.received - self.drained

    def move(self, offset: int, epoch: int = NO_EPOCH) -> None:
        """Stand at another place from now on; what is buffered or on its way is of no use any more."""
        self.generation += 1
        self.stand, self.fetch_position = (offset, epoch), offset
        self.high_watermark = self.last_stable_offset = NO_OFFSET
        self.reset, self.validated_epoch = None, NO_EPOCH
        self.forget_buffered()

    def look_for(self, reset: Reset | None) -> None:
        """Stand nowhere until a position was found."""
        self.generation += 1
        self.stand, self.reset, self.validated_epoch = None, reset, NO_EPOCH
        self.forget_buffered()

    def forget_buffered(self) -> None:
        """What is in the queue is stale by its generation; here it stops to count."""
        self.drained = self.received
        self.parked.clear()

    @property
    def consumed(self) -> OffsetAndMetadata | None:
        """What a commit of everything that was handed out says."""
        return None if self.stand is None else OffsetAndMetadata(*self.stand)


class SubscriptionState:
    """Mode, names and partitions. Pure; used as the module says."""

    def __init__(self) -> None:
        self.mode = Mode.NONE
        self.names: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.server_pattern: str | None = None
        self.listener: Any = None
        #: How partitions without a committed offset begin, if `subscribe` said so.
        self.begin: Reset | None = None
        self.partitions: dict[TopicPartition, TopicPartitionState] = {}

    @property
    def by_group(self) -> bool:
        """Whether a group decides which partitions are ours."""
        return self.mode not in (Mode.NONE, Mode.MANUAL)

    def choose(self, mode: Mode, listener: Any = None, begin: Reset | None = None) -> None:
        """Settle how partitions are chosen; another way than before needs `unsubscribe` first."""
        if self.mode not in (Mode.NONE, mode):
            raise UsageError(f"this consumer is subscribed to {self.mode.value}: unsubscribe before {mode.value}")
        self.mode, self.listener, self.begin = mode, listener, begin

    def unsubscribe(self) -> None:
        """Back to the beginning: any way to choose partitions may follow."""
        self.mode, self.listener, self.begin = Mode.NONE, None, None
        self.names, self.pattern, self.server_pattern = frozenset(), None, None
        self.partitions = {}

    def replace(self, partitions: Iterable[TopicPartition]) -> list[TopicPartitionState]:
        """Hold exactly these; those that were held before keep their state. The new ones are returned."""
        wanted = dict.fromkeys(partitions)
        added = [TopicPartitionState(tp) for tp in wanted if tp not in self.partitions]
        new = {part.tp: part for part in added}
        self.partitions = {tp: self.partitions.get(tp) or new[tp] for tp in wanted}
        return added

    def add(self, partitions: Iterable[TopicPartition]) -> list[TopicPartitionState]:
        """Hold these, too; the new ones are returned."""
        return self.replace([*self.partitions, *partitions])

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Hold these no longer; what is on its way for them finds another generation, and is dropped."""
        gone = frozenset(partitions)
        for tp in gone & self.partitions.keys():
            self.partitions[tp].generation += 1
            self.partitions[tp].forget_buffered()
        self.partitions = {tp: part for tp, part in self.partitions.items() if tp not in gone}

    def part(self, tp: TopicPartition) -> TopicPartitionState:
        """Its state; UsageError if it is not ours."""
        state = self.partitions.get(tp)
        if state is None:
            raise UsageError(f"{tp} is not assigned to this consumer")
        return state

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Everything that was handed out, for a commit."""
        found = {tp: part.consumed for tp, part in self.partitions.items()}
        return {tp: position for tp, position in found.items() if position is not None}
