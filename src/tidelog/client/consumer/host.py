"""What a group's membership and the rest of a consumer know of each other: two protocols, one for each direction.

    the user's turn (poll)          the loop
    ConsumerCore ── is a ──► GroupHost ◄── asks, tells ── Membership (classic or KIP-848) ── heartbeats ──► coordinator

A membership decides *which* partitions are ours; the host decides what that means: positions, fetching, listeners,
commits. Listeners are the user's code, and may block or call the consumer again. So they never run from a heartbeat:
`revoke`, `lose` and `assign` wait until the user is inside `poll` (or `close`, `unsubscribe`) and return when the
listener has. Heartbeats go on meanwhile. A user who never polls makes them wait, which `max.poll.interval.ms` ends.

`host` is all that a membership sees of a consumer, and a test's fake has seven methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.values import ConsumerGroupMetadata


class GroupHost(Protocol):
    """The consumer, as its membership sees it. Everything is called on the consumer's loop."""

    def topics(self) -> frozenset[str]:
        """The subscribed names; a Python pattern is resolved already."""
        ...

    def server_pattern(self) -> str | None:
        """An RE2 pattern that the broker resolves (KIP-848 only)."""
        ...

    def owned(self) -> frozenset[TopicPartition]:
        """The partitions that the group has given us."""
        ...

    async def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        """Give these back: commit if auto-commit is on, stop fetching, run `on_partitions_revoked`, forget them."""
        ...

    async def lose(self, partitions: Iterable[TopicPartition]) -> None:
        """These are somebody else's already: no commit can count any more; run `on_partitions_lost`, forget them."""
        ...

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Take these in addition to what we own, and run `on_partitions_assigned`; also with none (a rebalance that
        brought nothing is told of, too)."""
        ...

    def hold_back(self) -> None:
        """What we own may be somebody else's by now: hand nothing of it out. It is lost in the user's next turn, or,
        after an error that is final, never handed out again.
        """
        ...

    def failed(self, error: Exception, *, final: bool = False) -> None:
        """The next `poll` raises this; `final`: so does every one, as the membership has ended for good."""
        ...


class CommittingMember(Protocol):
    """What commits need of a membership: in whose name they are sent, and whether that still holds."""

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who we are in the group, for commits and for a transaction's offsets."""
        ...

    async def settle(self) -> None:
        """Return when it is known which generation we are in."""
        ...

    def owns(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether all of these are ours at present."""
        ...

    @property
    def has_epoch(self) -> bool:
        """Whether reads of offsets are fenced, too (KIP-848)."""
        ...

    @property
    def is_held_up(self) -> bool:
        """Whether the coordinator would answer a commit only behind a request that it keeps: send it beside that."""
        ...

    def commit_refused(self, code: ErrorCode, sent: ConsumerGroupMetadata) -> None:
        """A commit that was sent by this member got an error that may tell something of the membership."""
        ...


class Membership(CommittingMember, Protocol):
    """A place in a group, as the consumer sees it. Made by (cluster, host, config)."""

    async def start(self) -> None:
        """Begin to join; returns at once, the rest happens on the loop."""
        ...

    async def leave(self, *, reason: str = "consumer closed") -> None:
        """Give back what we own (through `GroupHost.revoke`), and tell the coordinator, if the group is to know."""
        ...

    def subscription_changed(self) -> None:
        """`GroupHost.topics` or `server_pattern` have changed."""
        ...

    def metadata_changed(self) -> None:
        """A subscribed topic has come, gone or got more partitions (a classic leader assigns anew then)."""
        ...

    def polled(self) -> None:
        """The user called `poll`: `max.poll.interval.ms` starts anew."""
        ...

    def waiting(self, waits: bool) -> None:
        """The user is inside `poll` and waits for records: that may take longer than `max.poll.interval.ms`, and does
        not count.
        """
        ...

    @property
    def state(self) -> str:
        """A word for `health`."""
        ...
