"""What the members of a group say they own, as far as it can be believed.

A sticky assignor starts from what members own. Members tell, and they may be wrong: one that missed a generation still
claims what others got meanwhile. Of two claims the one of the later generation counts. Two of the same generation are a
bug somewhere, and then neither counts: such a partition is dealt anew, and not before both have let go.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from tidelog.client.consumer.assignors.assignor import NO_GENERATION, MemberSubscription, Shares, Topics
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition

logger = logging.getLogger(__name__)


class PartitionClaim(NamedTuple):
    """What a member brought along. `generation` is None if it did not say."""

    partitions: tuple[TopicPartition, ...]
    generation: int | None

    @property
    def age(self) -> int:
        """The generation to compare by; who does not say is older than everybody."""
        return NO_GENERATION if self.generation is None else self.generation


class Claims:
    """All members' claims, settled. `members` in the order of Java's map: of equal claims the first one wins."""

    def __init__(
        self,
        members: Mapping[str, MemberSubscription],
        topics: Topics,
        claim_of: Callable[[MemberSubscription], PartitionClaim],
    ) -> None:
        self.of = {member: claim_of(said) for member, said in members.items()}
        self.newest = max((claim.age for claim in self.of.values()), default=NO_GENERATION)
        self.owned: Shares = {member: [] for member in members}
        #: Partitions that two members of one generation claim.
        self.disputed: set[TopicPartition] = set()
        owner: dict[TopicPartition, str] = {}
        for member, claim in self.of.items():
            for tp in claim.partitions:
                if tp.partition < len(topics.get(tp.topic, ())) and self._wins(
                    tp, member, claim, owner.get(tp), members
                ):
                    owner[tp] = member

    def _wins(
        self,
        tp: TopicPartition,
        member: str,
        claim: PartitionClaim,
        other: str | None,
        members: Mapping[str, MemberSubscription],
    ) -> bool:
        """Settle one claim against the one before it; whether the partition counts as this member's from now on."""
        if other is None:
            self.owned[member].append(tp)
            return True
        others = members[other].generation
        if claim.age < others:
            return False
        if tp in self.owned[other]:
            self.owned[other].remove(tp)
        if claim.age > others:
            self.owned[member].append(tp)
        else:
            logger.error("%s and %s both claim %s in generation %d: neither counts", member, other, tp, claim.age)
            self.disputed.add(tp)
        return True

    def earlier_owners(self) -> dict[TopicPartition, str]:
        """Who had a partition in an earlier generation, as far as members remember; the latest such generation
        counts.
        """
        found: dict[TopicPartition, tuple[str, int]] = {}
        for member, claim in self.of.items():
            if claim.age >= self.newest:
                continue
            for tp in claim.partitions:
                if tp not in found or claim.age > found[tp][1]:
                    found[tp] = (member, claim.age)
        return {tp: member for tp, (member, _) in found.items()}
