"""Uniform: as even as the subscriptions allow, and as few moves as that allows.

With equal subscriptions every member gets the same number of partitions (give or take one), and keeps what it had up to
that number. With different subscriptions: members keep what they may keep, free partitions go to the least loaded
subscriber (those of topics with the fewest subscribers first), and then single partitions move from a loaded member
to one with at least two fewer, until no move would help.
"""

from __future__ import annotations

import heapq

from tidelog.broker.coordinator.group.consumer.assignors.spec import GroupSpec, MemberSpec

Partition = tuple[bytes, int]


def assign_uniform(spec: GroupSpec) -> dict[str, dict[bytes, frozenset[int]]]:
    """A function of the spec: members and topics are sorted first, so that the same group always gets the same
    assignment, whichever broker computes it.
    """
    if not spec.members:
        return {}
    lists = _equal_subscriptions(spec) if spec.homogeneous else _mixed_subscriptions(spec)
    return {member_id: _grouped(partitions) for member_id, partitions in lists.items()}


def _grouped(partitions: list[Partition]) -> dict[bytes, frozenset[int]]:
    grouped: dict[bytes, set[int]] = {}
    for topic_id, partition in partitions:
        grouped.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(numbers) for topic_id, numbers in grouped.items()}


def _kept(member: MemberSpec, spec: GroupSpec, taken: set[Partition]) -> list[Partition]:
    """What a member has and may keep: still subscribed to, still there, and nobody else's."""
    kept = []
    for topic_id in sorted(member.current):
        count = spec.partitions.get(topic_id, 0) if topic_id in member.topics else 0
        for number in sorted(member.current[topic_id]):
            if number < count and (topic_id, number) not in taken:
                kept.append((topic_id, number))
    return kept


def _equal_subscriptions(spec: GroupSpec) -> dict[str, list[Partition]]:
    """Everybody keeps what it has up to its share; those who have more than the share keep the odd ones that are left
    over, since that saves a move. Then what is free fills up the others.
    """
    members = sorted(spec.members, key=lambda member: member.member_id)
    topics = members[0].topics
    every = [
        (topic_id, n) for topic_id, count in sorted(spec.partitions.items()) if topic_id in topics for n in range(count)
    ]
    share, extra = divmod(len(every), len(members))
    taken: set[Partition] = set()
    result: dict[str, list[Partition]] = {}
    for member in members:
        kept = _kept(member, spec, taken)
        quota = share
        if len(kept) > share and extra > 0:
            quota += 1
            extra -= 1
        result[member.member_id] = kept[:quota]
        taken.update(kept[:quota])
    free = iter([partition for partition in every if partition not in taken])
    for member in members:
        mine = result[member.member_id]
        quota = share
        if len(mine) <= share and extra > 0:
            quota += 1
            extra -= 1
        while len(mine) < quota:
            mine.append(next(free))
    return result


def _mixed_subscriptions(spec: GroupSpec) -> dict[str, list[Partition]]:
    """Three passes: keep, fill (topics with few subscribers first, as they have the least choice), balance."""
    members = {member.member_id: member for member in sorted(spec.members, key=lambda member: member.member_id)}
    subscribers = {
        topic_id: [member_id for member_id, member in members.items() if topic_id in member.topics]
        for topic_id in spec.partitions
    }
    result: dict[str, set[Partition]] = {}
    taken: set[Partition] = set()
    for member_id, member in members.items():
        kept = _kept(member, spec, taken)
        result[member_id] = set(kept)
        taken.update(kept)
    for topic_id in sorted(subscribers, key=lambda topic: (len(subscribers[topic]), topic)):
        _fill(topic_id, spec.partitions[topic_id], subscribers[topic_id], result, taken)
    _balance(members, result)
    return {member_id: sorted(partitions) for member_id, partitions in result.items()}


def _fill(
    topic_id: bytes, count: int, subscribers: list[str], result: dict[str, set[Partition]], taken: set[Partition]
) -> None:
    """Give a topic's free partitions to its least loaded subscribers."""
    if not subscribers:
        return
    loads = [(len(result[member_id]), member_id) for member_id in subscribers]
    heapq.heapify(loads)
    for number in range(count):
        if (topic_id, number) not in taken:
            load, member_id = heapq.heappop(loads)
            result[member_id].add((topic_id, number))
            heapq.heappush(loads, (load + 1, member_id))


def _balance(members: dict[str, MemberSpec], result: dict[str, set[Partition]]) -> None:
    """Move single partitions down a slope of at least two; each move lowers the sum of squares, so it ends."""
    moved = True
    while moved:
        moved = False
        for giver in sorted(result, key=lambda member_id: (-len(result[member_id]), member_id)):
            moved = _give(giver, members, result) or moved


def _give(giver: str, members: dict[str, MemberSpec], result: dict[str, set[Partition]]) -> bool:
    """Let one member hand partitions to those with at least two fewer; True if any moved."""
    moved = False
    own = members[giver].current
    # What it did not have before goes first: that costs nobody a move.
    for partition in sorted(result[giver], key=lambda p: (p[1] in own.get(p[0], ()), p)):
        limit = len(result[giver]) - 2
        takers = [
            (len(result[other]), other)
            for other, member in members.items()
            if partition[0] in member.topics and len(result[other]) <= limit
        ]
        if takers:
            taker = min(takers)[1]
            result[giver].remove(partition)
            result[taker].add(partition)
            moved = True
    return moved
