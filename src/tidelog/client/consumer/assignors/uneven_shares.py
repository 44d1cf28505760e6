"""Sticky, when members subscribe to different topics: start from what is owned, then move while it gets more even.

There is no formula for the fairest shares then, so partitions are moved one by one from members with more to members
with less, the partitions with the fewest possible readers first, until nothing gets better. If the outcome is not more
even than what it started from, it is dropped: a move that gains nothing only costs.

Two partitions of a topic that swap their owners are a waste as well. `_Movements` remembers who gave what to whom; if
one is about to go the way back that another one came, the other is returned instead.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from tidelog.client.consumer.assignors.assignor import Members, Shares, Topics
from tidelog.client.consumer.assignors.claims import Claims
from tidelog.client.consumer.assignors.hash_order import HashSetOfPartitions
from tidelog.client.consumer.assignors.racks import Racks
from tidelog.common.types import TopicPartition


class UnevenShares:
    """One assignment; `build` may be called once.

    `_shares` and `_owner` say the same from both sides. `_queue` has the members by the size of their shares, smallest
    first, and is kept in order with every change: who gets the next partition is always near its head.
    """

    def __init__(self, topics: Topics, racks: Racks, claims: Claims, members: Members) -> None:
        self._topics = {topic: len(partitions) for topic, partitions in topics.items()}
        self._racks = racks
        self._wanted = {member: [t for t in said.topics if t in topics] for member, said in members.items()}
        self._wants = {member: frozenset(wanted) for member, wanted in self._wanted.items()}
        self._most = {m: sum(self._topics[topic] for topic in wanted) for m, wanted in self._wanted.items()}
        self._readers: dict[str, list[str]] = {topic: [] for topic in topics}
        for member, wanted in self._wanted.items():
            for topic in wanted:
                self._readers[topic].append(member)
        self._shares = {member: list(owned) for member, owned in claims.owned.items()}
        self._owner = {tp: member for member, owned in self._shares.items() for tp in owned}
        self._earlier = claims.earlier_owners()
        self._movements = _Movements()
        self._revoking = False
        by_readers = sorted(topics, key=lambda topic: (len(self._readers[topic]), topic))
        self._all = [TopicPartition(topic, i) for topic in by_readers for i in range(self._topics[topic])]
        self._queue: list[tuple[int, str]] = []

    def build(self) -> Shares:
        """Keep what may be kept, hand out what nobody has, then even out. A group that owned nothing at all is fresh:
        its outcome is taken as it is, since there is nothing that could have stayed in place.
        """
        kept = self._keep()
        rest = [tp for tp in self._all if tp not in kept]
        self._queue = sorted((len(share), member) for member, share in self._shares.items())
        fresh = self._queue[-1][0] == 0
        todo = self._hand_out(rest, near=True) if self._racks.of_consumer else rest
        self._hand_out(todo, near=False)
        self._even_out(rest, fresh)
        return self._shares

    # --- what stays, and what nobody has ------------------------------------------------------------------------------

    def _keep(self) -> set[TopicPartition]:
        """Drop what a member may not keep: a topic that it no longer wants, a rack that it is not in."""
        kept: set[TopicPartition] = set()
        for member, share in self._shares.items():
            mine = [tp for tp in share if tp.topic in self._wants[member] and not self._racks.mismatch(member, tp)]
            self._revoking |= len(mine) < len(share)
            self._shares[member] = mine
            kept.update(mine)
        return kept

    def _hand_out(self, partitions: list[TopicPartition], *, near: bool) -> list[TopicPartition]:
        """Each to the member with the fewest partitions that wants its topic; those that nobody can have are left."""
        left = []
        for tp in partitions:
            for entry in self._queue:
                member = entry[1]
                if tp.topic in self._wants[member] and not (near and self._racks.mismatch(member, tp)):
                    self._take(tp, member)
                    break
            else:
                left.append(tp)
        return left

    def _take(self, tp: TopicPartition, member: str) -> None:
        """One more for the member; the queue stays in order of the sizes."""
        share = self._shares[member]
        del self._queue[bisect_left(self._queue, (len(share), member))]
        share.append(tp)
        insort(self._queue, (len(share), member))
        self._owner[tp] = member

    def _drop(self, tp: TopicPartition, member: str) -> None:
        """One less; its next owner is set by `_take`."""
        share = self._shares[member]
        del self._queue[bisect_left(self._queue, (len(share), member))]
        share.remove(tp)
        insort(self._queue, (len(share), member))

    # --- moving -------------------------------------------------------------------------------------------------------

    def _even_out(self, added: list[TopicPartition], fresh: bool) -> None:
        """Only topics with two readers or more and members that could have less or more take part.

        If nobody has to give anything back anyway, moving only what was just handed out comes first: it costs nobody
        anything.
        """
        movable = {topic for topic, readers in self._readers.items() if len(readers) >= 2}
        fixed = {member: share for member, share in self._shares.items() if not self._takes_part(member, movable)}
        for member, share in fixed.items():
            del self._shares[member]
            self._queue.remove((len(share), member))
        before = {member: list(share) for member, share in self._shares.items()}
        if not self._revoking:
            self._move([tp for tp in added if tp.topic in movable])
        moved = self._move([tp for tp in self._all if tp.topic in movable])
        if not fresh and moved and _unevenness(self._shares) >= _unevenness(before):
            self._shares = before
        self._shares |= fixed

    def _takes_part(self, member: str, movable: set[str]) -> bool:
        """It does not have everything that it could have, or something of it could be another's."""
        share = self._shares[member]
        return len(share) < self._most[member] or any(tp.topic in movable for tp in share)

    def _move(self, partitions: list[TopicPartition]) -> bool:
        """Go through the partitions again and again until none can be moved to make it more even."""
        ever = False
        moved = True
        while moved:
            moved = False
            for tp in partitions:
                if self._is_even():
                    break
                moved |= self._improve(tp)
            ever |= moved
        return ever

    def _improve(self, tp: TopicPartition) -> bool:
        """Move the partition (or another in its place) if its owner has two more than somebody who could have it."""
        owner = self._owner[tp]
        size = len(self._shares[owner])
        earlier = self._earlier.get(tp)
        if earlier in self._shares and size > len(self._shares[earlier]) + 1:
            self._reassign(tp, earlier)
            return True
        if any(size > len(self._shares[other]) + 1 for other in self._readers[tp.topic]):
            self._reassign(tp, next(m for _, m in self._queue if tp.topic in self._wants[m]))
            return True
        return False

    def _reassign(self, tp: TopicPartition, member: str) -> None:
        """Move it, or one of its topic that came the other way."""
        tp = self._movements.instead_of(tp, self._owner[tp], member)
        owner = self._owner[tp]
        self._movements.move(tp, owner, member)
        self._drop(tp, owner)
        self._take(tp, member)

    def _is_even(self) -> bool:
        """Nobody has two less than the owner of a partition that it could have instead."""
        if not self._queue or self._queue[0][0] >= self._queue[-1][0] - 1:
            return True
        for size, member in self._queue:
            if size == self._most[member]:
                continue
            for topic in self._wanted[member]:
                for index in range(self._topics[topic]):
                    other = self._owner.get(TopicPartition(topic, index), member)
                    if size + 1 < len(self._shares.get(other, ())):
                        return False
        return True


def _unevenness(shares: Shares) -> int:
    """The sum of the differences between all pairs of members."""
    sizes = sorted(len(share) for share in shares.values())
    return sum(size * (2 * index - len(sizes) + 1) for index, size in enumerate(sizes))


class _Movements:
    """Which partitions of a topic have gone from whom to whom, each from where it began."""

    def __init__(self) -> None:
        self._of: dict[TopicPartition, tuple[str, str]] = {}
        self._by_pair: dict[tuple[str, str, str], HashSetOfPartitions] = {}

    def move(self, tp: TopicPartition, source: str, target: str) -> None:
        """A partition that moves on counts as moved from its first owner; one that comes back, as not moved."""
        before = self._of.pop(tp, None)
        if before is not None:
            gone = self._by_pair[tp.topic, *before]
            gone.discard(tp)
            if not gone:
                del self._by_pair[tp.topic, *before]
            source = before[0]
        if source != target:
            self._of[tp] = (source, target)
            self._by_pair.setdefault((tp.topic, source, target), HashSetOfPartitions()).add(tp)

    def instead_of(self, tp: TopicPartition, source: str, target: str) -> TopicPartition:
        """A partition of the topic that has gone the opposite way, or this one."""
        if tp in self._of:
            source = self._of[tp][0]
        opposite = self._by_pair.get((tp.topic, target, source))
        return opposite.first() if opposite else tp
