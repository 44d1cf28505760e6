"""Who leads a partition: the rules of election, one row per reason to hold one.

Every rule looks at the assignment in its order (the first replica is preferred), at who is alive and at who is in sync.
The outcome is the new leader and in-sync set, or `None`: nobody may lead now. A new leader means a new leader epoch.

**Why only replicas in sync.** Whatever was called committed is in all of them, and perhaps in no other. Elected from
among them, a leader has everything that any consumer may have read. A replica out of sync may lack records, which are
then gone, from every replica: the others follow it. Kafka leaves that choice to the operator of each topic
(`unclean.leader.election.enable`, off by default): wait for one of the ISR to come back, or go on with losses.

An example, replicas (1, 2, 3), ISR (1, 3), leader 1 in epoch 4. Broker 1 dies: 3 leads in epoch 5 with the ISR (3).
Broker 3 dies as well: nobody leads, epoch 6, and the ISR stays (3): it says who must come back first. With unclean
elections 2 would lead, alone in sync, and lack what it had not fetched yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum

from tidelog.broker.metadata.images import PartitionState
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_NODE


class Reason(Enum):
    """Why an election is held. When a leader is gone, the topic's config says whether it is OFFLINE or UNCLEAN; an
    operator may ask for an unclean one, too (ElectLeaders)."""

    NEW = "the partition is new"
    OFFLINE = "its leader is gone"
    UNCLEAN = "its leader is gone, and availability goes before consistency"
    PREFERRED = "its preferred replica shall lead again"
    SHUTDOWN = "its leader is about to stop"
    REASSIGNED = "its replicas have changed"


class Candidates(NamedTuple):
    """Whom a rule can choose from. `alive` is given by whoever holds the election: a broker that is about to stop is
    left out of it while it still runs."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    alive: Collection[int]


class Elected(NamedTuple):
    leader: int
    isr: tuple[int, ...]


def _new(c: Candidates) -> Elected | None:
    """The logs are empty: whoever is alive is in sync."""
    alive = tuple(node for node in c.replicas if node in c.alive)
    return Elected(alive[0], alive) if alive else None


def _in_sync(c: Candidates) -> Elected | None:
    """The first of the assignment that is alive and in sync; those that are not alive leave the ISR with it."""
    leader = next((node for node in c.replicas if node in c.alive and node in c.isr), NO_NODE)
    if leader == NO_NODE:
        return None
    return Elected(leader, tuple(node for node in c.isr if node in c.alive))


def _unclean(c: Candidates) -> Elected | None:
    """Anybody, but only where nobody in sync is left. What the others have beyond the new leader's log is cut."""
    clean = _in_sync(c)
    if clean is not None:
        return clean
    leader = next((node for node in c.replicas if node in c.alive), NO_NODE)
    return None if leader == NO_NODE else Elected(leader, (leader,))


def _preferred(c: Candidates) -> Elected | None:
    """The first of the assignment or nobody. Placement has spread the first ones evenly: so are leaders, where all are
    preferred."""
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
    """The partition's state after an election; the same state when nothing changes.

    Where nobody can be elected, a partition whose leader is gone is left without one, in a new epoch. A preferred
    election or a shutdown changes nothing then: the leader that is there can go on.
    """
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
