"""Who leads a partition: the rules of election, one row per reason to hold one.

Every rule looks at the assignment in its order (the first replica is preferred), at who is alive and at who is in sync.
The outcome is the new leader and in-sync set, or `None`: nobody may lead now. A new leader means a new leader epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum

from tidelog.broker.metadata.images import PartitionState
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_NODE


class Reason(Enum):
    NEW = "the partition is new"
    OFFLINE = "its leader is gone"
    UNCLEAN = "its leader is gone, and availability goes before consistency"
    PREFERRED = "its preferred replica shall lead again"
    SHUTDOWN = "its leader is about to stop"
    REASSIGNED = "its replicas have changed"


class Candidates(NamedTuple):
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    alive: Collection[int]


class Elected(NamedTuple):
    leader: int
    isr: tuple[int, ...]


def _new(c: Candidates) -> Elected | None:
    alive = tuple(node for node in c.replicas if node in c.alive)
    return Elected(alive[0], alive) if alive else None


def _in_sync(c: Candidates) -> Elected | None:
    leader = next((node for node in c.replicas if node in c.alive and node in c.isr), NO_NODE)
    if leader == NO_NODE:
        return None
    return Elected(leader, tuple(node for node in c.isr if node in c.alive))


def _unclean(c: Candidates) -> Elected | None:
    clean = _in_sync(c)
    if clean is not None:
        return clean
    leader = next((node for node in c.replicas if node in c.alive), NO_NODE)
    return None if leader == NO_NODE else Elected(leader, (leader,))


def _preferred(c: Candidates) -> Elected | None:
    preferred = c.replicas[0]
    return Elected(preferred, c.isr) if preferred in c.alive and preferred in c.isr else None


RULES: dict[Reason, Callable[[Candidates], Elected | None]] = {
    Reason.NEW: _new,
    Reason.OFFLINE: _in_sync,
    Reason.UNCLEAN: _unclean,
    Reason.PREFERRED: _preferred,
    Reason.SHUTDOWN: _in_sync,  # with the stopping broker taken out of `alive`
    Reason.REASSIGNED: _in_sync,  # with the new replicas as `replicas`
}


def elect(state: PartitionState, reason: Reason, alive: Collection[int], controller_epoch: int) -> PartitionState:
    """The partition's state after an election; the same state when nothing changes."""
    elected = RULES[reason](Candidates(state.replicas, state.isr, alive))
    if elected is None:
        if not state.has_leader or reason in (Reason.PREFERRED, Reason.SHUTDOWN):
            return state
        return state._replace(
            leader=NO_NODE, leader_epoch=state.leader_epoch + 1, controller_epoch=controller_epoch, is_new=False
        )
    if (elected.leader, elected.isr) == (state.leader, state.isr):
        return state
    epoch = state.leader_epoch if elected.leader == state.leader else state.leader_epoch + 1
    return state._replace(
        leader=elected.leader,
        isr=elected.isr,
        leader_epoch=epoch,
        controller_epoch=controller_epoch,
        is_new=False,
    )
