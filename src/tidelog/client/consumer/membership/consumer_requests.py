"""KIP-848's one message, and what must be in it this time (pure).

A heartbeat is sent every few seconds by every member of every group, so it is small: a field that the coordinator knows
already is left out (null, or -1). A member that joins says everything; one that does not know whether its last
heartbeat arrived says everything again, and then is answered in full, too. What it owns it also says after each new
assignment, even if that is what it owns already (it may have lost a deleted topic before its coordinator took it away):
the coordinator waits for that word, and nothing else comes before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import ConsumerGroupHeartbeatRequest

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
#: A static member that will be back: its place and its partitions are kept for as long as its session lasts.
STATIC_LEAVE_EPOCH = -2


class MemberIdentity(NamedTuple):
    """What does not change while a consumer lives. The member id is the client's own choice."""

    group_id: str
    member_id: str
    instance_id: str | None
    rack: str | None
    rebalance_timeout_ms: int
    assignor: str | None


class Report(NamedTuple):
    """What a member has to say that may change."""

    topics: frozenset[str]
    pattern: str | None
    owned: frozenset[TopicPartition]


class Heartbeats:
    """Makes heartbeats, and remembers what the coordinator has been told."""

    def __init__(self, me: MemberIdentity) -> None:
        self.me = me
        self._told: Report | None = None
        self._to_confirm = False

    def forget(self) -> None:
        """Nobody knows what arrived: say everything next time."""
        self._told = None

    def told(self, report: Report) -> None:
        """The heartbeat with this was answered."""
        self._told = report
        self._to_confirm = False

    def assigned(self) -> None:
        """An assignment came: the next heartbeat says what we own, as before or not."""
        self._to_confirm = True

    def request(self, epoch: int, report: Report, ids: Mapping[str, bytes]) -> ConsumerGroupHeartbeatRequest:
        """`ids`: the ids of the topics that we own partitions of."""
        me, told = self.me, self._told
        request = ConsumerGroupHeartbeatRequest(
            group_id=me.group_id, member_id=me.member_id, member_epoch=epoch, instance_id=me.instance_id
        )
        if told is None:
            request.rebalance_timeout_ms = me.rebalance_timeout_ms
            request.server_assignor = me.assignor
        if epoch == JOIN_EPOCH:
            request.rack_id = me.rack
        if told is None or told.topics != report.topics:
            request.subscribed_topic_names = sorted(report.topics)
        if report.pattern != (None if told is None else told.pattern):
            request.subscribed_topic_regex = report.pattern or ""
        if epoch == JOIN_EPOCH:
            request.topic_partitions = []
        elif told is None or self._to_confirm or told.owned != report.owned:
            request.topic_partitions = _partitions(report.owned, ids)
        return request

    def leave(self, *, for_good: bool = False) -> ConsumerGroupHeartbeatRequest:
        """A static member keeps its place unless it leaves for good."""
        me = self.me
        epoch = LEAVE_EPOCH if me.instance_id is None or for_good else STATIC_LEAVE_EPOCH
        return ConsumerGroupHeartbeatRequest(
            group_id=me.group_id, member_id=me.member_id, member_epoch=epoch, instance_id=me.instance_id
        )


def assigned_by_id(assignment: Any) -> dict[bytes, list[int]]:
    """An answer's assignment, by topic id."""
    return {bytes(topic.topic_id): list(topic.partitions) for topic in assignment.topic_partitions}


def _partitions(
    owned: Iterable[TopicPartition], ids: Mapping[str, bytes]
) -> list[ConsumerGroupHeartbeatRequest.TopicPartitions]:
    """A topic that was deleted meanwhile has no id any more: nobody waits for us to give it back."""
    by_id: dict[bytes, list[int]] = {}
    for tp in sorted(owned):
        if tp.topic in ids:
            by_id.setdefault(ids[tp.topic], []).append(tp.partition)
    return [
        ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=partitions)
        for topic_id, partitions in by_id.items()
    ]
