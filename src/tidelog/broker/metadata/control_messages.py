"""What a controller tells brokers, as values: the three requests that only a controller sends.

Brokers never read the cluster's state from the store themselves. They are told, in this order after every change:

- **LeaderAndIsr** to each broker that holds a replica of the changed partitions: lead these, follow in those. A broker
  makes the logs that it does not have, and answers which partitions it could not take on.
- **UpdateMetadata** to every broker: who is alive, and what has become of these topics. It comes after LeaderAndIsr, so
  that no client is sent to a leader that does not know yet that it is one. (A new controller begins the other way
  round, with what it has read: brokers need each other's addresses before they can follow anybody.)
- **StopReplica** to brokers that are to hold a replica no longer, and shall delete its log if the topic is gone.

Each carries the controller's epoch, which grows with every election of a controller. A broker remembers the highest
that it has seen and refuses anything lower (STALE_CONTROLLER_EPOCH): a controller that was cut off from the store, and
does not know yet that another has taken its place, can tell nobody anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.broker.metadata.images import BrokerImage, PartitionState, TopicImage
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition


class LeaderAndIsr(NamedTuple):
    controller_id: int
    controller_epoch: int
    states: Sequence[PartitionState]


class StopReplica(NamedTuple):
    controller_id: int
    controller_epoch: int
    partitions: Sequence[TopicPartition]
    delete: bool


class UpdateMetadata(NamedTuple):
    """`brokers` are all that are alive; `topics` and `deleted` only what changed."""

    controller_id: int
    controller_epoch: int
    brokers: Sequence[BrokerImage]
    topics: Sequence[TopicImage] = ()
    deleted: Sequence[str] = ()
