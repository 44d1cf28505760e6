"""Sticky: as even as can be, with as few moves as can be. For eager groups.

An application that keeps state per partition (a cache, a window, an open file) pays for every partition that moves.
Range and round robin deal anew each time; a member that comes or goes shifts nearly everything. Sticky begins with what
everybody had, and moves only what evenness wants.

An eager member has given everything back when the group is assigned, so its subscription owns nothing. What it had is
told in the user data: topics with partitions, and the generation they are from (version 0 of it, by Kafka before 2.3,
has none).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tidelog.client.consumer.assignors.assignor import (
    NO_GENERATION,
    Assignment,
    Assignor,
    Members,
    MemberSubscription,
    Shares,
    Topics,
)
from tidelog.client.consumer.assignors.claims import Claims, PartitionClaim
from tidelog.client.consumer.assignors.equal_shares import EqualShares
from tidelog.client.consumer.assignors.hash_order import hash_order
from tidelog.client.consumer.assignors.racks import Racks
from tidelog.client.consumer.assignors.uneven_shares import UnevenShares
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.values import ConsumerGroupMetadata

_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")


class AbstractStickyAssignor(Assignor):
    """What both sticky assignors share: all but how a member tells what it owns."""

    def claim_of(self, said: MemberSubscription) -> PartitionClaim:
        raise NotImplementedError

    def distribute(self, topics: Topics, members: Members) -> Shares:
        return self.distribute_moving(topics, members)[0]

    def distribute_moving(self, topics: Topics, members: Members) -> tuple[Shares, dict[TopicPartition, str] | None]:
        """Shares, and who gets what another owns still (None: to be worked out from the shares)."""
        members = {member: members[member] for member in hash_order(members)}
        topics = {topic: topics[topic] for topic in hash_order(topics)}
        claims = Claims(members, topics, self.claim_of)
        racks = Racks(topics, members)
        if _all_equal(members):
            equal = EqualShares(topics, racks, claims)
            return equal.build(), equal.moving
        return UnevenShares(topics, racks, claims, members).build(), None


class StickyAssignor(AbstractStickyAssignor):
    name = "sticky"

    def __init__(self) -> None:
        self._mine: tuple[TopicPartition, ...] | None = None
        self._generation = NO_GENERATION

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        self._mine = tuple(assignment.partitions)
        self._generation = metadata.generation_id

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:
        return None if self._mine is None else encode_user_data(self._mine, self._generation)

    def claim_of(self, said: MemberSubscription) -> PartitionClaim:
        return decode_user_data(said.user_data)


def _all_equal(members: Members) -> bool:
    """Whether all subscribe to the same topics, the usual case, for which there is a faster way."""
    first: frozenset[str] = frozenset()
    for said in members.values():
        if not first:
            first = frozenset(said.topics)
        elif len(said.topics) != len(first) or not first.issuperset(said.topics):
            return False
    return True


def encode_user_data(partitions: tuple[TopicPartition, ...], generation: int) -> bytes:
    """An array of (topic, array of partitions), then the generation."""
    by_topic: dict[str, list[int]] = {}
    for tp in partitions:
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    parts = [_INT32.pack(len(by_topic))]
    for topic, indexes in by_topic.items():
        name = topic.encode()
        parts += [_INT16.pack(len(name)), name, _INT32.pack(len(indexes)), *map(_INT32.pack, indexes)]
    return b"".join([*parts, _INT32.pack(generation)])


def decode_user_data(data: bytes | None) -> PartitionClaim:
    """Bytes that cannot be read claim nothing: the member is treated as new, which is never wrong."""
    if not data:
        return PartitionClaim((), None)
    try:
        partitions, rest = _decode_partitions(memoryview(data))
        return PartitionClaim(tuple(partitions), _INT32.unpack_from(rest)[0] if len(rest) >= 4 else None)
    except (struct.error, UnicodeDecodeError, ValueError):
        return PartitionClaim((), NO_GENERATION)


def _decode_partitions(data: memoryview) -> tuple[list[TopicPartition], memoryview]:
    """The partitions, and the bytes after them. Lengths are checked against what is there: these bytes are another
    member's, and the leader must survive them.
    """
    partitions: list[TopicPartition] = []
    (topics,), data = _INT32.unpack_from(data), data[4:]
    for _ in range(topics):
        (length,), data = _INT16.unpack_from(data), data[2:]
        if not 0 <= length <= len(data):
            raise ValueError("a topic's name is cut off")
        topic, data = str(data[:length], "utf-8"), data[length:]
        (count,), data = _INT32.unpack_from(data), data[4:]
        if not 0 <= count <= len(data) // 4:
            raise ValueError("the partitions are cut off")
        partitions += [TopicPartition(topic, _INT32.unpack_from(data, 4 * i)[0]) for i in range(count)]
        data = data[4 * count :]
    return partitions, data
