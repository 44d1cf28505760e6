"""What brokers know of the cluster, as plain values. Images are replaced, never changed in place."""

from __future__ import annotations

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_NODE, TopicPartition


class PartitionState(NamedTuple):
    """A partition: its replicas, and what the last election and ISR change made of them."""

    topic: str
    partition: int
    topic_id: bytes
    leader: int  # -1: none
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]  # the first is the preferred leader
    controller_epoch: int = 0
    partition_epoch: int = 0  # the version of its state node: what an ISR change compares and sets
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    is_new: bool = False
    log_dir: str | None = None

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_NODE


class TopicImage(NamedTuple):
    name: str
    topic_id: bytes
    partitions: list[PartitionState]  # by number
    internal: bool


class BrokerImage(NamedTuple):
    node_id: int
    endpoints: dict[str, tuple[str, int]]  # listener name → (host, port) as advertised
    rack: str | None = None
    epoch: int = 0
