"""From a member's current assignment towards its target, one safe step at a time.

A member first gives back what the target takes away (UNREVOKED_PARTITIONS, still at its old epoch), then moves to the
target's epoch and gets what is free; what other members have not released yet follows later (UNRELEASED_PARTITIONS).

Example. m1 has a-0 and a-1, and m2 joins; the target of epoch 2 gives a-1 to m2:

    m2's join        puts it at epoch 2 with nothing: a-1 has an owner still
    m1's heartbeat   is told a-0 alone; a-1 is `revoking`, and m1 stays at epoch 1
    m1's heartbeat   says that it owns a-0: a-1 is free, m1 moves to epoch 2
    m2's heartbeat   gets a-1

A function of values: nothing here knows the group, so that every case can be tried by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tidelog.broker.coordinator.group.consumer.member import Assignment, ConsumerMember
from tidelog.broker.coordinator.group.consumer.states import CONSUMER_MEMBER, MemberState
from tidelog.common.errors import ErrorCode, KafkaError

Owns = Callable[[bytes, int], str | None]
"""(topic id, partition) -> the member that has it, if any."""

_NONE: frozenset[int] = frozenset()


def reconcile(
    member: ConsumerMember,
    *,
    target_epoch: int,
    target: Assignment,
    subscribed: frozenset[bytes],
    owner: Owns,
    owned: Assignment | None,
    subscription_changed: bool = False,
) -> ConsumerMember:
    """The member after one step. `owned` is what it says it has (None: it did not say).

    `subscribed`: the ids of topics that it wants; targets of other topics are out of date and not followed.
    """
    if member.state is MemberState.STABLE:
        if member.epoch != target_epoch:
            return _next(member, target_epoch, target, subscribed, owner, owned)
        return _drop_unsubscribed(member, subscribed, owned) if subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _still_owns(owned, member.revoking):
            return _drop_unsubscribed(member, subscribed, owned) if subscription_changed else member
        return _next(member, target_epoch, target, subscribed, owner, owned)
    if member.state is MemberState.UNKNOWN and owned != {}:
        raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH, "The member's state is not known: it must start anew.")
    return _next(member, target_epoch, target, subscribed, owner, owned)


def _still_owns(owned: Assignment | None, revoking: Assignment) -> bool:
    """Whether the member has not yet confirmed; one that does not say what it owns has confirmed nothing."""
    if owned is None:
        return True
    return any(partitions & revoking.get(topic_id, _NONE) for topic_id, partitions in owned.items())


def _drop_unsubscribed(
    member: ConsumerMember, subscribed: frozenset[bytes], owned: Assignment | None
) -> ConsumerMember:
    """Take away what the member does not subscribe to any more, without waiting for a new target."""
    keep = {topic_id: partitions for topic_id, partitions in member.assigned.items() if topic_id in subscribed}
    if len(keep) == len(member.assigned):
        return member
    revoking = dict(member.revoking)
    for topic_id, partitions in member.assigned.items():
        if topic_id not in subscribed:
            revoking[topic_id] = revoking.get(topic_id, _NONE) | partitions
    if _still_owns(owned, revoking):
        return _moved(member, MemberState.UNREVOKED_PARTITIONS, member.epoch, keep, revoking)
    return replace(member, assigned=keep)


def _next(
    member: ConsumerMember,
    target_epoch: int,
    target: Assignment,
    subscribed: frozenset[bytes],
    owner: Owns,
    owned: Assignment | None,
) -> ConsumerMember:
    """Compute keep, revoke and add against the target. While there is something to revoke the member gets nothing new
    and keeps its epoch; when it has confirmed, both happen in one step.
    """
    keep: dict[bytes, frozenset[int]] = {}
    revoke: dict[bytes, frozenset[int]] = {}
    add: dict[bytes, frozenset[int]] = {}
    unreleased = False
    for topic_id in {**target, **member.assigned}:
        wanted = target.get(topic_id, _NONE) if topic_id in subscribed else _NONE
        current = member.assigned.get(topic_id, _NONE)
        mine = member.revoking.get(topic_id, _NONE)
        missing = wanted - current
        free = frozenset(p for p in missing if p in mine or owner(topic_id, p) is None)
        unreleased = unreleased or len(free) < len(missing)
        _put(keep, topic_id, current & wanted)
        _put(revoke, topic_id, current - wanted)
        _put(add, topic_id, free)
    if revoke and _still_owns(owned, revoke):
        return _moved(member, MemberState.UNREVOKED_PARTITIONS, member.epoch, keep, revoke)
    for topic_id, partitions in add.items():
        keep[topic_id] = keep.get(topic_id, _NONE) | partitions
    state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
    return _moved(member, state, target_epoch, keep, {})


def _put(assignment: dict[bytes, frozenset[int]], topic_id: bytes, partitions: frozenset[int]) -> None:
    if partitions:
        assignment[topic_id] = partitions


def _moved(
    member: ConsumerMember,
    state: MemberState,
    epoch: int,
    assigned: Mapping[bytes, frozenset[int]],
    revoking: Mapping[bytes, frozenset[int]],
) -> ConsumerMember:
    """The member after a step that the table of member states must have."""
    CONSUMER_MEMBER.check(member.state, state)
    return replace(
        member, state=state, epoch=epoch, previous_epoch=member.epoch, assigned=dict(assigned), revoking=dict(revoking)
    )
