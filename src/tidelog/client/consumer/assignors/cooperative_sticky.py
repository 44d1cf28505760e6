"""Cooperative sticky: sticky shares, but nothing changes hands before its owner has let go (KIP-429).

A partition that is to go from one member to another is given to neither: the owner sees that it lost it, gives it back
and joins again; the rebalance that follows finds it free and gives it to its new owner. All other partitions are read
all the time.

What a member owns is in its subscription, with the generation from version 2 on; older clients put the generation into
the user data.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tidelog.client.consumer.assignors.assignor import (
    NO_GENERATION,
    Assignment,
    Members,
    MemberSubscription,
    RebalanceProtocol,
    Shares,
    Topics,
)
from tidelog.client.consumer.assignors.claims import PartitionClaim
from tidelog.client.consumer.assignors.sticky import AbstractStickyAssignor
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.values import ConsumerGroupMetadata

_INT32 = struct.Struct(">i")


class CooperativeStickyAssignor(AbstractStickyAssignor):
    name = "cooperative-sticky"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

    def __init__(self) -> None:
        self._generation = NO_GENERATION

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        self._generation = metadata.generation_id

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:
        return _INT32.pack(self._generation)

    def claim_of(self, said: MemberSubscription) -> PartitionClaim:
        if said.generation >= 0:
            return PartitionClaim(said.owned, said.generation)
        if said.user_data is None:
            return PartitionClaim(said.owned, None)
        readable = len(said.user_data) >= 4
        return PartitionClaim(said.owned, _INT32.unpack_from(said.user_data)[0] if readable else NO_GENERATION)

    def distribute(self, topics: Topics, members: Members) -> Shares:
        """The sticky shares, less what is still somebody else's."""
        shares, moving = self.distribute_moving(topics, members)
        for tp, member in (_moving(shares, members) if moving is None else moving).items():
            shares[member].remove(tp)
        return shares


def _moving(shares: Shares, members: Members) -> dict[TopicPartition, str]:
    """Who gets what somebody else has to give back first."""
    added = {tp: member for member, share in shares.items() for tp in set(share).difference(members[member].owned)}
    revoked = {tp for member, share in shares.items() for tp in set(members[member].owned).difference(share)}
    return {tp: member for tp, member in added.items() if tp in revoked}
