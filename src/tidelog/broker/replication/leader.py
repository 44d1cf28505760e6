"""What a broker knows of a partition while it leads it: the followers, who is in sync, and a wish to change that.

One object per leadership: a new leader epoch begins with a new one, in which nothing is known of any follower until it
has fetched. It is gone when the broker leads no longer, and with it every wish that is still under way.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.replication.isr import RemoteReplica, high_watermark


class LeaderState:
    """Kafka: the part of Partition that makeLeader sets up."""

    __slots__ = ("alone", "epoch_start", "followers", "isr", "node_id", "pending_isr")

    def __init__(self, node_id: int, epoch_start: int) -> None:
        self.node_id = node_id
        #: Where this leader's own records begin. Consumers that ask for offsets by time wait until the high watermark
        #: has reached it (KIP-207): before that it may be behind what the leader before has shown.
        self.epoch_start = epoch_start
        self.followers: dict[int, RemoteReplica] = {}
        #: As the controller has it.
        self.isr: tuple[int, ...] = ()
        #: What was proposed to the controller and not answered yet.
        self.pending_isr: tuple[int, ...] | None = None
        #: Whether this broker is the whole ISR and nobody is about to join: what it writes is committed as it is
        #: written. Kept rather than computed: every append asks.
        self.alone = False

    def assign(self, replicas: Iterable[int], isr: tuple[int, ...], now: float) -> None:
        """Take in what the controller has decided; followers that stay are remembered. A new one counts as caught up
        now, so that it has `replica.lag.time.max.ms` to show itself before it is put out of the ISR."""
        self.followers = {
            node: self.followers.get(node) or RemoteReplica(caught_up_at=now)
            for node in replicas
            if node != self.node_id
        }
        self.isr = isr
        self.settle()

    def propose(self, isr: tuple[int, ...]) -> None:
        """The controller is asked for this set."""
        self.pending_isr = isr
        self.alone = False

    def settle(self) -> None:
        """Nothing is asked of the controller any more: what it has said counts."""
        self.pending_isr = None
        self.alone = all(node == self.node_id for node in self.isr)

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        """Whoever may be in sync by now. While a wish is under way nobody here knows whether the controller has granted
        it: the larger of both sets counts. A replica that joins might be elected in the next moment, so it must
        have whatever is called committed; one that leaves might not have left.
        """
        if self.pending_isr is None:
            return self.isr
        return tuple({*self.isr, *self.pending_isr})

    def committed_end(self, written_end: int) -> int:
        """How far the in-sync replicas agree: what the high watermark may be."""
        return high_watermark(written_end, self.maximal_isr, self.followers)

    def low_watermark(self, log_start: int) -> int:
        """The least log start offset of all replicas: where DeleteRecords has come to."""
        return min([log_start, *(follower.log_start_offset for follower in self.followers.values())])
