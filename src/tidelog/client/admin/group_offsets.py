"""Offsets of groups: how far each has come, setting that, and deleting it.

A group's coordinator keeps its offsets. Consumer groups and streams groups commit positions; share groups have the
offset that they start from in each partition (what is behind it, and not done yet, is the coordinator's business).

Setting and deleting is for groups without members: those at work would go on from what they remember. The coordinator
refuses it for others (UNKNOWN_MEMBER_ID, as it takes the request for that of a member; GROUP_SUBSCRIBED_TO_TOPIC).

A position is the offset of the *next* record to read. Beside it lies the leader epoch of the last one that was read,
by which a reader notices that the log was cut back behind it (KIP-320), and a text of the reader's own. Positions
expire with their group, `offsets.retention.minutes` after its last member has left.

The functions at the end ask on any cluster client: consumers and Spark, which have no Admin, use them as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.call import Call
from tidelog.client.admin.hints import check, failure, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import At, ToCoordinator
from tidelog.client.admin.shapes import by_topic, entries, items, values_by_topic
from tidelog.client.cluster.client import CoordinatorType
from tidelog.client.values import UNKNOWN_GENERATION, UNKNOWN_MEMBER, OffsetAndMetadata, position_of
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages

#: The last versions that are about one group (OffsetFetch) and that name topics, not ids (OffsetCommit).
_LAST_FETCH_OF_ONE, _LAST_COMMIT_BY_NAME = 7, 9

#: Groups, each with the partitions that are wanted of it (None: all that it has offsets of).
Wanted = Iterable[str] | Mapping[str, Iterable[TopicPartition] | None]
Committed = dict[TopicPartition, OffsetAndMetadata | None]

_COORDINATOR = ToCoordinator(CoordinatorType.GROUP, ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.REBALANCE_IN_PROGRESS)


class GroupOffsetAdmin(AdminBase):
    """The part of the Admin that is about the positions of groups."""

    async def group_offsets(
        self, group_id: str, *, require_stable: bool = False, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """All positions that one group has committed."""
        found = await ask_committed(self._call(timeout), [group_id], require_stable=require_stable)
        return {tp: position for tp, position in found.of(group_id).items() if position is not None}

    async def list_consumer_group_offsets(
        self, groups: Wanted, *, require_stable: bool = False, timeout: float | None = None
    ) -> Outcomes[str, Committed]:
        """The positions of each group: of all partitions that it has any of, or of those that a mapping names (None
        where there is none). `require_stable`: wait for transactions that are about to commit some.
        """
        return await ask_committed(self._call(timeout), groups, require_stable=require_stable)

    async def list_streams_group_offsets(
        self, groups: Wanted, *, require_stable: bool = False, timeout: float | None = None
    ) -> Outcomes[str, Committed]:
        """The positions of streams groups; as `list_consumer_group_offsets`."""
        return await ask_committed(self._call(timeout), groups, require_stable=require_stable)

    async def alter_consumer_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Set positions of a group without members: the offsets of the next records to read."""
        return await ask_commit(self._call(timeout), group_id, offsets)

    async def alter_streams_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Set positions of a streams group without members."""
        return await ask_commit(self._call(timeout), group_id, offsets)

    async def delete_consumer_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, None]:
        """Delete positions of a group that no member reads (Kafka 2.4 on)."""
        return await self._delete(group_id, partitions, timeout)

    async def delete_streams_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, None]:
        """Delete positions of a streams group that no member reads."""
        return await self._delete(group_id, partitions, timeout)

    async def _delete(
        self, group_id: str, partitions: Iterable[TopicPartition], timeout: float | None
    ) -> Outcomes[TopicPartition, None]:
        """OffsetDelete. An error of the whole group (it does not exist, we may not) holds for each partition."""
        Partition = messages.OffsetDeleteRequest.OffsetDeleteRequestPartition

        def ask(keys: list[TopicPartition]) -> messages.OffsetDeleteRequest:
            topics = [
                messages.OffsetDeleteRequest.OffsetDeleteRequestTopic(
                    name=name, partitions=[Partition(partition_index=number) for number in numbers]
                )
                for name, numbers in by_topic(keys).items()
            ]
            return messages.OffsetDeleteRequest(group_id=group_id, topics=topics)

        def read(response: Any, keys: list[TopicPartition]) -> Answers[TopicPartition, None]:
            if response.error_code:
                raise failure(response.error_code, about=f"group {group_id}")
            for tp, each in entries(response.topics):
                yield tp, outcome(None, each.error_code, about=f"{tp} of group {group_id}")

        return await self._call(timeout).each(partitions, At(_COORDINATOR, group_id), ask, read)


async def ask_committed(call: Call, groups: Wanted, *, require_stable: bool = False) -> Outcomes[str, Committed]:
    """OffsetFetch, one group at a time: that is how every version knows it."""
    chosen = groups if isinstance(groups, Mapping) else dict.fromkeys(items(groups))

    def ask(keys: list[str]) -> messages.OffsetFetchRequest:
        (key,) = keys
        partitions = chosen[key]
        topics = None
        if partitions is not None:
            topics = [
                messages.OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
                for name, numbers in by_topic(partitions).items()
            ]
        return messages.OffsetFetchRequest(group_id=key, topics=topics, require_stable=require_stable)

    def read(response: Any, keys: list[str]) -> Answers[str, Committed]:
        (key,) = keys
        check(response.error_code, about=f"group {key}")
        found: Committed = {}
        for tp, each in entries(response.topics):
            check(each.error_code, about=f"{tp} of group {key}")
            position = OffsetAndMetadata(each.committed_offset, each.committed_leader_epoch, each.metadata or "")
            found[tp] = position if each.committed_offset >= 0 else None
        return [(key, found)]

    return await call.each(chosen, _COORDINATOR, ask, read, alone=True, highest=_LAST_FETCH_OF_ONE)


async def ask_commit(
    call: Call, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int]
) -> Outcomes[TopicPartition, None]:
    """A commit without a member: the coordinator takes it for groups that have none."""
    wanted = {tp: position_of(new) for tp, new in offsets.items()}
    Partition = messages.OffsetCommitRequest.OffsetCommitRequestPartition

    def ask(keys: list[TopicPartition]) -> messages.OffsetCommitRequest:
        topics = [
            messages.OffsetCommitRequest.OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    Partition(
                        partition_index=index,
                        committed_offset=new.offset,
                        committed_leader_epoch=new.leader_epoch,
                        committed_metadata=new.metadata,
                    )
                    for index, new in parts
                ],
            )
            for name, parts in values_by_topic({tp: wanted[tp] for tp in keys}).items()
        ]
        return messages.OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=UNKNOWN_GENERATION,
            member_id=UNKNOWN_MEMBER,
            topics=topics,
        )

    def read(response: Any, keys: list[TopicPartition]) -> Answers[TopicPartition, None]:
        for tp, each in entries(response.topics):
            yield tp, outcome(None, each.error_code, about=f"{tp} of group {group_id}")

    route = At(_COORDINATOR, group_id)
    return await call.each(wanted, route, ask, read, highest=_LAST_COMMIT_BY_NAME)
