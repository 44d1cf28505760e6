"""Range: each topic by itself, its partitions in runs. Kafka's default.

Seven partitions for three members: 0 1 2 | 3 4 | 5 6. Topics with equal numbers of partitions are cut at the same
places, so that the same member reads partition 3 of all of them: what joins by key relies on that. The price: the first
members get one more of *every* topic.

With racks (KIP-881) partitions go first to members that stand where a replica is, within the same shares; topics that
are subscribed alike and have equally many partitions still go to one member together. What is left is cut in runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from tidelog.client.consumer.assignors.assignor import Assignor, Members, PartitionRacks, Shares, Topics, in_join_order
from tidelog.client.consumer.assignors.racks import racks_matter
from tidelog.common.types import TopicPartition


class RangeAssignor(Assignor):
    name = "range"

    def distribute(self, topics: Topics, members: Members) -> Shares:
        """Racks first, where they matter; then runs of what is left."""
        shares: Shares = {member: [] for member in members}
        order = in_join_order(members)
        wanted = {member: frozenset(members[member].topics) for member in members}
        states = [
            _Topic(topic, topics[topic], [m for m in order if topic in wanted[m]], members, shares)
            for topic in sorted(topics)
            if topics[topic]
        ]
        if any(state.needs_racks for state in states):
            _match_racks(states)
        for state in states:
            state.assign_runs(lambda member, tp: True)
        for partitions in shares.values():
            partitions.sort()
        return shares


class _Topic:
    """One topic while its partitions are handed out: nobody gets more than its share."""

    def __init__(
        self, topic: str, partitions: Sequence[PartitionRacks], consumers: list[str], members: Members, shares: Shares
    ) -> None:
        self.topic = topic
        self.consumers = tuple(consumers)
        self.size = len(partitions)
        self._shares = shares
        self._left = dict.fromkeys(TopicPartition(topic, p.partition) for p in partitions)
        self._count = dict.fromkeys(consumers, 0)
        self._share, self._extras = divmod(self.size, len(consumers)) if consumers else (0, 0)
        self._rack = {member: members[member].rack or None for member in consumers}
        racks = {rack for rack in self._rack.values() if rack}
        self._racks = {TopicPartition(topic, p.partition): p.racks for p in partitions} if racks else {}
        self.needs_racks = racks_matter(racks, self._racks.values())
        #: How many partitions can be matched: none if no member names a rack.
        self.racked = len(self._racks)

    def matches(self, member: str, tp: TopicPartition) -> bool:
        """Whether a replica is in the member's rack; one that names no rack is content with any."""
        rack = self._rack[member]
        return rack is None or rack in self._racks.get(tp, ())

    def room(self, member: str) -> int:
        """How many more it may have."""
        return max(0, self._share + (self._extras > 0) - self._count[member])

    def give(self, member: str, partitions: Iterable[TopicPartition]) -> None:
        """Who goes beyond the share takes one of the places for one more."""
        for tp in partitions:
            self._shares[member].append(tp)
            self._count[member] += 1
            del self._left[tp]
        if self._count[member] > self._share:
            self._extras -= 1

    def assign_runs(self, allowed: Callable[[str, TopicPartition], bool]) -> None:
        """Members in their order take the first partitions that are left and allowed."""
        for member in self.consumers:
            if not self._left:
                break
            run = list(islice((tp for tp in self._left if allowed(member, tp)), self.room(member)))
            if run:
                self.give(member, run)


def _match_racks(states: list[_Topic]) -> None:
    """Topics with the same members and as many partitions are given together, else each by itself."""
    alike: dict[tuple[tuple[str, ...], int], list[_Topic]] = {}
    for state in states:
        alike.setdefault((state.consumers, state.racked), []).append(state)
    for (consumers, size), together in alike.items():
        if len(together) > 1:
            _match_together(consumers, size, together)
        elif together[0].needs_racks:
            together[0].assign_runs(together[0].matches)


def _match_together(consumers: tuple[str, ...], size: int, states: list[_Topic]) -> None:
    """Partition p of all these topics to the first member that stands near each of them and has room in all."""
    remaining = list(consumers)
    for partition in range(size):
        for member in remaining:
            if all(s.matches(member, TopicPartition(s.topic, partition)) and s.room(member) > 0 for s in states):
                for state in states:
                    state.give(member, [TopicPartition(state.topic, partition)])
                if not any(state.room(member) for state in states):
                    remaining.remove(member)
                break
        if not remaining:
            break
