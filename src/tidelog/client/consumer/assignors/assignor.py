"""What an assignor is given, what it gives back, and how to write one.

    class Halves(Assignor):
        name = "halves"

        def distribute(self, topics, members):
            first, *_ = sorted(members)
            return {first: [TopicPartition(topic, p.partition) for topic in topics for p in topics[topic]]}

    Consumer(partition_assignment_strategy=[Halves, "range"], ...)

Every member lists the assignors that it supports, in its order; the coordinator picks one that all support. The member
that leads the group runs it, once per rebalance. The rest of the members only see their own part.

An assignor also says how partitions change hands. *Eager*: every member gives back everything before it joins, so the
leader may deal anew. *Cooperative* (KIP-429): members keep what they own while they join; a partition may be given to
another member only after its owner has given it back, which takes a second rebalance. A group does what all the
assignors of its members have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.values import ConsumerGroupMetadata

#: A subscription or an assignment that was made before there was a generation.
NO_GENERATION = -1


class RebalanceProtocol(Enum):
    """How partitions change hands; the larger number is the better one."""

    EAGER = 0
    COOPERATIVE = 1


class PartitionRacks(NamedTuple):
    """A partition, and the racks that hold a replica of it (empty where brokers name none)."""

    partition: int
    racks: frozenset[str] = frozenset()


class MemberSubscription(NamedTuple):
    """What a member said when it joined."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    instance_id: str | None = None
    rack: str | None = None


class Assignment(NamedTuple):
    """What a member gets. `user_data` reaches its assignor through `Assignor.on_assignment`."""

    partitions: Sequence[TopicPartition]
    user_data: bytes | None = None


#: The subscribed topics that exist, with their partitions in order.
Topics = Mapping[str, Sequence[PartitionRacks]]
Members = Mapping[str, MemberSubscription]
Shares = dict[str, list[TopicPartition]]


class Assignor:
    """The seam for own assignors: give it a `name` and `distribute` (or `assign`, to send user data along)."""

    name: str = ""
    protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Called once with the consumer's settings, those included that are not ours."""

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:
        """What this member wants the leader's assignor to know."""
        return None

    def distribute(self, topics: Topics, members: Members) -> Shares:
        """The partitions of each member. A member that is left out gets none; a partition given twice is read
        twice.
        """
        raise NotImplementedError(f"{type(self).__name__} has to implement distribute or assign")

    def assign(self, topics: Topics, members: Members) -> Mapping[str, Assignment]:
        """`distribute`, for who has to send bytes along with the partitions."""
        return {member: Assignment(partitions) for member, partitions in self.distribute(topics, members).items()}

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        """A rebalance is over, and this is our part."""


def in_join_order(members: Members) -> list[str]:
    """Member ids as Kafka's assignors line them up: static members by instance id, which outlives a restart, then the
    others by member id.
    """
    return sorted(members, key=lambda m: (members[m].instance_id is None, members[m].instance_id or m))
