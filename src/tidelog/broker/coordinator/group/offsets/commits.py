"""OffsetCommit, TxnOffsetCommit, OffsetFetch, OffsetDelete, and the expiry of offsets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.offsets._committed import Committed
from tidelog.broker.coordinator.group.offsets.store import OffsetStore, tombstone
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Result
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode
from tidelog.protocol.messages import (
    OffsetCommitKey,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitValue,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

Group = ClassicGroup | ConsumerGroup


class Commits:
    """The offset part of the group machine. Who may commit is checked by the caller (the machine)."""

    def __init__(self, store: OffsetStore, clock: Clock, config: GroupConfig) -> None:
        self.store = store
        self._clock = clock
        self._config = config

    # -- commit ----------------------------------------------------------------------------------------------------

    def commit(self, request: OffsetCommitRequest) -> Result:
        now = self._clock.time_ms()
        expire = -1 if request.retention_time_ms == -1 else now + request.retention_time_ms
        records: list[CoordinatorRecord] = []
        topics = []
        for topic in request.topics:
            partitions = []
            for entry in topic.partitions:
                stamp = now if entry.commit_timestamp == -1 else entry.commit_timestamp
                error = self._add(records, request.group_id, topic.name, entry, stamp, expire)
                partitions.append(
                    OffsetCommitResponse.OffsetCommitResponsePartition(
                        partition_index=entry.partition_index, error_code=error
                    )
                )
            topics.append(
                OffsetCommitResponse.OffsetCommitResponseTopic(
                    name=topic.name, topic_id=topic.topic_id, partitions=partitions
                )
            )
        return Result(records, OffsetCommitResponse(topics=topics))

    def commit_in_transaction(self, request: TxnOffsetCommitRequest) -> Result:
        now = self._clock.time_ms()
        records: list[CoordinatorRecord] = []
        topics = []
        for topic in request.topics:
            partitions = [
                TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(
                    partition_index=entry.partition_index,
                    error_code=self._add(records, request.group_id, topic.name, entry, now, -1),
                )
                for entry in topic.partitions
            ]
            topics.append(TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        producer = (request.producer_id, request.producer_epoch)
        return Result(records, TxnOffsetCommitResponse(topics=topics), producer=producer)

    def _add(
        self, records: list[CoordinatorRecord], group: str, topic: str, entry: Any, stamp: int, expire: int
    ) -> ErrorCode:
        metadata = entry.committed_metadata or ""
        if len(metadata) > self._config.offset_metadata_max_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        records.append(
            CoordinatorRecord(
                OffsetCommitKey(group=group, topic=topic, partition=entry.partition_index),
                OffsetCommitValue(
                    offset=entry.committed_offset,
                    leader_epoch=entry.committed_leader_epoch,
                    metadata=metadata,
                    commit_timestamp=stamp,
                    expire_timestamp=expire,
                ),
            )
        )
        return ErrorCode.NONE

    # -- fetch -----------------------------------------------------------------------------------------------------

    def fetch(
        self, group: OffsetFetchRequest.OffsetFetchRequestGroup, require_stable: bool
    ) -> OffsetFetchResponse.OffsetFetchResponseGroup:
        """The offsets of one group; `topics` None means all that it has."""
        if group.topics is None:
            wanted: dict[str, list[int]] = {}
            for topic, partition in sorted(self.store.of_group(group.group_id)):
                wanted.setdefault(topic, []).append(partition)
            named = [(name, bytes(16), partitions) for name, partitions in wanted.items()]
        else:
            named = [(topic.name, topic.topic_id, topic.partition_indexes) for topic in group.topics]
        topics = [
            OffsetFetchResponse.OffsetFetchResponseTopics(
                name=name,
                topic_id=topic_id,
                partitions=[self._fetch_one(group.group_id, name, index, require_stable) for index in indexes],
            )
            for name, topic_id, indexes in named
        ]
        return OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)

    def _fetch_one(
        self, group: str, topic: str, index: int, require_stable: bool
    ) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
        if require_stable and self.store.is_open(group, (topic, index)):
            return OffsetFetchResponse.OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=-1,
                metadata="",
                error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT,
            )
        entry = self.store.get(group, (topic, index))
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

    # -- delete and expire -----------------------------------------------------------------------------------------

    def delete(self, group: Group, request: OffsetDeleteRequest) -> Result:
        records: list[CoordinatorRecord] = []
        topics = []
        for topic in request.topics:
            used = group.is_subscribed_to(topic.name)
            error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if used else ErrorCode.NONE
            partitions = []
            for entry in topic.partitions:
                partition = (topic.name, entry.partition_index)
                known = self.store.get(request.group_id, partition) or self.store.is_open(request.group_id, partition)
                if not used and known:
                    records.append(tombstone(request.group_id, partition))
                partitions.append(
                    OffsetDeleteResponse.OffsetDeleteResponsePartition(
                        partition_index=entry.partition_index, error_code=error
                    )
                )
            topics.append(OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        return Result(records, OffsetDeleteResponse(topics=topics))

    def expired(self, group: Group, now_ms: int) -> tuple[list[CoordinatorRecord], bool]:
        """Tombstones of what has expired, and whether nothing is left of the group's offsets."""
        offsets = self.store.of_group(group.group_id)
        records = []
        kept = 0
        for partition, entry in offsets.items():
            if (
                self.store.is_open(group.group_id, partition)
                or group.is_subscribed_to(partition[0])
                or not self._is_expired(group, entry, now_ms)
            ):
                kept += 1
            else:
                records.append(tombstone(group.group_id, partition))
        return records, kept == 0 and not self.store.has_open(group.group_id)

    def _is_expired(self, group: Group, entry: Committed, now_ms: int) -> bool:
        """An explicit expiry counts as it is; else the retention runs from the last sign of life of the group.

        For a group that has had members that is when it became empty; for one that never had any, the commit.
        While a classic group has members of an unknown protocol type, nothing of it expires.
        """
        if entry.expire_timestamp != -1:
            return now_ms >= entry.expire_timestamp
        base = entry.commit_timestamp
        if isinstance(group, ClassicGroup):
            if not group.is_in(ClassicState.EMPTY, ClassicState.STABLE):
                return False
            if group.is_in(ClassicState.EMPTY) and group.protocol_type and group.state_since_ms is not None:
                base = group.state_since_ms
        return now_ms - base >= self._config.offsets_retention_ms


def commit_error(code: ErrorCode) -> ErrorCode:
    """What a client is told when its commit failed with this."""
    too_large = code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
    return ErrorCode.INVALID_COMMIT_OFFSET_SIZE if too_large else code


def failed_commit(topics: Iterable[Any], error: ErrorCode) -> OffsetCommitResponse:
    """A commit that failed as a whole."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponse.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponse.OffsetCommitResponsePartition(
                        partition_index=entry.partition_index, error_code=error
                    )
                    for entry in topic.partitions
                ],
            )
            for topic in topics
        ]
    )
