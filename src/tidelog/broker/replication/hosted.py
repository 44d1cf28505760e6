"""The partitions that this broker hosts, by whatever they are asked for.

Requests name a partition by topic and number, or by a topic's id; `_offline` remembers those that should be here and
cannot be served, because their log directory failed or their log could not be opened. They are told apart from those
that are elsewhere: KAFKA_STORAGE_ERROR makes a client wait for a new leader, NOT_LEADER_OR_FOLLOWER makes it look for
the one there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.broker.replication.partition import Partition
    from tidelog.common.types import TopicPartition


class HostedPartitions:
    """A table; who leads what is the partitions' own matter."""

    def __init__(self) -> None:
        #: To be looked up here, and changed by `add` and `remove`: every fetch looks.
        self.partitions: dict[TopicPartition, Partition] = {}
        self._topics: dict[str, dict[int, Partition]] = {}
        self._names: dict[bytes, str] = {}
        self._offline: set[TopicPartition] = set()

    def topic(self, name: str) -> dict[int, Partition]:
        return self._topics.get(name, {})

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def is_offline(self, tp: TopicPartition) -> bool:
        return tp in self._offline

    def add(self, partition: Partition) -> None:
        tp = partition.tp
        self.partitions[tp] = partition
        self._topics.setdefault(tp.topic, {})[tp.partition] = partition
        self._names[partition.topic_id] = tp.topic
        self._offline.discard(tp)

    def remove(self, tp: TopicPartition) -> Partition | None:
        """Forget a partition, and that it was offline."""
        self._offline.discard(tp)
        partition = self.partitions.pop(tp, None)
        if partition is not None:
            rest = self._topics[tp.topic]
            del rest[tp.partition]
            if not rest:
                del self._topics[tp.topic]
                self._names.pop(partition.topic_id, None)
        return partition

    def set_offline(self, tp: TopicPartition) -> None:
        """It belongs here and cannot be served."""
        self._offline.add(tp)
