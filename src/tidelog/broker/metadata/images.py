"""What brokers know of the cluster, as plain values. Images are replaced, never changed in place."""

from __future__ import annotations

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_NODE, TopicPartition


class PartitionState(NamedTuple):
    """A partition: its replicas, and what the last election and ISR change made of them.

    Three epochs guard it, each against another kind of lateness. `leader_epoch` grows when leadership is given anew: a
    former leader and its followers are told apart from the present ones by it. `partition_epoch` grows with every write
    of the state, ISR changes included: a leader that wishes for a change of a set it no longer has is refused.
    `controller_epoch` says which controller wrote it last.
    """

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
    """`internal`: a coordinator's own topic, which Metadata marks as such, so that clients leave it out of patterns."""

    name: str
    topic_id: bytes
    partitions: list[PartitionState]  # by number
    internal: bool


class BrokerImage(NamedTuple):
    """A broker that is alive. It has an address per listener: clients of one are told of brokers under that one."""

    node_id: int
    endpoints: dict[str, tuple[str, int]]  # listener name → (host, port) as advertised
    rack: str | None = None
    epoch: int = 0  # grows with every registration: two lives of the same broker
