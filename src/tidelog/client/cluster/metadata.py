"""What a client knows of the cluster: brokers, topics, leaders, epochs; and when that is too old (pure).

Fed with MetadataResponses, asked for leaders. A leader that an older epoch names never replaces one of a newer epoch:
a broker that lags behind may still answer from yesterday. A topic that is deleted and made anew has another topic id,
and then epochs start over.

Why an epoch and not the last word: after a leader change brokers hear of it one by one. A client that was told of
leader 2 at epoch 7 and then asks a broker that still thinks of leader 1 at epoch 6 would go back to 1, be refused, ask
again, and so on until all know. Epochs rise with every election, so the higher one is the later one, whoever tells it
(KIP-320).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH, NO_NODE, TopicPartition
from tidelog.common.uuids import ZERO_UUID


@dataclass(frozen=True)
class Node:
    """A broker, as it wants to be reached on the listener that was asked."""

    id: int
    host: str
    port: int
    rack: str | None = None


class PartitionInfo(NamedTuple):
    """What metadata says of a partition. NO_NODE: it has no leader at present, which is worth waiting for."""

    leader: int = NO_NODE
    leader_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()
    error: int = 0
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()


@dataclass(frozen=True)
class TopicInfo:
    """A topic. `error` is what the broker had to object (not authorized, an invalid name): it is kept, and raised when
    somebody wants the topic, so that one bad topic does not fail the request for the others.
    """

    name: str
    id: bytes = ZERO_UUID
    error: int = 0
    internal: bool = False
    partitions: dict[int, PartitionInfo] = field(default_factory=dict)
    #: Whether some partition is without a leader. Asked on each poll and send, so it is not found out each time: with
    #: 24,000 partitions that would cost milliseconds.
    leaderless: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "leaderless", any(info.leader < 0 for info in self.partitions.values()))


class ClusterMetadata:
    """The newest known state of the cluster."""

    def __init__(self, max_age_ms: int, backoff_ms: int = 0) -> None:
        """What is older than `max_age_ms` is asked for anew; a partition without a leader not before `backoff_ms`."""
        self.cluster_id: str | None = None
        self.controller: int = NO_NODE
        self.nodes: dict[int, Node] = {}
        self.topics: dict[str, TopicInfo] = {}
        #: Those that were asked for and do not exist.
        self.absent: set[str] = set()
        #: Counts the answers that were taken in.
        self.revision = 0
        self._max_age_ms = max_age_ms
        self._backoff_ms = backoff_ms
        self._stale: set[str] = set()
        self._updated_ms: dict[str, int] = {}

    def update(self, response: Any, now_ms: int, *, complete: bool = False) -> None:
        """Take in a MetadataResponse. `complete`: it tells of all topics, so that others do not exist (any more)."""
        self.revision += 1
        self.cluster_id = response.cluster_id
        self.controller = response.controller_id
        self.nodes = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
        if complete:
            present = {topic.name for topic in response.topics}
            for name in [name for name in self.topics if name not in present]:
                self.forget(name)
        for topic in response.topics:
            self._stale.discard(topic.name)
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self.topics.pop(topic.name, None)
                self.absent.add(topic.name)
                continue
            self.absent.discard(topic.name)
            self._updated_ms[topic.name] = now_ms
            self.topics[topic.name] = self._merge(topic)

    def _merge(self, topic: Any) -> TopicInfo:
        """The topic as the answer has it, but for leaders of an older epoch than was seen; ids tell one topic from the
        next.
        """
        known = self.topics.get(topic.name)
        same = known is not None and known.id == topic.topic_id
        partitions = {}
        for entry in topic.partitions:
            fresh = PartitionInfo(
                entry.leader_id,
                entry.leader_epoch,
                tuple(entry.replica_nodes),
                entry.error_code,
                tuple(entry.isr_nodes),
                tuple(entry.offline_replicas or ()),
            )
            old = known.partitions.get(entry.partition_index) if same and known is not None else None
            if old is not None and NO_EPOCH < fresh.leader_epoch < old.leader_epoch:
                fresh = old
            partitions[entry.partition_index] = fresh
        return TopicInfo(topic.name, topic.topic_id, topic.error_code, topic.is_internal, partitions)

    def forget(self, topic: str) -> None:
        """Nobody needs it any more: whoever does later asks for it again. (Programs that make up names of topics would
        fill the memory otherwise.)
        """
        self.topics.pop(topic, None)
        self._updated_ms.pop(topic, None)
        self._stale.discard(topic)
        self.absent.discard(topic)

    def mark_stale(self, topics: Iterable[str]) -> None:
        """Ask anew before these topics are used again."""
        self._stale.update(topics)

    def missing(self, topics: Iterable[str], now_ms: int) -> set[str]:
        """Those of the topics that must be asked for: unknown, stale, too old, or without a leader somewhere."""
        return {name for name in topics if not self._is_fresh(name, now_ms)}

    def _is_fresh(self, name: str, now_ms: int) -> bool:
        topic = self.topics.get(name)
        if topic is None or name in self._stale or topic.error:
            return False
        # While an election is under way, every fetch of the topic's other partitions comes by here.
        age = now_ms - self._updated_ms[name]
        return age < (min(self._backoff_ms, self._max_age_ms) if topic.leaderless else self._max_age_ms)

    def topic(self, name: str) -> TopicInfo:
        """What is known of it; KafkaError if it does not exist or may not be seen."""
        info = self.topics.get(name)
        if info is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
        if info.error:
            raise KafkaError(info.error, f"topic {name}: {ErrorCode(info.error).text}")
        return info

    def partitions(self, topic: str) -> list[int]:
        return sorted(self.topic(topic).partitions)

    def partition(self, tp: TopicPartition) -> PartitionInfo:
        """What is known of it; KafkaError if the topic has no such partition."""
        info = self.topic(tp.topic).partitions.get(tp.partition)
        if info is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {tp} does not exist")
        return info

    def leader(self, tp: TopicPartition) -> Node:
        """The node that leads the partition; KafkaError (retriable) while there is none."""
        info = self.partition(tp)
        node = self.nodes.get(info.leader)
        if node is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {tp} has no leader at present")
        return node
