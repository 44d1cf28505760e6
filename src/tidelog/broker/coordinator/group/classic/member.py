"""A member of a classic group: soft state, made durable only as part of its group's record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidelog.broker.coordinator.result import Reply
from tidelog.protocol.consumer_protocol import Protocol


@dataclass(slots=True, eq=False)
class ClassicMember:
    """`awaiting_join` / `awaiting_sync`: the answer that this member waits for, if any.

    `is_new`: the member has not seen an answer to its first JoinGroup yet, so it cannot send heartbeats:
    a long time-out guards against members that never come back for it.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    awaiting_join: Reply | None = field(default=None, repr=False)
    awaiting_sync: Reply | None = field(default=None, repr=False)

    @property
    def is_static(self) -> bool:
        """Whether it has a group.instance.id: its place outlasts a restart, as long as its session does (KIP-345)."""
        return self.group_instance_id is not None

    def metadata(self, protocol: str | None) -> bytes:
        """What the member said for this protocol."""
        return next((entry.metadata for entry in self.protocols if entry.name == protocol), b"")

    def vote(self, candidates: Sequence[str] | frozenset[str]) -> str:
        """The member's favourite among the candidates."""
        return next(entry.name for entry in self.protocols if entry.name in candidates)

    def matches(self, protocols: Sequence[Protocol]) -> bool:
        """Whether a JoinGroup says nothing new; order counts, as it is the order of preference."""
        return self.protocols == tuple(protocols)
