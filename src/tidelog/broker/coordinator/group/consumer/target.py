"""The target assignment of a consumer group: who shall have what, computed by an assignor for a group epoch.

Assignors see the whole group and are deterministic; they are given the present target, so that they can be sticky. The
result is stored as differences: a group of a thousand members in which one changes writes few records.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.broker.coordinator.group.consumer.assignors import ASSIGNORS
from tidelog.broker.coordinator.group.consumer.assignors.spec import GroupSpec, MemberSpec
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.metadata import MetadataView
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.common.clock import Clock


def group_spec(group: ConsumerGroup, view: MetadataView) -> GroupSpec:
    """The group as its assignor sees it; topics that do not exist are left out."""
    partitions: dict[bytes, int] = {}
    by_topics: dict[frozenset[str], frozenset[bytes]] = {}
    members = []
    for member in group.members.values():
        names = group.topics_of(member)
        ids = by_topics.get(names)
        if ids is None:
            found = [topic for topic in (view.topic(name) for name in names) if topic is not None]
            partitions.update((topic.topic_id, topic.partitions) for topic in found)
            ids = by_topics[names] = frozenset(topic.topic_id for topic in found)
        members.append(MemberSpec(member.member_id, member.instance_id, ids, group.target_of(member.member_id)))
    return GroupSpec(tuple(members), partitions)


def target_records(
    group: ConsumerGroup, view: MetadataView, assignor: str, clock: Clock
) -> Iterator[CoordinatorRecord]:
    """The changes from the present target to the one of the group's epoch, then the epoch itself. A member that is new
    to the target is written even if it gets nothing: its record says that it was thought of.
    """
    target = ASSIGNORS[assignor](group_spec(group, view))
    for member_id, assignment in sorted(target.items()):
        if member_id not in group.target or group.target_of(member_id) != assignment:
            yield group.target_record(member_id, assignment)
    yield group.target_epoch_record(group.epoch, clock.time_ms())


def subscribed_ids(group: ConsumerGroup, member_id: str, view: MetadataView) -> frozenset[bytes]:
    """The ids of the existing topics that a member wants."""
    topics = (view.topic(name) for name in group.topics_of(group.members[member_id]))
    return frozenset(topic.topic_id for topic in topics if topic is not None)
