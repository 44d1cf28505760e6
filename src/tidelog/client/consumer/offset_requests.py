"""OffsetCommit and OffsetFetch of one group, in the shape of each version (pure).

Both requests were made for one group and names of topics. OffsetFetch asks for several groups from version 8 on, and
says from 9 on who asks, so that a member of KIP-848 that was put out cannot begin where it no longer reads. From 10 on
both go by topic ids, which a user's offsets do not have: names are used up to 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import OffsetCommitRequest, OffsetFetchRequest

LAST_WITH_NAMES = 9
_FIRST_FETCH_OF_MANY = 8
_FIRST_FETCH_WITH_MEMBER = 9
_FIRST_STABLE_FETCH = 7


def commit_request(
    offsets: Mapping[TopicPartition, OffsetAndMetadata], me: ConsumerGroupMetadata
) -> OffsetCommitRequest:
    """The leader epoch goes along where the version has it: whoever goes on from there can tell whether the log was
    cut off and written anew since (KIP-320).
    """
    topics: dict[str, list[OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
    for tp, position in offsets.items():
        entry = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=tp.partition,
            committed_offset=position.offset,
            committed_leader_epoch=position.leader_epoch,
            committed_metadata=position.metadata,
        )
        topics.setdefault(tp.topic, []).append(entry)
    return OffsetCommitRequest(
        group_id=me.group_id,
        generation_id_or_member_epoch=me.generation_id,
        member_id=me.member_id,
        group_instance_id=me.group_instance_id,
        topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=n, partitions=p) for n, p in topics.items()],
    )


def fetch_request(
    partitions: Iterable[TopicPartition], me: ConsumerGroupMetadata, version: int, *, fenced: bool
) -> OffsetFetchRequest:
    """`fenced`: ask as the member that we are, and be refused if we are not. Offsets of open transactions are waited
    for (`require_stable`, KIP-447) where the broker can do so.
    """
    by_topic: dict[str, list[int]] = {}
    for tp in partitions:
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    stable = version >= _FIRST_STABLE_FETCH
    if version < _FIRST_FETCH_OF_MANY:
        Topic = OffsetFetchRequest.OffsetFetchRequestTopic
        topics = [Topic(name=name, partition_indexes=indexes) for name, indexes in by_topic.items()]
        return OffsetFetchRequest(group_id=me.group_id, topics=topics, require_stable=stable)
    group = OffsetFetchRequest.OffsetFetchRequestGroup(
        group_id=me.group_id,
        topics=[
            OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
            for name, indexes in by_topic.items()
        ],
    )
    if fenced and version >= _FIRST_FETCH_WITH_MEMBER:
        group.member_id, group.member_epoch = me.member_id, me.generation_id
    return OffsetFetchRequest(groups=[group], require_stable=stable)


def group_of(response: Any, version: int) -> Any:
    """The part of an OffsetFetch answer that is about the one group that was asked for."""
    return response.groups[0] if version >= _FIRST_FETCH_OF_MANY else response
