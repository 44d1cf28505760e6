"""The committed offsets of all groups of a shard, and those that open transactions would commit.

`committed[group][(topic, partition)]` is what fetches see. An offset that comes in a transaction waits in
`pending[producer id][group]` until the transaction's marker: a commit moves it over (unless something newer was
committed meanwhile), an abort drops it. `order` numbers replayed records, so that "newer" means "later in the log".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tidelog.broker.coordinator.group.offsets._committed import Committed
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.protocol.messages import OffsetCommitKey, OffsetCommitValue

Partition = tuple[str, int]


class OffsetStore:
    """Changed by `replay` (of which `commit` is a part) and `end_transaction` only."""

    def __init__(self) -> None:
        self.committed: dict[str, dict[Partition, Committed]] = {}
        self.pending: dict[int, dict[str, dict[Partition, Committed]]] = {}
        self._open: dict[str, dict[Partition, set[int]]] = {}  # the same, by group: who holds a partition open
        self._order = 0

    # -- replay ----------------------------------------------------------------------------------------------------

    def replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int) -> None:
        """One record. A producer id other than -1 says that it came in a transaction: it changes nothing that fetches
        see, but holds the partition open. A tombstone removes both, what is committed and what is pending.
        """
        partition = (key.topic, key.partition)
        if value is None:
            self._order += 1
            self._remove(key.group, partition)
            return
        entry = Committed(
            value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp
        )
        if producer_id == -1:
            self.commit(key.group, ((partition, entry),))
        else:
            entry.order = self._order = self._order + 1
            self.pending.setdefault(producer_id, {}).setdefault(key.group, {})[partition] = entry
            self._open.setdefault(key.group, {}).setdefault(partition, set()).add(producer_id)

    def commit(self, group: str, entries: Iterable[tuple[Partition, Committed]]) -> None:
        """Replay offsets that belong to no transaction."""
        offsets = self.committed.get(group)
        if offsets is None:
            offsets = self.committed[group] = {}
        for partition, entry in entries:
            entry.order = self._order = self._order + 1
            offsets[partition] = entry

    def _remove(self, group: str, partition: Partition) -> None:
        offsets = self.committed.get(group)
        if offsets is not None and offsets.pop(partition, None) is not None and not offsets:
            del self.committed[group]
        for producer_id in list(self._open.get(group, {}).get(partition, ())):
            self._drop_pending(producer_id, group, partition)

    def _drop_pending(self, producer_id: int, group: str, partition: Partition) -> None:
        """A tombstone came in between: what the transaction would have committed is void."""
        groups = self.pending.get(producer_id, {})
        if group in groups:
            groups[group].pop(partition, None)
            if not groups[group]:
                del groups[group]
            if not groups:
                del self.pending[producer_id]
        self._close(producer_id, group, partition)

    def _close(self, producer_id: int, group: str, partition: Partition) -> None:
        """The producer holds the partition open no more; others may."""
        partitions = self._open.get(group, {})
        holders = partitions.get(partition, set())
        holders.discard(producer_id)
        if not holders and partition in partitions:
            del partitions[partition]
            if not partitions:
                del self._open[group]

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """The transaction of this producer is over. Its offsets count from here on, in the order in which they were
        written: a plain commit that came after the transactional one, and before the marker, stays.
        """
        for group, offsets in self.pending.pop(producer_id, {}).items():
            for partition, entry in offsets.items():
                self._close(producer_id, group, partition)
                present = self.committed.get(group, {}).get(partition)
                if committed and (present is None or present.order < entry.order):
                    self.committed.setdefault(group, {})[partition] = entry

    # -- questions -------------------------------------------------------------------------------------------------

    def get(self, group: str, partition: Partition) -> Committed | None:
        offsets = self.committed.get(group)
        return None if offsets is None else offsets.get(partition)

    def of_group(self, group: str) -> dict[Partition, Committed]:
        return self.committed.get(group, {})

    def is_open(self, group: str, partition: Partition) -> bool:
        """Whether an open transaction may still change this offset."""
        return partition in self._open.get(group, ())

    def has_open(self, group: str) -> bool:
        return group in self._open

    def knows(self, group: str) -> bool:
        """Whether there is anything of the group here, be it only pending."""
        return group in self.committed or group in self._open

    # -- records ---------------------------------------------------------------------------------------------------

    def tombstones(self, group: str) -> Iterator[CoordinatorRecord]:
        """Forget everything of a group."""
        for partition in {**self.of_group(group), **self._open.get(group, {})}:
            yield tombstone(group, partition)

    @property
    def group_ids(self) -> list[str]:
        """Every group that has offsets, committed or in an open transaction."""
        return [*self.committed, *(group for group in self._open if group not in self.committed)]

    def tombstones_of_topics(
        self, groups: Iterable[str], gone: Callable[[str], bool], until_ms: int
    ) -> Iterator[CoordinatorRecord]:
        """Forget what these groups had of deleted topics at that time: new ones may have the same names by now."""
        for group in groups:
            committed = self.committed.get(group, {})
            for partition in dict.fromkeys((*committed, *self._open.get(group, ()))):
                entry = committed.get(partition)
                if gone(partition[0]) and (entry is None or entry.commit_timestamp <= until_ms):
                    yield tombstone(group, partition)

    def durable_view(self) -> object:
        """What a reload must bring back; the order numbers are each shard's own."""

        def plain(offsets: dict[Partition, Committed]) -> dict[Partition, tuple[object, ...]]:
            return {partition: entry.durable() for partition, entry in sorted(offsets.items())}

        return (
            {group: plain(offsets) for group, offsets in sorted(self.committed.items())},
            {
                producer: {group: plain(offsets) for group, offsets in groups.items()}
                for producer, groups in sorted(self.pending.items())
            },
            {group: dict(partitions) for group, partitions in sorted(self._open.items())},
        )


def tombstone(group: str, partition: Partition) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group, topic=partition[0], partition=partition[1]))
