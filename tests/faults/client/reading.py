"""What a member of a group has read, in which order, and how far it has committed: everything that must not be.

Between two assignments of a partition its offsets come in order, without a gap or a repetition, from what was committed
when it was assigned (from the beginning without a commit). Commits never go back. Together: each record is read, and
again only after a rebalance that came before its commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.common.types import TopicPartition


class Reading:
    """One or more members of a group write into it; it is their rebalance listener, too."""

    def __init__(self, ends: Mapping[TopicPartition, int]) -> None:
        self.ends = dict(ends)
        self.seen: defaultdict[TopicPartition, set[int]] = defaultdict(set)
        self.commits: dict[TopicPartition, int] = {}
        self.wrong: list[str] = []
        self.rebalances = 0
        self._next: dict[TopicPartition, int | None] = {}

    # --- the listener -------------------------------------------------------------------------------------------------

    def on_partitions_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        self.rebalances += 1
        for tp in partitions:
            self._next[tp] = None

    def on_partitions_revoked(self, partitions: Iterable[TopicPartition]) -> None:
        for tp in partitions:
            self._next.pop(tp, None)

    # --- what happens -------------------------------------------------------------------------------------------------

    def read(self, records: Iterable[Any]) -> None:
        for record in records:
            tp = record.topic_partition
            expected = self._next.get(tp)
            if expected is None:  # just assigned: from the last commit that was confirmed, or a later one that was not
                if record.offset < self.commits.get(tp, 0):
                    self.wrong.append(f"{tp} began at {record.offset}, behind the commit {self.commits[tp]}")
            elif record.offset != expected:
                self.wrong.append(f"{tp} went on at {record.offset} instead of {expected}")
            self._next[tp] = record.offset + 1
            self.seen[tp].add(record.offset)

    def committed(self, offsets: Mapping[TopicPartition, Any]) -> None:
        """As the coordinator tells it: never less than it told before."""
        for tp, position in offsets.items():
            if position is None:
                continue
            if position.offset < self.commits.get(tp, 0):
                self.wrong.append(f"the commit of {tp} went back from {self.commits[tp]} to {position.offset}")
            self.commits[tp] = position.offset
            unread = set(range(position.offset)) - self.seen[tp]
            if unread:
                self.wrong.append(f"{tp} is committed to {position.offset} without {sorted(unread)[:5]}")

    @property
    def is_complete(self) -> bool:
        return all(len(self.seen[tp]) == end for tp, end in self.ends.items())

    @property
    def is_committed(self) -> bool:
        return self.commits == self.ends
