"""The rules of in-sync replicas and the high watermark, as functions of plain values.

The leader knows of each follower how far it has fetched. A record is committed when every in-sync replica has it, so

    high watermark = the least log end offset of the leader and of all in-sync followers

It never goes back while the same leader leads. A follower joins the ISR when it has reached the high watermark and
the start of the leader's epoch; it leaves when it has not been caught up with the leader for replica.lag.time.max.ms.

An example with three replicas, 1 leading, and a lag of 30 seconds. Log end offsets 9, 7 and 4, all in sync: the high
watermark is 4, and consumers read up to 3. Replica 3 stops fetching; half a minute later it leaves, and the high
watermark is 7: the records 4 to 6 are committed without it. It comes back, fetches from 4, and when its end has reached
the high watermark of that moment it joins again. Had the leader died in between, replica 3 could not have been elected
(but uncleanly), and so nothing that was called committed would be lost.

The start of the epoch matters because of the leader before: what *it* had committed may lie above the high watermark
that this leader knows, for followers learn of it one fetch later. A replica that has not even reached the new epoch's
start may lack such records, and must not be counted among those that have everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.common.types import NO_OFFSET


class RemoteReplica:
    """What the leader knows of one follower, from its fetches (Kafka: Replica, in `remoteReplicas`).

    A fetch is the only message that a follower sends, and its offset says two things: what it wants next, and that it
    has everything before. Nobody acknowledges anything otherwise.
    """

    __slots__ = ("caught_up_at", "fetched_at", "leader_end_at_fetch", "log_end_offset", "log_start_offset")

    def __init__(self, log_end_offset: int = NO_OFFSET, *, caught_up_at: float = 0.0) -> None:
        self.log_end_offset = log_end_offset
        self.log_start_offset = NO_OFFSET
        #: When it last had everything that the leader had (seconds, monotonic).
        self.caught_up_at = caught_up_at
        self.fetched_at = 0.0
        #: The leader's log end offset when the previous fetch came: reaching it is being caught up as of then.
        self.leader_end_at_fetch = 0

    def on_fetch(self, offset: int, log_start_offset: int, leader_end: int, now: float) -> None:
        """The follower asks for `offset`: it has everything before it.

        Under steady load no fetch ever reaches the leader's end: records come while the answer is under way. So one
        that reaches where the end was at the *previous* fetch counts as caught up at that time.
        """
        if offset >= leader_end:
            self.caught_up_at = max(self.caught_up_at, now)
        elif offset >= self.leader_end_at_fetch:
            self.caught_up_at = max(self.caught_up_at, self.fetched_at)
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.leader_end_at_fetch = leader_end
        self.fetched_at = now


def high_watermark(leader_end: int, isr: Iterable[int], followers: Mapping[int, RemoteReplica]) -> int:
    """How far the in-sync replicas agree. `followers` holds all replicas but the leader."""
    ends = (followers[node].log_end_offset for node in isr if node in followers)
    return min(leader_end, *ends, leader_end)


def may_join(follower: RemoteReplica, hw: int, epoch_start: int) -> bool:
    """Whether a follower outside the ISR may come in."""
    return follower.log_end_offset >= max(hw, epoch_start)


def lagging(
    isr: Iterable[int], followers: Mapping[int, RemoteReplica], leader_end: int, now: float, max_lag_seconds: float
) -> set[int]:
    """The in-sync followers that have been behind for too long. Time counts, not records (since Kafka 0.9): a burst of
    a million records puts nobody out of sync who goes on fetching."""
    return {
        node
        for node in isr
        if (follower := followers.get(node)) is not None
        and follower.log_end_offset != leader_end
        and now - follower.caught_up_at > max_lag_seconds
    }
