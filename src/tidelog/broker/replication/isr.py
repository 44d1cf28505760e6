"""The rules of in-sync replicas and the high watermark, as functions of plain values.

The leader knows of each follower how far it has fetched. A record is committed when every in-sync replica has it, so

    high watermark = the least log end offset of the leader and of all in-sync followers

It never goes back while the same leader leads. A follower joins the ISR when it has reached the high watermark and
the start of the leader's epoch; it leaves when it has not been caught up with the leader for replica.lag.time.max.ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.common.types import NO_OFFSET


class FollowerState:
    """What the leader knows of one follower, from its fetches."""

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
        """The follower asks for `offset`: it has everything before it."""
        if offset >= leader_end:
            self.caught_up_at = max(self.caught_up_at, now)
        elif offset >= self.leader_end_at_fetch:
            self.caught_up_at = max(self.caught_up_at, self.fetched_at)
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.leader_end_at_fetch = leader_end
        self.fetched_at = now


def high_watermark(leader_end: int, isr: Iterable[int], followers: Mapping[int, FollowerState]) -> int:
    """How far the in-sync replicas agree. `followers` holds all replicas but the leader."""
    ends = (followers[node].log_end_offset for node in isr if node in followers)
    return min(leader_end, *ends, leader_end)


def may_join(follower: FollowerState, hw: int, epoch_start: int) -> bool:
    """Whether a follower outside the ISR may come in."""
    return follower.log_end_offset >= max(hw, epoch_start)


def lagging(
    isr: Iterable[int], followers: Mapping[int, FollowerState], leader_end: int, now: float, max_lag_seconds: float
) -> set[int]:
    """The in-sync followers that have been behind for too long."""
    return {
        node
        for node in isr
        if (follower := followers.get(node)) is not None
        and follower.log_end_offset != leader_end
        and now - follower.caught_up_at > max_lag_seconds
    }
