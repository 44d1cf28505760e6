"""Round robin: all partitions of all topics in one line, dealt to the members in turn.

More even than range over many topics; a member that has not subscribed to a partition's topic is passed over.
"""

from __future__ import annotations

from itertools import cycle

from tidelog.client.consumer.assignors.assignor import Assignor, Members, Shares, Topics, in_join_order
from tidelog.common.types import TopicPartition


class RoundRobinAssignor(Assignor):
    name = "roundrobin"

    def distribute(self, topics: Topics, members: Members) -> Shares:
        """The turn goes on from topic to topic, so that not the first members get the odd one of each."""
        shares: Shares = {member: [] for member in members}
        wanted = {member: frozenset(members[member].topics) for member in members}
        turns = cycle(in_join_order(members))
        for topic in sorted(set().union(*wanted.values()) & set(topics)):
            for entry in topics[topic]:
                member = next(turn for turn in turns if topic in wanted[turn])
                shares[member].append(TopicPartition(topic, entry.partition))
        return shares
