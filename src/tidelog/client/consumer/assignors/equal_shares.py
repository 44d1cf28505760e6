"""Sticky, when all members subscribe to the same topics: everybody keeps what it owns, up to its share.

With P partitions and M members everybody gets P // M, and P % M of them one more. So it can be decided at once, without
trying moves:

    1. each member keeps what it owns, up to its share; the first ones with enough may keep one more
    2. with racks, what is left goes to members near it, while they have room
    3. the rest is dealt in turn to members below the low share, then one each to those who may have one more

Which members may have one more is decided on the way: there are exactly P % M such places, and whoever owns enough when
it is looked at gets one. Thousands of partitions and members take a fraction of a second.
"""

from __future__ import annotations

from tidelog.client.consumer.assignors.assignor import Shares, Topics
from tidelog.client.consumer.assignors.claims import Claims
from tidelog.client.consumer.assignors.racks import Racks
from tidelog.common.types import TopicPartition


class EqualShares:
    """One assignment. `build` may be called once; `moving` then holds the partitions whose new owner must wait until
    the old one has let go.
    """

    def __init__(self, topics: Topics, racks: Racks, claims: Claims) -> None:
        self._all = [TopicPartition(topic, i) for topic in sorted(topics) for i in range(len(topics[topic]))]
        self._racks = racks
        self._claims = claims
        self._low, self._larger = divmod(len(self._all), len(claims.owned))
        self._high = self._low + (self._larger > 0)
        self._at_high = 0
        self._below: list[str] = []  # members with less than the low share
        self._at_low: list[str] = []  # members with exactly the low share, who may get one more
        self._given_up: dict[TopicPartition, str] = {}
        self._shares: Shares = {member: [] for member in claims.owned}
        self.moving: dict[TopicPartition, str] = {}

    def build(self) -> Shares:
        """The three steps; members are looked at in the order of Java's map, then sorted by id."""
        for member, owned in self._claims.owned.items():
            self._keep(member, owned)
        kept = {tp for share in self._shares.values() for tp in share}
        self._below.sort()
        self._at_low.sort()
        rest = self._racks.fewest_choices_first([tp for tp in self._all if tp not in kept])
        if self._racks.of_consumer:
            rest = self._deal_near(rest)
        self._deal(rest)
        return self._shares

    def _keep(self, member: str, owned: list[TopicPartition]) -> None:
        """What a member may keep of its own: the high share while not enough have it, else the low one."""
        for tp in owned:
            if self._racks.mismatch(member, tp):
                self._given_up[tp] = member
        mine = sorted(
            (tp for tp in owned if tp not in self._given_up and tp not in self._claims.disputed),
            key=lambda tp: (tp.partition, tp.topic),
        )
        if len(mine) < self._low:
            self._shares[member] += mine
            self._below.append(member)
            return
        share = self._low
        if len(mine) >= self._high and self._at_high < self._larger:
            share = self._high
            self._at_high += 1
            if self._at_high == self._larger:
                self._at_low.clear()
        elif self._at_high < self._larger:
            self._at_low.append(member)
        self._shares[member] += mine[:share]
        self._given_up.update(dict.fromkeys(mine[share:], member))

    def _deal_near(self, rest: list[TopicPartition]) -> list[TopicPartition]:
        """To members in a rack of the partition, as far as there are such with room; the others are left."""
        left = []
        turn = 0
        for tp in rest:
            index = self._racks.next_near(tp, self._below, turn)
            if index >= 0:
                member = self._below[index]
                index = self._fill_below(member, index)
                turn = index % len(self._below) if self._below else 0
            elif (index := self._racks.next_near(tp, self._at_low, 0)) >= 0:
                member = self._at_low[index]
                if len(self._shares[member]) + 1 == self._high:
                    self._at_low.pop(index)
                    self._at_high += 1
                    if self._at_high == self._larger:
                        self._at_low.clear()
            else:
                left.append(tp)
                continue
            self._give(tp, member)
        return left

    def _fill_below(self, member: str, index: int) -> int:
        """One more for a member below the low share; the index of who is next."""
        count = len(self._shares[member]) + 1
        if count < self._low:
            return index + 1
        self._below.remove(member)
        if count < self._high and self._at_high < self._larger:
            self._at_low.append(member)
        return index

    def _deal(self, rest: list[TopicPartition]) -> None:
        """In turn to all who are below the low share; when nobody is, one more to those who may have it."""
        turn = 0
        for tp in rest:
            if turn >= len(self._below):
                turn = 0
            below = bool(self._below)
            member = self._below[turn] if below else self._at_low.pop(0)
            self._give(tp, member)
            if below and len(self._shares[member]) == self._low:
                self._below.pop(turn)
                self._at_low.append(member)
            elif below:
                turn += 1

    def _give(self, tp: TopicPartition, member: str) -> None:
        """A partition that its last owner gave up for this, or that two claimed, must be let go of before it moves."""
        self._shares[member].append(tp)
        if self._given_up.get(tp, member) != member or tp in self._claims.disputed:
            self.moving[tp] = member
