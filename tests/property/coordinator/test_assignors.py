"""Assignors, for any group: everything that can be assigned is, once, to somebody who wants it; fair; and sticky."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.broker.coordinator.group.consumer.assignors import ASSIGNORS
from tidelog.broker.coordinator.group.consumer.assignors.range import assign_range
from tidelog.broker.coordinator.group.consumer.assignors.spec import GroupSpec, MemberSpec
from tidelog.broker.coordinator.group.consumer.assignors.uniform import assign_uniform

TOPICS = [bytes([number]) * 16 for number in range(1, 6)]
Target = dict[str, dict[bytes, frozenset[int]]]


@st.composite
def groups(draw: st.DrawFn, same: bool = False) -> GroupSpec:
    partitions = draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9), min_size=1))
    names = draw(st.lists(st.integers(0, 99), min_size=1, max_size=7, unique=True))
    shared = draw(st.frozensets(st.sampled_from(TOPICS)))
    members = []
    for name in names:
        topics = shared if same else draw(st.frozensets(st.sampled_from(TOPICS)))
        instance = draw(st.none() | st.just(f"instance-{name}"))
        current = draw(
            st.dictionaries(st.sampled_from(TOPICS), st.frozensets(st.integers(0, 11), min_size=1), max_size=3)
        )
        members.append(MemberSpec(f"member-{name}", instance, topics, current))
    return GroupSpec(tuple(members), partitions)


def owned(target: Target) -> list[tuple[bytes, int, str]]:
    return [
        (topic, number, member)
        for member, assignment in target.items()
        for topic, numbers in assignment.items()
        for number in numbers
    ]


@settings(max_examples=150, deadline=None)
@given(groups(), st.sampled_from(sorted(ASSIGNORS)))
def test_complete_and_exclusive(spec: GroupSpec, name: str) -> None:
    target = ASSIGNORS[name](spec)
    assert set(target) == {member.member_id for member in spec.members}
    wanted = {member.member_id: member.topics for member in spec.members}
    assert all(topic in wanted[member] for topic, _, member in owned(target))
    assigned = [(topic, number) for topic, number, _ in owned(target)]
    assert len(assigned) == len(set(assigned))
    subscribed = {topic for member in spec.members for topic in member.topics}
    assert set(assigned) == {
        (topic, number) for topic, count in spec.partitions.items() if topic in subscribed for number in range(count)
    }
    assert all(numbers for assignment in target.values() for numbers in assignment.values())


@settings(max_examples=100, deadline=None)
@given(groups(same=True))
def test_uniform_is_balanced(spec: GroupSpec) -> None:
    sizes = [sum(map(len, assignment.values())) for assignment in assign_uniform(spec).values()]
    assert max(sizes) - min(sizes) <= 1


@settings(max_examples=100, deadline=None)
@given(groups())
def test_uniform_leaves_no_move_that_helps(spec: GroupSpec) -> None:
    """With different subscriptions too: nobody has two more than somebody who could take one of them."""
    target = assign_uniform(spec)
    load = {member: sum(map(len, assignment.values())) for member, assignment in target.items()}
    wanted = {member.member_id: member.topics for member in spec.members}
    for giver, taker in itertools.permutations(target, 2):
        if load[giver] - load[taker] >= 2:
            assert not set(target[giver]) & wanted[taker]


@settings(max_examples=100, deadline=None)
@given(groups(), st.booleans())
def test_uniform_is_stable(spec: GroupSpec, grow: bool) -> None:
    """Asked again with its own answer it changes nothing; a new member takes only what it must."""
    first = assign_uniform(spec)
    again = GroupSpec(
        tuple(MemberSpec(m.member_id, m.instance_id, m.topics, first[m.member_id]) for m in spec.members),
        spec.partitions,
    )
    assert assign_uniform(again) == first
    if grow and spec.homogeneous:
        newcomer = MemberSpec("newcomer", None, spec.members[0].topics, {})
        second = assign_uniform(GroupSpec((*again.members, newcomer), spec.partitions))
        moved = set(owned(second)) - set(owned(first))
        assert all(member == "newcomer" for _, _, member in moved)


@settings(max_examples=100, deadline=None)
@given(groups(same=True))
def test_range_gives_neighbours_and_the_same_numbers(spec: GroupSpec) -> None:
    target = assign_range(spec)
    for assignment in target.values():
        for numbers in assignment.values():
            assert max(numbers) - min(numbers) + 1 == len(numbers)
    for first, second in itertools.combinations(spec.partitions, 2):
        if spec.partitions[first] == spec.partitions[second]:
            for assignment in target.values():
                if first in spec.members[0].topics and second in spec.members[0].topics:
                    assert assignment.get(first) == assignment.get(second)
