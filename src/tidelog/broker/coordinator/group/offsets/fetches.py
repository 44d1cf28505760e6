"""OffsetFetch: what a group has committed, partition by partition.

A partition without a committed offset is no error: it is answered with offset -1, and the consumer starts where its
`auto.offset.reset` says. With `require_stable` (KIP-447; Java's consumer asks for it always) an offset that an open
transaction may still change is withheld with UNSTABLE_OFFSET_COMMIT, which clients retry: the next owner of a partition
must not begin at an offset that a commit, a moment later, moves on.
"""

from __future__ import annotations

from tidelog.broker.coordinator.group.offsets.store import OffsetStore
from tidelog.common.errors import ErrorCode
from tidelog.protocol.messages import OffsetFetchRequest, OffsetFetchResponse


def fetch_offsets(
    store: OffsetStore, group: OffsetFetchRequest.OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    """The offsets of one group; `topics` None (version 2 and later) means all that it has."""
    if group.topics is None:
        wanted: dict[str, list[int]] = {}
        for topic, partition in sorted(store.of_group(group.group_id)):
            wanted.setdefault(topic, []).append(partition)
        named = [(name, bytes(16), partitions) for name, partitions in wanted.items()]
    else:
        named = [(topic.name, topic.topic_id, topic.partition_indexes) for topic in group.topics]
    topics = [
        OffsetFetchResponse.OffsetFetchResponseTopics(
            name=name,
            topic_id=topic_id,
            partitions=[_fetch_one(store, group.group_id, name, index, require_stable) for index in indexes],
        )
        for name, topic_id, indexes in named
    ]
    return OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def _fetch_one(
    store: OffsetStore, group: str, topic: str, index: int, require_stable: bool
) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    """One partition. The leader epoch of the commit lets the consumer notice a truncated log (KIP-320)."""
    if require_stable and store.is_open(group, (topic, index)):
        return OffsetFetchResponse.OffsetFetchResponsePartitions(
            partition_index=index,
            committed_offset=-1,
            metadata="",
            error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT,
        )
    entry = store.get(group, (topic, index))
    if entry is None:
        return OffsetFetchResponse.OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=-1, metadata=""
        )
    return OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=entry.offset,
        committed_leader_epoch=entry.leader_epoch,
        metadata=entry.metadata,
    )
