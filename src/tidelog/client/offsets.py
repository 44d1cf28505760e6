"""Where partitions begin and end, and where a time lies in them: ListOffsets, asked of each leader, with retries.

ListOffsets answers "which offset has the first record whose timestamp is at least t". Negative timestamps are no times
but questions of their own: -1 the end (what a reader may see of it, by isolation level), -2 the beginning. Leaders
answer only for what they lead, so one question becomes one request per broker; when some of them fail, only the rest is
asked again.

Positions of consumer groups are kept by the group's coordinator, not by leaders. A group without members may be written
to by anybody (generation -1, no member id), which is how tools and Spark publish how far they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.client.admin.call import Call
from tidelog.client.admin.group_offsets import ask_commit, ask_committed
from tidelog.client.admin.offsets import ask_offsets
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.values import OffsetAndTimestamp as OffsetAndTimestamp
from tidelog.common.errors import ErrorCode
from tidelog.common.types import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition

READ_UNCOMMITTED = 0
READ_COMMITTED = 1


async def list_offsets(
    cluster: ClusterClient, wanted: Mapping[TopicPartition, int], *, isolation: int = READ_UNCOMMITTED
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """The offset of the first record at or after each timestamp (or of one of ListOffsets' special timestamps); -1 when
    no record is that late. KafkaError if one of them cannot be told.
    """
    return (await ask_offsets(Call.over(cluster), wanted, isolation)).result()


async def beginning_offsets(cluster: ClusterClient, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Log start offsets: retention and DeleteRecords move them on."""
    found = await list_offsets(cluster, dict.fromkeys(partitions, EARLIEST_TIMESTAMP))
    return {tp: entry.offset for tp, entry in found.items()}


async def end_offsets(
    cluster: ClusterClient, partitions: Iterable[TopicPartition], *, isolation: int = READ_UNCOMMITTED
) -> dict[TopicPartition, int]:
    """High watermarks, or last stable offsets under READ_COMMITTED."""
    found = await list_offsets(cluster, dict.fromkeys(partitions, LATEST_TIMESTAMP), isolation=isolation)
    return {tp: entry.offset for tp, entry in found.items()}


async def commit_group_offsets(
    cluster: ClusterClient, group: str, offsets: Mapping[TopicPartition, int], *, missing_ok: bool = False
) -> None:
    """Publish positions as a consumer group that has no members (how far we are, for those who watch lag).

    `missing_ok`: partitions that do not exist (any more) have no position, and that is no error.
    """
    for error in (await ask_commit(Call.over(cluster), group, dict(offsets))).failed.values():
        if not (missing_ok and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            raise error


async def committed_group_offsets(cluster: ClusterClient, group: str) -> dict[TopicPartition, int]:
    """All positions that the group has committed."""
    found = (await ask_committed(Call.over(cluster), [group])).of(group)
    return {tp: position.offset for tp, position in found.items() if position is not None}
