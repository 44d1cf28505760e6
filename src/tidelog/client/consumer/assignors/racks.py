"""Where members and replicas stand, and whether that should count (KIP-881).

Reading from a replica in one's own rack (`client.rack`, KIP-392) saves traffic between racks, which clouds charge for.
An assignor can help by giving a partition to a member that stands near one of its replicas. Evenness comes first: racks
only decide who of those that may have a partition gets it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidelog.client.consumer.assignors.assignor import Members, Topics
from tidelog.common.types import TopicPartition


def racks_matter(consumer_racks: Collection[str], partitions: Collection[frozenset[str]]) -> bool:
    """Not when nobody names a rack, when no replica is in one of them, or when every partition is in all racks."""
    everywhere = frozenset().union(*partitions)
    if not consumer_racks or everywhere.isdisjoint(consumer_racks):
        return False
    return any(racks != everywhere for racks in partitions)


class Racks:
    """The racks of a group's members and partitions; empty maps when they are not to count."""

    def __init__(self, topics: Topics, members: Members) -> None:
        consumers = {member: said.rack for member, said in members.items() if said.rack}
        partitions: dict[TopicPartition, frozenset[str]] = {}
        if consumers:
            partitions = {TopicPartition(t, p.partition): p.racks for t, entries in topics.items() for p in entries}
        near: dict[str, int] = {}
        for rack in consumers.values():
            near[rack] = near.get(rack, 0) + 1
        self._choices = {tp: sum(near.get(rack, 0) for rack in racks) for tp, racks in partitions.items()}
        if not racks_matter(set(consumers.values()), partitions.values()):
            consumers, partitions = {}, {}
        self.of_consumer = consumers
        self.of_partition = partitions

    def mismatch(self, member: str, tp: TopicPartition) -> bool:
        """The member names a rack, and no replica is there."""
        rack = self.of_consumer.get(member)
        return rack is not None and rack not in self.of_partition.get(tp, ())

    def fewest_choices_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Those that few members stand near are handed out first, while these members have room."""
        return sorted(partitions, key=lambda tp: self._choices.get(tp, 0)) if self._choices else partitions

    def next_near(self, tp: TopicPartition, members: Sequence[str], first: int) -> int:
        """The index of the next member near the partition, in turn from `first` on; -1 if there is none."""
        racks = self.of_partition.get(tp)
        if racks:
            for step in range(len(members)):
                index = (first + step) % len(members)
                if self.of_consumer.get(members[index]) in racks:
                    return index
        return -1
