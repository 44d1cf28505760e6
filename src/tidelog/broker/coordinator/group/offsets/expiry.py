"""How offsets go: by OffsetDelete, and by `offsets.retention.minutes`.

Neither touches offsets that somebody uses. A group that subscribes to a topic keeps its offsets of it however old they
are (KIP-211): a topic to which nobody writes for a week must not be read from its beginning afterwards.
"""

from __future__ import annotations

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.group.offsets._committed import Committed
from tidelog.broker.coordinator.group.offsets.store import OffsetStore, tombstone
from tidelog.broker.coordinator.group.state import Group
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Result
from tidelog.common.errors import ErrorCode
from tidelog.protocol.messages import OffsetDeleteRequest, OffsetDeleteResponse


class OffsetExpiry:
    """Computes tombstones; their replay is what removes the offsets."""

    def __init__(self, store: OffsetStore, config: GroupConfig) -> None:
        self.store = store
        self._config = config

    def delete(self, group: Group, request: OffsetDeleteRequest) -> Result:
        """OffsetDelete (KIP-496): topic by topic; those that the group still subscribes to are refused with
        GROUP_SUBSCRIBED_TO_TOPIC. Deleting what is not there succeeds.
        """
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
