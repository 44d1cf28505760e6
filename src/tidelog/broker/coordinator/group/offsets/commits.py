"""OffsetCommit and TxnOffsetCommit: records of offsets, and one answer per partition.

A commit that passes the fence (`fencing`) is taken as it is: the coordinator does not compare offsets, and a consumer
may set itself back. Only metadata that is too long is refused, for its partition alone. The offsets of one request are
written all or nothing, in one batch.

TxnOffsetCommit (KIP-98) writes the same records as part of a producer's transaction: the batch carries the id and epoch
of the producer, the log of __consumer_offsets fences it like any other transactional write, and the offsets count when
the transaction's commit marker is replayed here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Result
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode
from tidelog.protocol.messages import (
    OffsetCommitKey,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitValue,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)


class Commits:
    """Makes records of requests. Who may commit is checked by the caller (the machine)."""

    def __init__(self, clock: Clock, config: GroupConfig) -> None:
        self._clock = clock
        self._config = config

    def commit(self, request: OffsetCommitRequest) -> Result:
        """Each partition has an answer of its own. The commit's time is the broker's, unless a client of before version
        2 named one; an explicit retention time (versions 2 to 4) becomes an expiry in the record.
        """
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
        """The records go into a batch of the producer's transaction, which the log may refuse: then nothing is
        pending.
        """
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
        """One partition's record, or why there is none."""
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
