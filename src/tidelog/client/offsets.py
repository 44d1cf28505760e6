"""Where partitions begin and end, and where a time lies in them: ListOffsets, asked of each leader, with retries.

ListOffsets answers "which offset has the first record whose timestamp is at least t". Negative timestamps are no times
but questions of their own: -1 the end (what a reader may see of it, by isolation level), -2 the beginning. Leaders
answer only for what they lead, so one question becomes one request per broker; when some of them fail, only the rest is
asked again.

Positions of consumer groups are kept by the group's coordinator, not by leaders. A group without members may be written
to by anybody (generation -1, no member id), which is how tools and Spark publish how far they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from tidelog.client.cluster.client import ClusterClient, CoordinatorType
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from tidelog.protocol.messages import ListOffsetsRequest, OffsetCommitRequest, OffsetFetchRequest

READ_UNCOMMITTED = 0
READ_COMMITTED = 1


class OffsetAndTimestamp(NamedTuple):
    """`offset` is -1 when no record is that late."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    cluster: ClusterClient, wanted: Mapping[TopicPartition, int], *, isolation: int = READ_UNCOMMITTED
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """The offset of the first record at or after each timestamp (or of one of ListOffsets' special timestamps)."""
    found: dict[TopicPartition, OffsetAndTimestamp] = {}

    async def ask_the_rest() -> None:
        rest = {tp: timestamp for tp, timestamp in wanted.items() if tp not in found}
        await cluster.ensure_topics({tp.topic for tp in rest})
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for tp, timestamp in rest.items():
            by_leader.setdefault(cluster.metadata.leader(tp).id, {})[tp] = timestamp
        asked = [_ask_leader(cluster, node, part, isolation, found) for node, part in by_leader.items()]
        errors = [error for error in await asyncio.gather(*asked, return_exceptions=True) if error is not None]
        for error in errors:
            cluster.metadata.mark_stale({tp.topic for tp in rest})
            raise error

    if wanted:
        await cluster.retry(ask_the_rest)
    return found


async def _ask_leader(
    cluster: ClusterClient,
    node_id: int,
    wanted: Mapping[TopicPartition, int],
    isolation: int,
    found: dict[TopicPartition, OffsetAndTimestamp],
) -> None:
    """One request to one leader. Partitions that were answered go to `found` even if others failed, and are not asked
    for again.
    """
    Topic, Partition = ListOffsetsRequest.ListOffsetsTopic, ListOffsetsRequest.ListOffsetsPartition
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = {}
    for tp, timestamp in wanted.items():
        topics.setdefault(tp.topic, []).append(Partition(partition_index=tp.partition, timestamp=timestamp))
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[Topic(name=name, partitions=partitions) for name, partitions in topics.items()],
        timeout_ms=int(1000 * (await cluster.node(node_id)).request_timeout),
    )
    response = await (await cluster.node(node_id)).send(request)
    failure: KafkaError | None = None
    for topic in response.topics:
        for entry in topic.partitions:
            tp = TopicPartition(topic.name, entry.partition_index)
            if entry.error_code:
                failure = KafkaError(entry.error_code, f"ListOffsets of {tp}: {ErrorCode(entry.error_code).text}")
            else:
                found[tp] = OffsetAndTimestamp(entry.offset, entry.timestamp, entry.leader_epoch)
    if failure is not None:
        raise failure


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
    harmless = {0, int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)} if missing_ok else {0}
    topics: dict[str, list[OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
    for tp, offset in offsets.items():
        entry = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=tp.partition, committed_offset=offset, committed_metadata=""
        )
        topics.setdefault(tp.topic, []).append(entry)
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=n, partitions=p) for n, p in topics.items()],
    )

    def first_error(response: object) -> int:
        codes = [p.error_code for t in response.topics for p in t.partitions]  # type: ignore[attr-defined]  # message
        return next((int(code) for code in codes if code not in harmless), 0)

    await cluster.ask_coordinator(CoordinatorType.GROUP, group, request, highest=9, error_of=first_error)


async def committed_group_offsets(cluster: ClusterClient, group: str) -> dict[TopicPartition, int]:
    """All positions that the group has committed."""
    request = OffsetFetchRequest(group_id=group, topics=None)
    response = await cluster.ask_coordinator(CoordinatorType.GROUP, group, request, highest=7)
    return {
        TopicPartition(topic.name, entry.partition_index): entry.committed_offset
        for topic in response.topics
        for entry in topic.partitions
        if entry.committed_offset >= 0
    }
