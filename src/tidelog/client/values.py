"""Small values that producer, consumer and admin hand out and take in: offsets with what was noted beside them, who a
member is, nodes, tokens. All are immutable and equal by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.client.cluster.metadata import Node as Node
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH
from tidelog.common.types import TopicPartition as TopicPartition

#: The generation of whoever is no member of a group (yet), and the member id that goes with it.
UNKNOWN_GENERATION = -1
UNKNOWN_MEMBER = ""


class OffsetAndMetadata(NamedTuple):
    """A position to go on from: the offset of the *next* record to read, the leader epoch of the last one that was
    read, and a text of the user's own, which the broker keeps beside it.
    """

    offset: int
    leader_epoch: int = NO_EPOCH
    metadata: str = ""


def position_of(given: OffsetAndMetadata | int) -> OffsetAndMetadata:
    """What a user may write for a position: the offset alone, or all of it."""
    return OffsetAndMetadata(given) if isinstance(given, int) else given


class OffsetAndTimestamp(NamedTuple):
    """The first record that is not older than a given time: its offset, its timestamp, the epoch that it was written
    in.
    """

    offset: int
    timestamp: int
    leader_epoch: int = NO_EPOCH


class ConsumerGroupMetadata(NamedTuple):
    """Who a consumer is within its group. A producer that commits offsets in a transaction sends it along, so that one
    that has lost its partitions meanwhile is refused.
    """

    group_id: str
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER
    group_instance_id: str | None = None


class Token(NamedTuple):
    """An OAuth bearer token, and SASL extensions (KIP-342) to send with it. Whoever has it is taken for us, so it is
    not shown where a value is printed.
    """

    value: str
    extensions: Mapping[str, str] = MappingProxyType({})

    def __repr__(self) -> str:
        return f"Token(hidden, {dict(self.extensions)})"
