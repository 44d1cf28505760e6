"""What an assignor is given and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Target = Mapping[bytes, frozenset[int]]
"""topic id -> partitions."""


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member as an assignor sees it: what it wants, and what the last target gave it."""

    member_id: str
    instance_id: str | None
    topics: frozenset[bytes]
    current: Target


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """All members, and the partition counts of the topics that exist among those subscribed to."""

    members: tuple[MemberSpec, ...]
    partitions: Mapping[bytes, int]

    @property
    def homogeneous(self) -> bool:
        """Whether all members want the same topics."""
        return len({member.topics for member in self.members}) <= 1


Assignor = Callable[[GroupSpec], dict[str, dict[bytes, frozenset[int]]]]
"""member id -> target; every member has an entry."""
