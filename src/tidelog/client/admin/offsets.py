"""Offsets and records of partitions: where they begin and end, where a time lies in them, and cutting off their head.

ListOffsets answers "which offset has the first record whose timestamp is at least t"; some negative numbers are
questions of their own, which `OffsetSpec` names. Leaders answer for what they lead. Positions of consumer groups are
kept elsewhere: see `group_offsets`.

    EARLIEST      where the log begins: retention, compaction's deletes and `delete_records` move it on
    LATEST        where the next record will lie, as far as readers see: the high watermark, or under READ_COMMITTED
                  the last stable offset, behind which a transaction is still open
    MAX_TIMESTAMP the record with the largest timestamp, which need not be the last one
    a time        the first record that is not older; -1 where all are
    EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD     for topics with tiered storage

Deleting records only moves where the log begins. The files go when a whole segment lies before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import IntEnum
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.call import Call
from tidelog.client.admin.hints import outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import LEADER
from tidelog.client.admin.shapes import entries, items, values_by_topic
from tidelog.client.values import OffsetAndTimestamp
from tidelog.common import types
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages

#: Cut off everything that readers may see.
HIGH_WATERMARK = -1


class IsolationLevel(IntEnum):
    """What counts as the end: with READ_COMMITTED, nothing of a transaction that is still open."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class OffsetSpec(IntEnum):
    """A question to a leader. A time is asked for by `datetime`, or by its milliseconds since 1970."""

    LATEST = types.LATEST_TIMESTAMP
    EARLIEST = types.EARLIEST_TIMESTAMP
    MAX_TIMESTAMP = types.MAX_TIMESTAMP
    EARLIEST_LOCAL = types.EARLIEST_LOCAL_TIMESTAMP
    LATEST_TIERED = types.LATEST_TIERED_TIMESTAMP
    EARLIEST_PENDING_UPLOAD = types.EARLIEST_PENDING_UPLOAD_TIMESTAMP


#: From which version on ListOffsets knows each question; before it, it would be taken for a time.
_SINCE = {
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}


class OffsetAdmin(AdminBase):
    """The part of the Admin that is about the offsets and records of partitions."""

    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec | datetime | int],
        *,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout: float | None = None,
    ) -> Outcomes[TopicPartition, OffsetAndTimestamp]:
        """The offset that answers each question; -1 where there is no such record.

        A time finds the first record that is not older.
        """
        wanted = {tp: _timestamp(spec) for tp, spec in specs.items()}
        return await ask_offsets(self._call(timeout), wanted, isolation)

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, int]:
        """Cut off all records before these offsets (HIGH_WATERMARK: all that there are); the outcome of a partition is
        where its log begins now.
        """
        call = self._call(timeout)
        Partition = messages.DeleteRecordsRequest.DeleteRecordsPartition

        def ask(keys: list[TopicPartition]) -> messages.DeleteRecordsRequest:
            topics = [
                messages.DeleteRecordsRequest.DeleteRecordsTopic(
                    name=name, partitions=[Partition(partition_index=index, offset=offset) for index, offset in parts]
                )
                for name, parts in values_by_topic({tp: before[tp] for tp in keys}).items()
            ]
            return messages.DeleteRecordsRequest(topics=topics, timeout_ms=call.timeout_ms)

        def read(response: Any, keys: list[TopicPartition]) -> Answers[TopicPartition, int]:
            return [
                (tp, outcome(int(each.low_watermark), each.error_code, about=tp))
                for tp, each in entries(response.topics)
            ]

        return await call.each(before, LEADER, ask, read)

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Where the partitions begin; retention and `delete_records` move that on. Raises if one cannot be told."""
        found = await self.list_offsets(dict.fromkeys(items(partitions), OffsetSpec.EARLIEST), timeout=timeout)
        return {tp: each.offset for tp, each in found.result().items()}

    async def end_offsets(
        self,
        partitions: Iterable[TopicPartition],
        *,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout: float | None = None,
    ) -> dict[TopicPartition, int]:
        """The offset that the next record will have, as readers see it. Raises if one cannot be told."""
        asked = dict.fromkeys(items(partitions), OffsetSpec.LATEST)
        found = await self.list_offsets(asked, isolation=isolation, timeout=timeout)
        return {tp: each.offset for tp, each in found.result().items()}


async def ask_offsets(
    call: Call, wanted: Mapping[TopicPartition, int], isolation: int
) -> Outcomes[TopicPartition, OffsetAndTimestamp]:
    """ListOffsets of each leader; times and questions as the protocol numbers them. (Consumers ask it, too.)"""
    Partition = messages.ListOffsetsRequest.ListOffsetsPartition

    def ask(keys: list[TopicPartition]) -> messages.ListOffsetsRequest:
        topics = [
            messages.ListOffsetsRequest.ListOffsetsTopic(
                name=name, partitions=[Partition(partition_index=index, timestamp=ts) for index, ts in parts]
            )
            for name, parts in values_by_topic({tp: wanted[tp] for tp in keys}).items()
        ]
        return messages.ListOffsetsRequest(
            replica_id=-1, isolation_level=int(isolation), topics=topics, timeout_ms=call.timeout_ms
        )

    def read(response: Any, keys: list[TopicPartition]) -> Answers[TopicPartition, OffsetAndTimestamp]:
        for tp, each in entries(response.topics):
            found = OffsetAndTimestamp(each.offset, each.timestamp, each.leader_epoch)
            yield tp, outcome(found, each.error_code, about=tp)

    lowest = max((_SINCE.get(OffsetSpec(ts), 0) for ts in wanted.values() if ts < 0), default=0)
    return await call.each(wanted, LEADER, ask, read, lowest=lowest)


def _timestamp(spec: OffsetSpec | datetime | int) -> int:
    """As the protocol numbers it. A `datetime` without a zone is local time, as Python has it."""
    if isinstance(spec, datetime):
        return int(spec.timestamp() * 1000)
    return int(spec) if spec >= 0 else int(OffsetSpec(spec))
