"""What a broker knows of a partition while it follows: whom, in which epoch, and from where on to fetch.

A follower takes records from its leader and from nobody else: clients that produce are told NOT_LEADER_OR_FOLLOWER from
the moment on at which this state is there. It knows no in-sync replicas (the leader does) and does not move its high
watermark by itself: each answer to a fetch carries the leader's.

**Why it may have to forget.** A log may end with records that its next leader has never seen: written by a leader that
died before anybody fetched them. They were never committed, and the new leader gives their offsets to others. Before
Kafka 0.11 a follower cut its log to its own high watermark, which is one fetch late, and so could lose or keep the
wrong records (KIP-101, KIP-279). Since then epochs decide. The follower says the epoch of its last record; the leader
answers where that epoch (or the largest one below that it knows) ended in its own log; what the follower has beyond
goes:

    follower:  epoch 1: 0-4   epoch 2: 5-7        asks for epoch 2
    leader:    epoch 1: 0-4   epoch 3: 5-9        answers (epoch 1, end 5)
    the follower cuts to 5 and fetches from there

Since 2.7 no request of its own is needed for it: each fetch names the last epoch, and its answer the divergence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH

if TYPE_CHECKING:
    from tidelog.log.partition.partition_log import PartitionLog


class FollowerState(NamedTuple):
    """Where a fetcher begins (Kafka: InitialFetchState)."""

    leader: int
    leader_epoch: int
    #: From where on to fetch.
    fetch_offset: int
    #: The epoch of the last record before it, by which the leader finds out where both logs part; NO_EPOCH: unknown.
    last_fetched_epoch: int


def follow(log: PartitionLog, leader: int, leader_epoch: int) -> FollowerState:
    """Follow a leader from the end of the log, which its first answer may find to be too far.

    A log without epochs (formats before magic 2) cannot be compared. What lies above its high watermark is of no use
    then: it is fetched again.
    """
    last = log.leader_epochs.latest_epoch
    return FollowerState(leader, leader_epoch, log.high_watermark if last == NO_EPOCH else log.log_end_offset, last)


def truncation_offset(log: PartitionLog, epoch: int, end: int) -> int:
    """Where to cut a log, so that it has nothing that the one it copies has not.

    `epoch` and `end` are what the other says of this log's last epoch: the largest epoch that it knows and that is not
    above, and where that ended. NO_EPOCH: it knows none, and then its end is all there is to go by.
    """
    return end if epoch == NO_EPOCH else min(end, log.end_offset_for_epoch(epoch)[1])
