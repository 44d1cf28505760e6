"""Groups as values: their types and states, the rows of the list, and members with what they have been given.

There are four types, by the protocol that members speak: classic (joins in rounds), consumer (KIP-848), share (KIP-932:
records, not partitions, are handed out) and streams (KIP-1071).

    classic    EMPTY → PREPARING_REBALANCE → COMPLETING_REBALANCE → STABLE → ... → EMPTY → DEAD
    consumer   EMPTY → ASSIGNING → RECONCILING → STABLE → ... → EMPTY → DEAD
    share      EMPTY → STABLE → EMPTY → DEAD
    streams    EMPTY → NOT_READY (topics are missing) → ASSIGNING → RECONCILING → STABLE → ... → EMPTY → DEAD
"""

from __future__ import annotations

from tidelog.client.admin.acl_types import AclOperation
from tidelog.client.admin.words import TextWord
from tidelog.client.values import Node
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition


class GroupType(TextWord):
    """The protocol that a group's members speak."""

    UNKNOWN = "unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupState(TextWord):
    """What a group is doing. EMPTY ones have no members, but may have offsets; DEAD ones are gone."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"


class GroupListing(NamedTuple):
    """A row of the list of groups. Brokers before 2.6 do not tell the state, those before 3.8 not the type.

    `protocol_type` is what the members use the group for: "consumer", "connect", "share"; empty for a group that only
    has offsets.
    """

    group_id: str
    type: GroupType
    state: GroupState
    protocol_type: str


class MemberDescription(NamedTuple):
    """A member. What belongs to newer protocols is None for members of older ones."""

    member_id: str
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...] = ()
    instance_id: str | None = None
    rack_id: str | None = None
    target_assignment: tuple[TopicPartition, ...] | None = None
    epoch: int | None = None
    subscribed_topics: tuple[str, ...] | None = None
    subscribed_regex: str | None = None
    is_classic: bool | None = None


class GroupDescription(NamedTuple):
    """A group and its members. `assignor` is who shares out the partitions; the epochs are None in classic groups."""

    group_id: str
    type: GroupType
    state: GroupState
    members: tuple[MemberDescription, ...]
    protocol_type: str = "consumer"
    assignor: str = ""
    coordinator: Node | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None
    authorized_operations: frozenset[AclOperation] | None = None

    @property
    def is_simple(self) -> bool:
        """Whether it only has offsets: somebody commits under its name without being a member."""
        return not self.protocol_type
