"""Range: each topic's partitions in order, in contiguous ranges, over its subscribers in a fixed order.

Members with the same subscriptions get the same partition numbers of topics with equally many partitions
(co-partitioning), which is why one takes it: joins of such topics stay on one member.
Static members come first, by instance id, so that a restart does not move anything.
"""

from __future__ import annotations

from tidelog.broker.coordinator.group.consumer.assignors.spec import GroupSpec, MemberSpec


def assign_range(spec: GroupSpec) -> dict[str, dict[bytes, frozenset[int]]]:
    target: dict[str, dict[bytes, frozenset[int]]] = {member.member_id: {} for member in spec.members}
    members = sorted(spec.members, key=_order)
    for topic_id, count in sorted(spec.partitions.items()):
        subscribers = [member for member in members if topic_id in member.topics]
        if not subscribers:
            continue
        share, extra = divmod(count, len(subscribers))
        start = 0
        for index, member in enumerate(subscribers):
            size = share + (index < extra)
            if size:
                target[member.member_id][topic_id] = frozenset(range(start, start + size))
            start += size
    return target


def _order(member: MemberSpec) -> tuple[bool, str]:
    return (member.instance_id is None, member.instance_id or member.member_id)
