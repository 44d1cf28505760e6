"""Offsets of share groups: where a group starts in each partition, how much is left, setting that (Kafka 4.1 on).

Members of a share group get records, not partitions (KIP-932): several read the same partition, and each record is
acknowledged by itself. So a group has no position, but a window of records under way, which begins at the start offset:
everything before it is done. A persister keeps it, in the topic `__share_group_state`; the group's coordinator answers
for it. The lag counts the records from the start offset on that are not done, where the broker tells it (4.3 on).

A group that has read nothing yet starts where `share.auto.offset.reset` of its group config says: its start offset is
-1, until somebody sets it here or the first member comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.group_offsets import Wanted
from tidelog.client.admin.hints import check, failure, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import GROUP, At
from tidelog.client.admin.shapes import by_topic, entries, items, or_none, values_by_topic
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages


class ShareOffset(NamedTuple):
    """Where a share group starts in a partition (-1: nowhere yet), and how many records are left (None: not told)."""

    start_offset: int
    leader_epoch: int | None
    lag: int | None


class ShareOffsetAdmin(AdminBase):
    """The part of the Admin that is about the offsets of share groups."""

    async def list_share_group_offsets(
        self, groups: Wanted, *, timeout: float | None = None
    ) -> Outcomes[str, dict[TopicPartition, ShareOffset]]:
        """Where each group starts, in all partitions that it reads or in those that a mapping names."""
        chosen = groups if isinstance(groups, Mapping) else dict.fromkeys(items(groups))

        def ask(keys: list[str]) -> messages.DescribeShareGroupOffsetsRequest:
            asked = [
                messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(
                    group_id=key, topics=_topics(chosen[key])
                )
                for key in keys
            ]
            return messages.DescribeShareGroupOffsetsRequest(groups=asked)

        def read(response: Any, keys: list[str]) -> Answers[str, dict[TopicPartition, ShareOffset]]:
            for group in response.groups:
                found = {
                    tp: ShareOffset(each.start_offset, or_none(each.leader_epoch, -1), or_none(each.lag, -1))
                    for tp, each in entries(group.topics, name="topic_name")
                    if not each.error_code
                }
                about = f"group {group.group_id}"
                yield group.group_id, outcome(found, group.error_code, group.error_message, about)

        return await self._call(timeout).each(chosen, GROUP, ask, read)

    async def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, None]:
        """Let a group without members start elsewhere."""
        Partition = messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition

        def ask(keys: list[TopicPartition]) -> messages.AlterShareGroupOffsetsRequest:
            topics = [
                messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(
                    topic_name=name,
                    partitions=[Partition(partition_index=index, start_offset=offset) for index, offset in parts],
                )
                for name, parts in values_by_topic({tp: offsets[tp] for tp in keys}).items()
            ]
            return messages.AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics)

        def read(response: Any, keys: list[TopicPartition]) -> Answers[TopicPartition, None]:
            check(response.error_code, response.error_message, f"group {group_id}")
            for tp, each in entries(response.responses, name="topic_name"):
                yield tp, outcome(None, each.error_code, each.error_message, f"{tp} of group {group_id}")

        return await self._call(timeout).each(offsets, At(GROUP, group_id), ask, read)

    async def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, None]:
        """Forget where a group without members starts in these topics."""
        Topic = messages.DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic

        def ask(keys: list[str]) -> messages.DeleteShareGroupOffsetsRequest:
            return messages.DeleteShareGroupOffsetsRequest(
                group_id=group_id, topics=[Topic(topic_name=key) for key in keys]
            )

        def read(response: Any, keys: list[str]) -> Answers[str, None]:
            if response.error_code:
                raise failure(response.error_code, response.error_message, f"group {group_id}")
            for each in response.responses:
                about = f"{each.topic_name} of group {group_id}"
                yield each.topic_name, outcome(None, each.error_code, each.error_message, about)

        return await self._call(timeout).each(topics, At(GROUP, group_id), ask, read)


def _topics(
    partitions: Iterable[TopicPartition] | None,
) -> list[messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None:
    """None asks for all that the group reads."""
    if partitions is None:
        return None
    Topic = messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic
    return [Topic(topic_name=name, partitions=numbers) for name, numbers in by_topic(partitions).items()]
